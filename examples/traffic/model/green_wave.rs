//! Offsets of signals along main roads: who drives off at green and keeps to the free speed finds
//! the next signals green.
//!
//! Signals are neighbours where a road runs straight from one to the other. The most important
//! such roads that form no ring (a maximum spanning forest) set the offsets: a ring could not be
//! satisfied all around.

use super::incidence::Incidence;
use super::road::{PARTS, drive_time};
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
    /// The phases that let cars onto the way and off it.
    phases: [Phase; 2],
    weight: u32,
    two_way: bool,
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
    let signals = (0..network.nodes.len() as u32).filter(|&node| network.nodes[node as usize].has_signals());
    let from = |node| incidence.exits(node).iter().filter_map(move |&link| corridor(network, incidence, link));
    let mut corridors: Vec<Corridor> = signals.flat_map(from).collect();
    let mut ways: Vec<(u32, u32)> = corridors.iter().map(|way| (way.to, way.from)).collect();
    ways.sort_unstable();
    for way in &mut corridors {
        way.two_way = ways.binary_search(&(way.from, way.to)).is_ok();
    }
    corridors
}

/// Follows a link straight on to the next signals.
fn corridor(network: &Network, incidence: &Incidence, first: u32) -> Option<Corridor> {
    let (mut link, mut parts) = (first, 0);
    loop {
        let road = &network.links[link as usize];
        parts += drive_time(road);
        if parts > LONGEST * PARTS {
            return None;
        }
        if network.nodes[road.to as usize].has_signals() {
            let start = &network.links[first as usize];
            let phases = [phase(network, incidence, start.from, start), phase(network, incidence, road.to, road)];
            let weight = u32::from(start.lanes) * u32::from(start.speed_kmh);
            let (from, to) = (start.from, road.to);
            let seconds = parts / PARTS;
            return (from != to).then_some(Corridor { from, to, seconds, phases, weight, two_way: false });
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

    #[test]
    fn a_two_way_street_turns_green_together_or_in_turns() {
        let difference = |offsets: Vec<u16>| (offsets[1] + Programme::CYCLE - offsets[2]) % Programme::CYCLE;
        assert_eq!(difference(offsets_of(&street(4, 1_000, true))), 0, "10 s apart");
        assert_eq!(difference(offsets_of(&street(4, 2_800, true))), 30, "28 s apart");
    }
}
