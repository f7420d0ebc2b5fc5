use proptest::prelude::*;

use super::*;
use crate::map::assemble::assemble;
use crate::map::component;

/// A drawing of roads, in metres.
#[derive(Clone, Debug, Default)]
struct Plan {
    nodes: Vec<Node>,
    links: Vec<Link>,
    rings: Vec<bool>,
    bans: Vec<(u32, u32)>,
    paths: Vec<Path>,
}

impl Plan {
    fn node(&mut self, x: f32, y: f32) -> u32 {
        self.nodes.push(Node::new(x, y, Control::Priority));
        self.nodes.len() as u32 - 1
    }

    /// A straight one-way road; returns the number of its link.
    fn one_way(&mut self, from: u32, to: u32) -> u32 {
        let (a, b) = (self.nodes[from as usize], self.nodes[to as usize]);
        let metres = (a.x - b.x).hypot(a.y - b.y);
        self.links.push(Link::new(from, to, (metres * 10.0).round() as u32, 1, 50));
        self.rings.push(false);
        self.links.len() as u32 - 1
    }

    fn street(&mut self, a: u32, b: u32) {
        self.one_way(a, b);
        self.one_way(b, a);
    }

    fn map(&self) -> Network {
        let bans = self.bans.clone();
        Network { bans, ..Network::new("plan", self.nodes.clone(), self.links.clone()) }
    }

    fn merged(&self) -> Merged {
        merge(self.map(), &self.rings, &self.paths)
    }

    fn network(&self) -> Network {
        self.merged().network
    }
}

/// A roundabout so many metres across, with four arms of 100 m.
fn roundabout(across: f32) -> Plan {
    let mut plan = Plan::default();
    let radius = across / 2.0;
    let angles = (0..4).map(|arm| arm as f32 * std::f32::consts::FRAC_PI_2);
    let ring: Vec<u32> = angles.clone().map(|a| plan.node(radius * a.cos(), radius * a.sin())).collect();
    for arm in 0..4 {
        plan.one_way(ring[arm], ring[(arm + 1) % 4]);
        plan.rings[arm] = true;
    }
    for (arm, angle) in angles.enumerate() {
        let end = plan.node((radius + 100.0) * angle.cos(), (radius + 100.0) * angle.sin());
        plan.street(ring[arm], end);
    }
    plan
}

#[test]
fn a_roundabout_is_one_junction() {
    let network = roundabout(30.0).network();
    assert_eq!((network.nodes.len(), network.links.len()), (5, 8));
    assert_eq!(network.nodes[0].control, Control::Roundabout);
    assert!(network.nodes[0].x.abs() < 0.1 && network.nodes[0].y.abs() < 0.1, "in the middle");
    // A fourth of the ring for who comes, and one for who leaves.
    assert!(network.links.iter().all(|link| link.length_dm == 1_000 + 236), "{:?}", network.links);
    assert!(network.bans.is_empty(), "all turns can be made");
}

#[test]
fn a_large_roundabout_stays_a_ring() {
    let network = roundabout(120.0).network();
    assert_eq!((network.nodes.len(), network.links.len()), (8, 12));
}

#[test]
fn signals_at_a_roundabout_are_signals() {
    let mut plan = roundabout(30.0);
    plan.nodes[2].control = Control::Signals;
    assert_eq!(plan.network().nodes[0].control, Control::Signals);
}

/// A street across two carriageways so many metres apart: nodes 0 and 1 and the ends of six roads,
/// link 0 across them northward.
fn split_crossing(apart: f32) -> Plan {
    let mut plan = Plan::default();
    let (south, north) = (plan.node(0.0, 0.0), plan.node(0.0, apart));
    plan.street(south, north);
    for (y, node, eastward) in [(0.0, south, 1.0), (apart, north, -1.0)] {
        let (before, after) = (plan.node(-100.0 * eastward, y), plan.node(100.0 * eastward, y));
        plan.one_way(before, node);
        plan.one_way(node, after);
    }
    for (node, y) in [(south, -100.0), (north, apart + 100.0)] {
        let end = plan.node(0.0, y);
        plan.street(node, end);
    }
    plan
}

#[test]
fn a_split_road_is_crossed_in_one_go() {
    let network = split_crossing(25.0).network();
    assert_eq!((network.nodes.len(), network.links.len()), (7, 8));
    assert!((network.nodes[0].y - 12.5).abs() < 0.1);
    assert!(network.links.iter().all(|link| link.length_dm == 1_125));
    let wide_apart = split_crossing(45.0).network();
    assert_eq!((wide_apart.nodes.len(), wide_apart.links.len()), (8, 10));
}

