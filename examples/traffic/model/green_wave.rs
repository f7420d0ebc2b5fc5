//! Offsets of signals along main roads: who drives off at green and keeps to the free speed finds
//! the next signals green.
//!
//! Signals are neighbours where a road runs straight from one to the other. The most important
//! such roads that form no ring (a maximum spanning forest) set the offsets: a ring could not be
//! satisfied all around.

use super::incidence::Incidence;
use super::road::{PARTS, drive_time};
#[cfg(feature = "game")]
use super::signal::Timing;
use super::signal::{Arm, Phase, Programme, crosses};
use crate::map::{Link, Network};

/// Seconds after which a platoon has spread so far that a green wave is of no use.
const LONGEST: u32 = 60;

/// A road runs straight on where it bends by less: cosine of 45 degrees.
const STRAIGHT: f64 = 0.7;

/// A straight way from one intersection with signals to the next.
#[derive(Clone, Copy, Debug)]
struct Corridor {
    from: u32,
    to: u32,
    seconds: u32,
    /// The link that ends there.
    #[cfg_attr(not(feature = "game"), expect(dead_code, reason = "for waves that a player orders"))]
    last: u32,
    /// The phases that let cars onto the way and off it.
    phases: [Phase; 2],
    weight: u32,
    two_way: bool,
}

/// The most signals of one wave: those of a road through a large city.
#[cfg(feature = "game")]
const MOST: usize = 50;

/// The timings that the next signals along a road need, so that who leaves the first one at the
/// begin of its green on `exit` finds each of them turn green. The road goes straight on; the wave
/// ends where the next signals are too far. All have the cycle of the first, and its green for the
/// cars that come along the road.
#[cfg(feature = "game")]
pub fn along(
    network: &Network,
    incidence: &Incidence,
    (exit, timing): (u32, Timing),
    has_signals: impl Fn(u32) -> bool,
) -> Vec<(u32, Timing)> {
    let (mut link, mut before, mut at_first) = (exit, timing, None);
    let mut wave: Vec<(u32, Timing)> = Vec::new();
    let first = network.links[exit as usize].from;
    while let Some(way) = corridor(network, incidence, link, &has_signals).filter(|_| wave.len() < MOST) {
        if way.to == first || wave.iter().any(|&(node, _)| node == way.to) {
            break;
        }
        let phase = *at_first.get_or_insert(way.phases[0]);
        // Where the road is the main one at one end and the crossing one at the other, greens
        // change places.
        let main_green = if way.phases[1] == phase { timing.main_green } else { timing.crossing_green() };
        let next = after(&way, before, Timing { main_green, ..timing });
        wave.push((way.to, next));
        let Some(onward) = straight_on(network, incidence, &network.links[way.last as usize]) else { break };
        (link, before) = (onward, next);
    }
    wave
}

/// The timing with the offset that lets a wave run on.
#[cfg(feature = "game")]
fn after(way: &Corridor, before: Timing, timing: Timing) -> Timing {
    let start = |timing, phase| i64::from(Programme::timed(timing).green_start(phase));
    let shift = start(timing, way.phases[1]) - start(before, way.phases[0]) - i64::from(way.seconds);
    let offset = (i64::from(before.offset) + shift).rem_euclid(i64::from(timing.cycle));
    Timing { offset: offset as u16, ..timing }
}

/// For every intersection how far its cycle is ahead of one that began in second 0.
pub fn offsets(network: &Network, incidence: &Incidence) -> Vec<u16> {
    let mut corridors = corridors(network, incidence);
    corridors.sort_by_key(|way| (std::cmp::Reverse(way.weight), way.from, way.to));
    let mut forest = Forest::new(network.nodes.len());
    for way in corridors {
        forest.join(&way);
    }
    forest.offsets()
}

