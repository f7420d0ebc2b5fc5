//! Junctions as engineers draw them. A map draws every carriageway and every island: a crossing of
//! two split roads is four nodes and a roundabout a dozen, joined by links on which not even one
//! car fits. As queues those lock: a ring of full links can never turn again. Here each becomes one
//! node, with the roads that lead into it and out of it.

mod clusters;
mod ends;
mod joins;
mod signals;
mod turns;

#[cfg(test)]
mod tests;

use std::f32::consts::FRAC_PI_2;

use self::clusters::Clusters;
pub use self::ends::Ends;
use super::{Control, Link, Network, Node};

/// Links at a node that are looked at one by one: at real ones a dozen meet.
const MOST_LOOKED_AT: usize = 64;

/// A way from one link to another by way of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    pub from: u32,
    pub via: Vec<u32>,
    pub to: u32,
}

/// A network with junctions made, and what could not be kept.
pub struct Merged {
    pub network: Network,
    /// Paths that were to be forbidden but lead over a link between two junctions.
    pub long_turns: usize,
    /// Traffic lights where no roads meet.
    pub foot_lights: usize,
}

/// A network and the links at each of its nodes.
struct Roads<'a> {
    map: &'a Network,
    into: Ends,
    out: Ends,
}

/// Which junction each node is part of.
struct Junctions {
    of: Vec<u32>,
    nodes: Vec<Node>,
    /// Metres from each node of the old network to the middle of its junction, as one drives.
    reach: Vec<f32>,
}

/// Makes one node of those that belong together. `rings` tells for each link whether it is part of
/// a roundabout; `paths` are forbidden, as the network's bans are.
///
/// Links within a junction go. The others get longer by the way from its edge to its middle, so
/// that a trip stays as long as it was and cars find room where they did; they still end where they
/// are drawn to end. Turns that were not possible within a junction are forbidden at it.
pub fn merge(map: Network, rings: &[bool], paths: &[Path]) -> Merged {
    let roads = Roads::of(&map);
    let mut clusters = joins::clusters(&roads, rings);
    let junctions = Junctions::of(&map.nodes, &mut clusters);
    let (bans, long_turns) = turns::bans(&roads, &junctions, paths);
    let mut numbers = Vec::with_capacity(map.links.len());
    let mut links = Vec::with_capacity(map.links.len());
    for link in &map.links {
        numbers.push(links.len() as u32);
        links.extend(junctions.link(link));
    }
    let number = |(from, to): (u32, u32)| (numbers[from as usize], numbers[to as usize]);
    let bans = bans.into_iter().map(number).collect();
    let mut network = Network { nodes: junctions.nodes, links, bans, ..map };
    let foot_lights = signals::move_to_crossings(&mut network);
    Merged { network, long_turns, foot_lights }
}

impl<'a> Roads<'a> {
    fn of(map: &'a Network) -> Self {
        let nodes = map.nodes.len();
        let (into, out) =
            (Ends::new(nodes, &map.links, |link| link.to), Ends::new(nodes, &map.links, |link| link.from));
        Self { map, into, out }
    }

    fn link(&self, link: u32) -> &Link {
        &self.map.links[link as usize]
    }

    fn length(&self, link: u32) -> u32 {
        self.link(link).length_dm
    }

    /// A unit vector from end to end, or nothing if both are at the same place.
    fn direction(&self, link: u32) -> (f32, f32) {
        let node = |number: u32| &self.map.nodes[number as usize];
        let (from, to) = (node(self.link(link).from), node(self.link(link).to));
        let (x, y) = (to.x - from.x, to.y - from.y);
        let length = x.hypot(y).max(f32::MIN_POSITIVE);
        (x / length, y / length)
    }

    /// No other link leads straight back.
    fn is_one_way(&self, link: u32) -> bool {
        let Link { from, to, .. } = *self.link(link);
        let back = self.out.of(to);
        back.len() <= MOST_LOOKED_AT && !back.iter().any(|&back| self.link(back).to == from)
    }
}

impl Junctions {
    fn of(nodes: &[Node], clusters: &mut Clusters) -> Self {
        let mut junctions = Self { of: Vec::with_capacity(nodes.len()), nodes: Vec::new(), reach: Vec::new() };
        // A set is called by its first node, so that its junction is there before its others.
        for (number, node) in (0..).zip(nodes) {
            let first = clusters.find(number);
            let ((x, y), ring) = (clusters.middle(number), clusters.is_ring(number));
            if first == number {
                let control = if ring { Control::Roundabout } else { Control::Priority };
                junctions.of.push(junctions.nodes.len() as u32);
                junctions.nodes.push(Node::new(x, y, control));
            } else {
                junctions.of.push(junctions.of[first as usize]);
            }
            let straight = (node.x - x).hypot(node.y - y);
            // Around the ring instead of across it: half a turn in the mean.
            junctions.reach.push(if ring { straight * FRAC_PI_2 } else { straight });
            let junction = &mut junctions.nodes[junctions.of[number as usize] as usize];
            junction.control = stronger(junction.control, node.control);
        }
        junctions
    }

    fn is_inside(&self, link: &Link) -> bool {
        self.of[link.from as usize] == self.of[link.to as usize]
    }

    /// A link between junctions; `None` if it is inside of one.
    fn link(&self, link: &Link) -> Option<Link> {
        let (from, to) = (link.from as usize, link.to as usize);
        let more = ((self.reach[from] + self.reach[to]) * 10.0).round() as u32;
        let outside =
            Link { from: self.of[from], to: self.of[to], length_dm: link.length_dm.saturating_add(more), ..*link };
        (!self.is_inside(link)).then_some(outside)
    }
}

/// Signals at one node of a junction are those of all of it, and even a roundabout's.
fn stronger(a: Control, b: Control) -> Control {
    match (a, b) {
        (Control::Signals, _) | (_, Control::Signals) => Control::Signals,
        (Control::Roundabout, _) | (_, Control::Roundabout) => Control::Roundabout,
        _ => Control::Priority,
    }
}
