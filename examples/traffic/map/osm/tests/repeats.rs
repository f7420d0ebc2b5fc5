//! Elements that come twice, or not at all.

use super::markup::Markup;

/// Two streets that cross at node 5, which has these tags.
fn crossing(tags: &str) -> Markup {
    let ends = [(100.0, 0.0), (0.0, 100.0), (-100.0, 0.0), (0.0, -100.0)];
    let map = (1..).zip(ends).fold(Markup::default(), |map, (id, end)| map.node(id, end, "")).node(5, (0.0, 0.0), tags);
    map.way(1, &[1, 5, 3], "highway=residential").way(2, &[2, 5, 4], "highway=residential")
}

#[test]
fn a_node_that_comes_again_without_its_tags_keeps_them() {
    let tags = ["highway=traffic_signals barrier=gate", ""];
    for [first, second] in [tags, [tags[1], tags[0]], [tags[0]; 2]] {
        let map = crossing(first).node(5, (0.0, 0.0), second).read().unwrap();
        assert_eq!(map.nodes.iter().filter(|node| node.has_signals()).count(), 1);
        assert_eq!(map.unread, ["1 gates and other barriers on roads, open"]);
    }
}

#[test]
fn a_road_that_comes_twice_is_one() {
    let once = crossing("").way(3, &[1, 2], "highway=residential");
    let twice = once.clone().way(1, &[1, 5, 3], "highway=primary").way(3, &[1, 2], "highway=residential");
    let twice = twice.way(1, &[1, 5, 3], "highway=residential");
    let (once, twice) = (once.read().unwrap(), twice.read().unwrap());
    assert_eq!((twice.nodes, twice.links), (once.nodes, once.links));
    assert_eq!(twice.unread, ["3 roads that come twice, read once"]);
}

/// As joined extracts have it whose roads were cut at their borders.
#[test]
fn two_parts_of_a_road_are_both_read() {
    let ends = crossing("").node(6, (0.0, 200.0), "").node(7, (0.0, 300.0), "");
    let whole = ends.clone().way(3, &[2, 6, 7], "highway=residential").read().unwrap();
    let halves = ends.way(3, &[2, 6], "highway=residential").way(3, &[6, 7], "highway=residential");
    let halves = halves.read().unwrap();
    let length = |map: &crate::map::Network| map.links.iter().map(|link| f64::from(link.length_dm)).sum::<f64>();
    assert!((length(&halves) - length(&whole)).abs() < 10.0, "{} and {}", length(&halves), length(&whole));
    assert!(halves.unread.is_empty(), "{:?}", halves.unread);
}

#[test]
fn roads_are_cut_where_nodes_are_missing() {
    let map = crossing("").way(3, &[1, 2, 8, 9], "highway=residential").read().unwrap();
    assert_eq!(map.links.len(), 10);
    assert_eq!(map.unread, ["2 nodes of roads that are not in the file: the roads are cut there"]);
}

/// Also where two that follow each other have tags, and so are there.
#[test]
fn roads_without_nodes_are_refused_by_one_line() {
    let missing: Vec<i64> = (100..160).collect();
    let tagged = Markup::default().node(1, (0.0, 0.0), "barrier=gate").node(2, (9.0, 0.0), "barrier=gate");
    for map in [
        tagged.way(7, &missing, "highway=residential"),
        Markup::default(),
        Markup::default().node(1, (0.0, 0.0), "").node(3, (9.0, 0.0), "barrier=gate"),
    ] {
        let error = map.way(1, &[1, 2, 3], "highway=residential").read().unwrap_err().to_string();
        assert!(error.starts_with("map: the nodes that its roads name are not in it: export those too"), "{error}");
        assert_eq!(error.lines().count(), 1);
    }
}