fn corridors(network: &Network, incidence: &Incidence) -> Vec<Corridor> {
    let has_signals = |node: u32| network.nodes[node as usize].has_signals();
    let signals = (0..network.nodes.len() as u32).filter(|&node| has_signals(node));
    let from =
        |node| incidence.exits(node).iter().filter_map(move |&link| corridor(network, incidence, link, &has_signals));
    let mut corridors: Vec<Corridor> = signals.flat_map(from).collect();
    let mut ways: Vec<(u32, u32)> = corridors.iter().map(|way| (way.to, way.from)).collect();
    ways.sort_unstable();
    for way in &mut corridors {
        way.two_way = ways.binary_search(&(way.from, way.to)).is_ok();
    }
    corridors
}

/// Follows a link straight on to the next signals.
fn corridor(
    network: &Network,
    incidence: &Incidence,
    first: u32,
    has_signals: &impl Fn(u32) -> bool,
) -> Option<Corridor> {
    let (mut link, mut parts) = (first, 0);
    loop {
        let road = &network.links[link as usize];
        parts += drive_time(road);
        if parts > LONGEST * PARTS {
            return None;
        }
        if has_signals(road.to) {
            let start = &network.links[first as usize];
            let phases = [phase(network, incidence, start.from, start), phase(network, incidence, road.to, road)];
            let weight = u32::from(start.lanes) * u32::from(start.speed_kmh);
            let (from, to) = (start.from, road.to);
            let seconds = parts / PARTS;
            return (from != to).then_some(Corridor { from, to, seconds, last: link, phases, weight, two_way: false });
        }
        link = straight_on(network, incidence, road)?;
    }
}

/// The link that goes on in the direction of another.
fn straight_on(network: &Network, incidence: &Incidence, road: &Link) -> Option<u32> {
    let heading = heading(network, road);
    let bend = |&link: &u32| {
        let other = self::heading(network, &network.links[link as usize]);
        (link, heading.0 * other.0 + heading.1 * other.1)
    };
    let ways = incidence.exits(road.to).iter().filter(|&&link| network.links[link as usize].to != road.from);
    let best = ways.map(bend).max_by(|a, b| a.1.total_cmp(&b.1))?;
    (best.1 > STRAIGHT).then_some(best.0)
}

/// Unit vector of a link's direction.
fn heading(network: &Network, link: &Link) -> (f64, f64) {
    let (from, to) = (&network.nodes[link.from as usize], &network.nodes[link.to as usize]);
    let (x, y) = (f64::from(to.x - from.x), f64::from(to.y - from.y));
    let length = x.hypot(y).max(f64::MIN_POSITIVE);
    (x / length, y / length)
}

/// In which phase cars drive along the axis of a link at an intersection.
fn phase(network: &Network, incidence: &Incidence, node: u32, link: &Link) -> Phase {
    let arms = incidence.approaches(node).map(|road| Arm::of(network, node, &network.links[road as usize]));
    let main = arms.reduce(|best: Arm, arm| if arm.weight > best.weight { arm } else { best });
    let own = Arm::of(network, node, link);
    Phase::from(main.is_some_and(|main| crosses(main.direction, own.direction)))
}

/// The difference of offsets that lets a wave run: along a two-way road it must serve both
/// directions, so the cycles begin together or half a cycle apart, whichever is nearer.
fn shift(way: &Corridor) -> i64 {
    let cycle = i64::from(Programme::CYCLE);
    let start = |phase| i64::from(Programme::two_phases(0).green_start(phase));
    let seconds = i64::from(way.seconds);
    let wave = if way.two_way { (2 * seconds + cycle / 2) / cycle * cycle / 2 } else { seconds };
    start(way.phases[1]) - start(way.phases[0]) - wave
}

/// Groups of intersections whose offsets are settled among one another.
struct Forest {
    parents: Vec<u32>,
    /// The offset of each intersection less that of its parent.
    shifts: Vec<i64>,
}

impl Forest {
    fn new(nodes: usize) -> Self {
        Self { parents: (0..nodes as u32).collect(), shifts: vec![0; nodes] }
    }

