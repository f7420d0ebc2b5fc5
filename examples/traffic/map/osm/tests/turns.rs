//! Turn restrictions, from the relation to pairs of links.

use super::markup::Markup;
use crate::map::{Control, Network};

/// A crossing at node 5 of streets of 100 m, ways 1 to 4, from the east counter-clockwise; the far
/// end of way `w` is node `w`.
fn crossing() -> Markup {
    let ends = [(100.0, 0.0), (0.0, 100.0), (-100.0, 0.0), (0.0, -100.0)];
    let map = (1..).zip(ends).fold(Markup::default(), |map, (id, end)| map.node(id, end, ""));
    let map = map.node(5, (0.0, 0.0), "");
    (1..=4).fold(map, |map, way| map.way(way, &[way, 5], "highway=residential"))
}

/// Forbidden turns by the places where they begin and end, in metres, sorted.
fn bans(map: &Network) -> Vec<[i32; 4]> {
    let place = |node: u32| {
        let node = map.nodes[node as usize];
        [node.x.round() as i32, node.y.round() as i32]
    };
    let ends = |&(from, to): &(u32, u32)| {
        let ([a, b], [c, d]) = (place(map.links[from as usize].from), place(map.links[to as usize].to));
        [a, b, c, d]
    };
    let mut bans: Vec<_> = map.bans.iter().map(ends).collect();
    bans.sort_unstable();
    bans
}

fn with(members: &str, tags: &str) -> Network {
    crossing().turn(members, tags).read().unwrap()
}

const FROM_EAST: &str = "from=1 via=n5 to=2";

#[test]
fn a_turn_is_forbidden() {
    let map = with(FROM_EAST, "restriction=no_right_turn");
    assert_eq!(bans(&map), [[100, 0, 0, 100]]);
    assert!(map.unread.is_empty());
}

#[test]
fn only_one_turn_is_allowed() {
    let map = with("from=1 via=n5 to=3", "restriction=only_straight_on");
    // To the south, to the north and back.
    assert_eq!(bans(&map), [[100, 0, 0, -100], [100, 0, 0, 100], [100, 0, 100, 0]]);
}

#[test]
fn several_turns_may_be_the_only_ones() {
    let map = crossing().turn("from=1 via=n5 to=3", "restriction=only_straight_on");
    let map = map.turn("from=1 via=n5 to=2", "restriction=only_right_turn").read().unwrap();
    // To the south, and back.
    assert_eq!(bans(&map), [[100, 0, 0, -100], [100, 0, 100, 0]]);
}

#[test]
fn no_entry_holds_for_all_who_come() {
    let map = with("from=1 from=3 via=n5 to=2", "restriction=no_entry");
    assert_eq!(bans(&map), [[-100, 0, 0, 100], [100, 0, 0, 100]]);
}

#[test]
fn nobody_may_turn_back() {
    assert_eq!(bans(&with("from=4 via=n5 to=4", "restriction=no_u_turn")), [[0, -100, 0, -100]]);
}

#[test]
fn what_holds_for_others_is_not_read() {
    for tags in ["restriction=no_right_turn except=bus;motorcar", "restriction:hgv=no_right_turn"] {
        let map = with(FROM_EAST, tags);
        assert!(map.bans.is_empty() && map.unread.is_empty(), "{tags}");
    }
    let map = with(FROM_EAST, "restriction:conditional=no_right_turn@(Mo-Fr)");
    assert_eq!(map.unread, ["1 rules for certain hours or vehicles, left out"]);
}

#[test]
fn what_does_not_add_up_is_counted() {
    let map = with("from=1 via=n9 to=2", "restriction=no_right_turn");
    assert_eq!(map.unread, ["1 turn restrictions on roads that are not driven on, left out"]);
    let map = with("from=1 via=n5 to=9", "restriction=only_left_turn");
    assert!(map.bans.is_empty(), "a service road, or none");
    // A way that goes on beyond the node: nobody knows which half is meant.
    let long = crossing().way(6, &[1, 5, 3], "highway=residential");
    let map = long.turn("from=6 via=n5 to=2", "restriction=no_left_turn").read().unwrap();
    assert_eq!(map.unread, ["1 turn restrictions that do not add up, left out"]);
}