#[test]
fn two_split_roads_cross_in_one_junction() {
    let mut plan = Plan::default();
    // Right-hand traffic: corners from the south-west on, counter-clockwise.
    let corners = [(0.0, 0.0), (25.0, 0.0), (25.0, 25.0), (0.0, 25.0)].map(|(x, y)| plan.node(x, y));
    for corner in 0..4 {
        plan.one_way(corners[corner], corners[(corner + 1) % 4]);
    }
    for (corner, (dx, dy)) in [(0, (-100.0, 0.0)), (1, (0.0, -100.0)), (2, (100.0, 0.0)), (3, (0.0, 100.0))] {
        let at = plan.nodes[corners[corner] as usize];
        let come = plan.node(at.x + dx, at.y + dy);
        plan.one_way(come, corners[corner]);
        // To the right of where they come from.
        let leave = plan.node(at.x + dy, at.y - dx);
        plan.one_way(corners[corner], leave);
    }
    let network = plan.network();
    assert_eq!((network.nodes.len(), network.links.len()), (9, 8));
}

#[test]
fn two_crossings_15_m_apart_are_one() {
    let mut plan = Plan::default();
    let (a, b) = (plan.node(0.0, 0.0), plan.node(15.0, 0.0));
    plan.street(a, b);
    for (node, x, y) in [(a, 0.0, 80.0), (a, -80.0, 0.0), (b, 15.0, -80.0), (b, 95.0, 0.0)] {
        let end = plan.node(x, y);
        plan.street(node, end);
    }
    let network = plan.network();
    assert_eq!((network.nodes.len(), network.links.len()), (5, 8));
    assert_eq!(network.nodes[0].x, 7.5);
}

#[test]
fn junctions_have_a_greatest_size() {
    let mut plan = Plan::default();
    let nodes: Vec<u32> = (0..200).map(|number| plan.node(number as f32 * 12.0, 0.0)).collect();
    nodes.windows(2).for_each(|pair| plan.street(pair[0], pair[1]));
    let network = plan.network();
    // 2,388 m, in pieces of 50 m at most and 12 m between them.
    assert!(network.nodes.len() >= 39, "{} junctions", network.nodes.len());
    let driven: u32 = network.links.iter().map(|link| link.length_dm).sum();
    assert!(driven.abs_diff(2 * 23_880) < 2 * 500, "the way through all of them: {driven} dm both ways");
}

#[test]
fn a_bridge_stays_apart_from_the_street_below() {
    let mut plan = Plan::default();
    for (x, y) in [(1.0, 0.0), (0.0, 1.0)] {
        let nodes = [-100.0, 0.0, 100.0].map(|at| plan.node(at * x, at * y));
        plan.street(nodes[0], nodes[1]);
        plan.street(nodes[1], nodes[2]);
    }
    assert_eq!(plan.network().nodes.len(), 6);
}

#[test]
fn a_road_that_splits_for_a_junction_is_part_of_it() {
    // One arm of the roundabout comes and goes 12 m beside the middle of its road.
    let mut plan = roundabout(30.0);
    let (entry, exit) = (plan.node(14.0, 6.0), plan.node(14.0, -6.0));
    let (split, end) = (plan.node(45.0, 0.0), plan.node(200.0, 0.0));
    for (from, to) in [(0, entry), (entry, 1), (3, exit), (exit, 0)] {
        let link = plan.one_way(from, to);
        plan.rings[link as usize] = true;
    }
    plan.one_way(split, entry);
    plan.one_way(exit, split);
    plan.street(split, end);
    let network = plan.network();
    assert_eq!(network.nodes.len(), 6, "five ends and the junction");
}

#[test]
fn what_could_not_be_driven_stays_forbidden() {
    // A motorway from 0 by 1 and 2 to 3; an exit leaves it at 1, an entry joins it 15 m on at 2.
    let mut plan = Plan::default();
    for (x, y) in [(-100.0, 0.0), (0.0, 0.0), (15.0, 0.0), (115.0, 0.0), (90.0, 50.0), (-80.0, 50.0)] {
        plan.node(x, y);
    }
    for (from, to) in [(0, 1), (1, 2), (2, 3), (1, 4), (5, 2)] {
        plan.one_way(from, to);
    }
    let network = plan.network();
    assert_eq!((network.nodes.len(), network.links.len()), (5, 4));
    // From the entry to the exit.
    assert_eq!(network.bans, [(3, 2)]);
}

