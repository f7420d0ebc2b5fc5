//! Which nodes belong to one junction.

use std::collections::BTreeMap;

use super::clusters::Clusters;
use super::{MOST_LOOKED_AT, Roads};

/// Decimetres: nobody stops twice within three car lengths.
const SHORT: u32 = 200;

/// Decimetres from one carriageway to the other, and from where a road splits to the junction that
/// it splits for.
const SPLIT: u32 = 400;

/// Metres from side to side of the largest roundabout that is one junction. In larger ones each
/// entry is a junction of its own, and the stretches between hold cars enough.
const LARGEST_RING: f32 = 100.0;

/// Finds the nodes that become one junction. Only those that a link joins do, so that a bridge
/// stays apart from the street below it.
pub fn clusters(roads: &Roads, rings: &[bool]) -> Clusters {
    let degrees = |node| (roads.into.of(node).len(), roads.out.of(node).len());
    let mut clusters = Clusters::new(&roads.map.nodes, degrees);
    join_rings(roads, rings, &mut clusters);
    let short = |link: u32| roads.length(link) < SHORT;
    join(roads, short, &mut clusters);
    join(roads, |link| is_split_crossing(roads, link), &mut clusters);
    join_flares(roads, &mut clusters);
    clusters
}

/// The nodes of each roundabout.
fn join_rings(roads: &Roads, rings: &[bool], clusters: &mut Clusters) {
    let in_ring = |node: u32| {
        let links = roads.into.of(node).iter().chain(roads.out.of(node));
        links.copied().filter(|&link| rings[link as usize])
    };
    let mut seen = vec![false; roads.map.nodes.len()];
    for start in 0..roads.map.nodes.len() as u32 {
        let mut ring = Vec::new();
        let mut next = vec![start];
        while let Some(node) = next.pop() {
            if !std::mem::replace(&mut seen[node as usize], true) {
                ring.push(node);
                next.extend(in_ring(node).flat_map(|link| [roads.link(link).from, roads.link(link).to]));
            }
        }
        if ring.len() > 1 {
            clusters.unite_ring(&ring, LARGEST_RING);
        }
    }
}

/// Joins the ends of links, the shortest first: where not all of them fit into one junction, it is
/// the longest that stay.
fn join(roads: &Roads, is_inside: impl Fn(u32) -> bool, clusters: &mut Clusters) {
    let mut inside: Vec<u32> = (0..roads.map.links.len() as u32).filter(|&link| is_inside(link)).collect();
    inside.sort_by_key(|&link| roads.length(link));
    for link in inside {
        clusters.unite(roads.link(link).from, roads.link(link).to);
    }
}

/// Whether a link leads from one carriageway of a split road to the other, or from one signal of a
/// junction to the next.
fn is_split_crossing(roads: &Roads, link: u32) -> bool {
    let ends = roads.link(link);
    let has_signals = |node: u32| roads.map.nodes[node as usize].has_signals();
    (SHORT..=SPLIT).contains(&roads.length(link))
        && (has_signals(ends.from) && has_signals(ends.to) || joins_carriageways(roads, link))
}

/// One-way roads cross the link at its ends, in opposite directions.
fn joins_carriageways(roads: &Roads, link: u32) -> bool {
    let along = roads.direction(link);
    let (here, there) = (roads.link(link).from, roads.link(link).to);
    let crossing = |node: u32| {
        let links = || roads.into.of(node).iter().chain(roads.out.of(node)).copied();
        let few = links().count() <= MOST_LOOKED_AT;
        links().filter(move |_| few).filter(|&link| roads.is_one_way(link)).map(|link| roads.direction(link))
    };
    // Within 30 degrees of a right angle, and of each other's opposite.
    let across = |direction: &(f32, f32)| dot(along, *direction).abs() < 0.5;
    crossing(here).filter(across).any(|a| crossing(there).filter(across).any(|b| dot(a, b) < -0.87))
}

fn dot(a: (f32, f32), b: (f32, f32)) -> f32 {
    a.0 * b.0 + a.1 * b.1
}

/// Adds the points at which roads split for a junction, one branch leading to it and another from
/// it.
fn join_flares(roads: &Roads, clusters: &mut Clusters) {
    let mut branches: BTreeMap<(u32, u32), (bool, bool)> = BTreeMap::new();
    for link in (0..roads.map.links.len() as u32).filter(|&link| roads.length(link) <= SPLIT) {
        let (from, to) = (roads.link(link).from, roads.link(link).to);
        if clusters.find(from) != clusters.find(to) && roads.is_one_way(link) {
            branches.entry((from, clusters.find(to))).or_default().0 = true;
            branches.entry((to, clusters.find(from))).or_default().1 = true;
        }
    }
    for ((node, junction), directions) in branches {
        if directions == (true, true) {
            clusters.unite(node, junction);
        }
    }
}