/// Way 1 comes from the west on the southern carriageway and goes on as way 2; way 3 goes west on
/// the northern one, from way 4; way 5 joins them so many metres apart, and streets end at both.
fn split(apart: f64) -> Markup {
    let nodes = [(-100.0, 0.0), (0.0, 0.0), (100.0, 0.0), (100.0, apart), (0.0, apart), (-100.0, apart)];
    let ends = [(0.0, -100.0), (0.0, apart + 100.0), (-200.0, 0.0), (200.0, 0.0)];
    let map = (1..).zip(nodes.into_iter().chain(ends)).fold(Markup::default(), |map, (id, at)| map.node(id, at, ""));
    let one_way = "highway=primary oneway=yes";
    let map = map.way(1, &[1, 2], one_way).way(2, &[2, 3], one_way).way(4, &[4, 5], one_way).way(3, &[5, 6], one_way);
    let map = map.way(5, &[2, 5], "highway=primary").way(6, &[2, 7], "highway=residential");
    let map = map.way(7, &[5, 8], "highway=residential");
    // Both carriageways come together at the ends.
    map.way(8, &[6, 9, 1], "highway=primary").way(9, &[3, 10, 4], "highway=primary")
}

#[test]
fn turns_by_way_of_an_island_are_forbidden_at_its_junction() {
    let no_u_turn = |apart| split(apart).turn("from=1 via=5 to=3", "restriction=no_u_turn").read().unwrap();
    assert_eq!(split(25.0).read().unwrap().bans, []);
    let map = no_u_turn(25.0);
    let long = |map: &Network| map.unread.contains(&"1 turns forbidden by way of a road in between, allowed".into());
    assert!(map.bans.len() == 1 && !long(&map));
    let (from, to) = map.bans[0];
    assert_eq!(map.links[from as usize].to, map.links[to as usize].from);
    let map = no_u_turn(60.0);
    assert!(map.bans.is_empty() && long(&map), "{:?}", map.unread);
}

/// A ring of 20 m with four arms, its nodes 1 to 4 counter-clockwise or clockwise.
fn ring(clockwise: bool) -> Network {
    let at = |way: i64, metres: f64| {
        let angle = if clockwise { -way } else { way } as f64 * std::f64::consts::FRAC_PI_2;
        (metres * angle.cos(), metres * angle.sin())
    };
    let map = (1..=4).fold(Markup::default(), |map, way| map.node(way, at(way, 10.0), ""));
    let map = (1..=4).fold(map, |map, way| map.node(10 + way, at(way, 120.0), ""));
    let map = map.way(9, &[1, 2, 3, 4, 1], "highway=tertiary junction=roundabout");
    (1..=4).fold(map, |map, way| map.way(way, &[way, 10 + way], "highway=tertiary")).read().unwrap()
}

#[test]
fn roundabouts_tell_the_side_of_the_road() {
    for clockwise in [false, true] {
        let map = ring(clockwise);
        assert_eq!(map.left_hand, clockwise);
        assert_eq!((map.nodes.len(), map.links.len()), (5, 8));
        assert_eq!(map.nodes.iter().filter(|node| node.control == Control::Roundabout).count(), 1);
    }
}

#[test]
fn a_map_without_lights_gets_some() {
    let busy = (1..=4).fold(crossing(), |map, way| map.way(10 + way, &[way, 5], "highway=secondary"));
    let map = busy.read().unwrap();
    assert_eq!(map.nodes.iter().filter(|node| node.has_signals()).count(), 1);
    assert_eq!(map.unread, ["no traffic lights on the map: 1 junctions of busy roads were given some"]);
}

#[test]
fn roads_that_are_closed_or_change_are_counted() {
    let map = crossing().way(6, &[1, 2], "highway=residential access=private");
    let map = map.way(7, &[2, 3], "highway=residential oneway=reversible").way(8, &[3, 4], "highway=service");
    let map = map.read().unwrap();
    assert_eq!(map.links.len(), 10);
    let unread = [
        "1 service roads, left out",
        "1 roads closed to cars, left out",
        "1 roads that change their direction, open as if they did not",
    ];
    assert_eq!(map.unread, unread);
}