    /// The root of a group, and the offset of `node` less the root's. Shortens the way there.
    fn root(&mut self, node: u32) -> (u32, i64) {
        let (mut root, mut shift) = (node, 0);
        while self.parents[root as usize] != root {
            shift += self.shifts[root as usize];
            root = self.parents[root as usize];
        }
        (self.parents[node as usize], self.shifts[node as usize]) = (root, shift);
        (root, shift)
    }

    fn join(&mut self, way: &Corridor) {
        let (from, to) = (self.root(way.from), self.root(way.to));
        if from.0 != to.0 {
            self.parents[to.0 as usize] = from.0;
            self.shifts[to.0 as usize] = from.1 + shift(way) - to.1;
        }
    }

    fn offsets(mut self) -> Vec<u16> {
        let cycle = i64::from(Programme::CYCLE);
        (0..self.parents.len() as u32).map(|node| self.root(node).1.rem_euclid(cycle) as u16).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::{Control, Node};

    /// Signals in a row, with a side street at each, joined by links of some length.
    fn street(signals: u32, length_dm: u32, two_way: bool) -> Network {
        let place = |index: u32, y| Node::new((index * length_dm) as f32 / 10.0, y, Control::Priority);
        let mut nodes: Vec<Node> = (0..signals).map(|index| place(index, 0.0)).collect();
        nodes.iter_mut().for_each(|node| node.control = Control::Signals);
        nodes.extend((0..signals).map(|index| place(index, 50.0)));
        let mut links = Vec::new();
        for index in 0..signals {
            links.push(Link::new(signals + index, index, 500, 1, 30));
            if index + 1 < signals {
                links.push(Link::new(index, index + 1, length_dm, 2, 36));
                links.extend(two_way.then(|| Link::new(index + 1, index, length_dm, 2, 36)));
            }
        }
        links.sort_by_key(|link| (link.to, link.from));
        Network::new("street", nodes, links)
    }

    fn offsets_of(network: &Network) -> Vec<u16> {
        offsets(network, &Incidence::new(network).unwrap())
    }

    #[test]
    fn a_one_way_street_has_a_green_wave() {
        let network = street(4, 2_000, false);
        let offsets = offsets_of(&network);
        // 20 s from signal to signal: each turns green 20 s after the one before.
        for pair in offsets[1..4].windows(2) {
            assert_eq!((pair[0] + Programme::CYCLE - pair[1]) % Programme::CYCLE, 20, "{offsets:?}");
        }
    }

    #[cfg(feature = "game")]
    #[test]
    fn a_wave_along_a_road_meets_every_green_at_its_begin() {
        let network = street(6, 2_000, true);
        let incidence = Incidence::new(&network).unwrap();
        let first = Timing { cycle: 90, main_green: 40, offset: 17 };
        let exit = *incidence.exits(0).iter().find(|&&link| network.links[link as usize].to == 1).unwrap();
        let wave = along(&network, &incidence, (exit, first), |node| node < 6 && node != 3);
        assert_eq!(wave.iter().map(|&(node, _)| node).collect::<Vec<_>>(), [1, 2, 4, 5], "3 has none now");
        let green_begins = |timing: Timing| (90 - i64::from(timing.offset)).rem_euclid(90);
        for (node, timing) in wave {
            assert!(timing.check().is_ok() && timing.cycle == 90);
            // The street is the main road everywhere, and takes 20 s from one to the next.
            let after = i64::from(node) * 20;
            assert_eq!(green_begins(timing), (green_begins(first) + after).rem_euclid(90), "{node}: {timing:?}");
        }
    }

    #[test]
    fn a_two_way_street_turns_green_together_or_in_turns() {
        let difference = |offsets: Vec<u16>| (offsets[1] + Programme::CYCLE - offsets[2]) % Programme::CYCLE;
        assert_eq!(difference(offsets_of(&street(4, 1_000, true))), 0, "10 s apart");
        assert_eq!(difference(offsets_of(&street(4, 2_800, true))), 30, "28 s apart");
    }
}