#[test]
fn a_sign_within_a_junction_holds_for_the_turn_through_it() {
    let plan = split_crossing(25.0);
    let find =
        |from: u32, to: u32| plan.links.iter().position(|link| (link.from, link.to) == (from, to)).unwrap() as u32;
    let (from_south, across, to_west) = (find(6, 0), find(0, 1), find(1, 5));
    let banned = |plan: &Plan| {
        let Merged { network, long_turns, .. } = plan.merged();
        let node = |number: u32| network.nodes[number as usize];
        let ends =
            |&(from, to): &(u32, u32)| (node(network.links[from as usize].from), node(network.links[to as usize].to));
        (network.bans.iter().map(ends).collect::<Vec<_>>(), long_turns)
    };
    let turn = (plan.nodes[6], plan.nodes[5]);
    // No left turn from the island, for all who come along it.
    let at_node = Plan { bans: vec![(across, to_west)], ..plan.clone() };
    let (bans, _) = banned(&at_node);
    assert!(bans.contains(&turn), "{bans:?}");
    // The same for who comes from the south alone.
    let path = Path { from: from_south, via: vec![across], to: to_west };
    let (bans, long_turns) = banned(&Plan { paths: vec![path.clone()], ..plan.clone() });
    assert_eq!((bans, long_turns), (vec![turn], 0));
    // Where the carriageways are too far apart, only pairs of links can be forbidden.
    let far = Plan { paths: vec![path], ..split_crossing(45.0) };
    assert_eq!(banned(&far), (Vec::new(), 1));
}

#[test]
fn lights_are_where_roads_cross() {
    let mut plan = Plan::default();
    let nodes: Vec<u32> = [0.0, 100.0, 140.0, 400.0].into_iter().map(|x| plan.node(x, 0.0)).collect();
    nodes.windows(2).for_each(|pair| plan.street(pair[0], pair[1]));
    let side = plan.node(140.0, 100.0);
    plan.street(nodes[2], side);
    // At a stop line 40 m before the crossing, and at the far end.
    plan.nodes[1].control = Control::Signals;
    plan.nodes[3].control = Control::Signals;
    let Merged { network, foot_lights, .. } = plan.merged();
    let signals: Vec<bool> = network.nodes.iter().map(Node::has_signals).collect();
    assert_eq!((signals, foot_lights), (vec![false, false, true, false, false], 1));
}

/// A city of random streets: a ring road through all nodes, so that all can be reached, and others.
fn city() -> impl Strategy<Value = Plan> {
    let nodes = prop::collection::vec((0.0..300.0_f32, 0.0..300.0_f32), 3..60);
    let links = prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..4_u8), 0..120);
    (nodes, links).prop_map(|(nodes, links)| {
        let mut plan = Plan::default();
        nodes.iter().for_each(|&(x, y)| {
            plan.node(x, y);
        });
        for node in 0..nodes.len() as u32 {
            plan.one_way(node, (node + 1) % nodes.len() as u32);
        }
        for (from, to, kind) in links {
            let link = plan.one_way(from.index(nodes.len()) as u32, to.index(nodes.len()) as u32);
            plan.rings[link as usize] = kind == 0;
        }
        plan
    })
}

fn is_connected(network: &Network) -> bool {
    let ends = network.links.iter().map(|link| (link.from, link.to));
    component::largest(network.nodes.len(), ends).into_iter().all(|inside| inside)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn merged_cities_are_whole(plan in city()) {
        let network = plan.network();
        prop_assert_eq!(&network.links, &plan.network().links, "the same drawing, the same network");
        let nodes = network.nodes.len() as u32;
        prop_assert!(network.links.iter().all(|link| link.from < nodes && link.to < nodes && link.from != link.to));
        prop_assert!(nodes == 1 || is_connected(&network));
        prop_assert!(network.bans.is_sorted());
        for &(from, to) in &network.bans {
            prop_assert_eq!(network.links[from as usize].to, network.links[to as usize].from);
        }
        if nodes > 1 {
            prop_assert!(assemble(network).is_ok());
        }
    }

    /// Links stay or go as they are, and those that stay grow by less than their junctions are
    /// wide.
    #[test]
    fn no_length_is_lost_between_junctions(plan in city()) {
        let map = plan.map();
        let roads = Roads::of(&map);
        let mut clusters = joins::clusters(&roads, &plan.rings);
        let junctions = Junctions::of(&map.nodes, &mut clusters);
        let kept: Vec<&Link> = map.links.iter().filter(|link| !junctions.is_inside(link)).collect();
        let network = plan.network();
        prop_assert_eq!(kept.len(), network.links.len());
        for (old, new) in kept.iter().zip(&network.links) {
            let most = (junctions.reach[old.from as usize] + junctions.reach[old.to as usize]) * 10.0 + 1.0;
            prop_assert!(new.length_dm >= old.length_dm && (new.length_dm - old.length_dm) as f32 <= most);
        }
        prop_assert!(junctions.reach.iter().all(|&reach| reach <= 130.0 * FRAC_PI_2));
    }
}
