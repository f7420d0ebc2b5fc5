use std::fs;
use std::io::Write;

use flate2::{Compression, write::GzEncoder};

use super::*;
use crate::tests::TempFolder;

const GRAPH: &str = "c a square\np sp 3 4\n\na 1 2 100\na 2 1 100\na 2 3 200\na 3 2 200\n";
const PLACES: &str = "p aux sp co 3\nv 1 0 0\nv 2 1000 0\nv 3 1000 2000\n";

/// A folder for the maps of one test.
struct Folder(TempFolder);

impl Folder {
    fn new(test: &str) -> Self {
        Self(TempFolder::new(test))
    }

    /// A folder with `graph` as `x-d.gr` and `places` as `x-d.co`.
    fn with_map(test: &str, graph: &str, places: &str) -> Self {
        let folder = Self::new(test);
        folder.write("x-d.gr", graph.as_bytes());
        folder.write("x-d.co", places.as_bytes());
        folder
    }

    fn write(&self, name: &str, content: &[u8]) {
        fs::write(self.0.join(name), content).unwrap();
    }

    fn load(&self, name: &str) -> Result<Network, MapError> {
        load(&self.0.join(name))
    }

    /// The error of loading `name`, without the folder.
    fn error(&self, name: &str) -> String {
        let error = self.load(name).unwrap_err().to_string();
        assert_eq!(error.lines().count(), 1);
        error.replace(&format!("{}{}", self.0.display(), std::path::MAIN_SEPARATOR), "")
    }
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_small_graph_is_read_plain_and_packed() {
    let folder = Folder::with_map("small", GRAPH, PLACES);
    let plain = folder.load("x-d.gr").unwrap();
    assert_eq!((plain.nodes.len(), plain.links.len()), (3, 4));
    assert_eq!(plain.name, "x-d");
    assert!(plain.links.iter().all(|link| (link.lanes, link.speed_kmh) == UNCLASSIFIED));
    folder.write("y.gr.gz", &gzip(GRAPH));
    folder.write("y.co.gz", &gzip(PLACES));
    assert_eq!(folder.load("y.gr.gz").unwrap().links, plain.links);
}

#[test]
fn tabs_and_byte_order_marks_make_no_difference() {
    let (graph, places) = (format!("\u{feff}c\ta map\n{GRAPH}"), format!("\u{feff}{PLACES}").replace(' ', "\t"));
    let folder = Folder::with_map("tabs", &graph, &places);
    assert_eq!(folder.load("x-d.gr").unwrap().links.len(), 4);
    folder.write("x-d.gr", GRAPH.replace("c a", "ca").as_bytes());
    assert_eq!(folder.error("x-d.gr"), "x-d.gr, line 1: expected `p sp ..` first, found `ca square`");
}

#[test]
fn what_is_cut_off_is_counted() {
    let arcs = [(1, 2), (2, 1), (2, 3), (3, 2), (4, 5), (5, 4)].map(|(from, to)| format!("a {from} {to} 5000\n"));
    let places = (1..=5).map(|node| format!("v {node} {} 0\n", node * 5_000));
    let folder = Folder::with_map(
        "cut-off",
        &format!("p sp 5 6\n{}", arcs.concat()),
        &format!("p aux sp co 5\n{}", places.collect::<String>()),
    );
    let map = folder.load("x-d.gr").unwrap();
    assert_eq!(map.nodes.len(), 3);
    assert_eq!(map.unread[0], "2 of 5 intersections are left out: no way leads there and back");
}

#[test]
fn names_may_be_in_capitals() {
    let folder = Folder::new("capitals");
    folder.write("X.GR", GRAPH.as_bytes());
    folder.write("X.CO", PLACES.as_bytes());
    folder.write("Y.GR.GZ", &gzip(GRAPH));
    folder.write("Y.co", PLACES.as_bytes());
    for (file, name) in [("X.GR", "X"), ("Y.GR.GZ", "Y")] {
        let network = crate::map::load(&folder.0.join(file)).unwrap();
        assert_eq!((network.name.as_str(), network.links.len()), (name, 4));
    }
}

#[test]
fn travel_times_tell_the_class() {
    let folder = Folder::with_map("twin", GRAPH, PLACES);
    folder.write("x-t.gr", b"p sp 3 4\na 1 2 100\na 2 1 125\na 2 3 333\na 3 2 500\n");
    let mut classes: Vec<_> =
        folder.load("x-d.gr").unwrap().links.iter().map(|link| (link.speed_kmh, link.lanes)).collect();
    classes.sort_unstable();
    assert_eq!(classes, [(40, 1), (60, 1), (80, 2), (100, 3)]);
}

#[test]
fn travel_times_of_another_graph_are_an_error() {
    let folder = Folder::with_map("other-twin", GRAPH, PLACES);
    folder.write("x-t.gr", b"p sp 3 1\na 1 2 100\n");
    assert!(folder.error("x-d.gr").starts_with("x-t.gr: 1 arcs, but 4 in "));
    folder.write("x-t.gr", b"p sp 3 4\na 1 2 100\na 1 3 100\na 2 3 200\na 3 2 200\n");
    assert!(folder.error("x-d.gr").starts_with("x-t.gr: arc 2 runs from 1 to 3, but from 2 to 1 in "));
}

#[test]
fn coordinates_have_to_lie_beside_it() {
    let folder = Folder::new("no-co");
    folder.write("x.gr", GRAPH.as_bytes());
    assert_eq!(folder.error("x.gr"), "x.gr: no coordinates: neither x.co.gz nor x.co lies beside it");
}

#[test]
fn wrong_lines_are_named_by_number() {
    let cases = [
        ("p sp 3 4\na 1 x 5\n", "x-d.gr, line 2: a node should be a whole number, found `x`"),
        ("p sp 3 4\na 1 2 -5\n", "x-d.gr, line 2: the arc's length should be a whole number, found `-5`"),
        ("c hi\np sp 3 4\na 1 2\n", "x-d.gr, line 3: the arc's length is missing in `a 1 2`"),
        ("p sp 3 4\na 1 2 8 0\n", "x-d.gr, line 2: unexpected `0` in `a 1 2 8 0`"),
        ("p sp 3 4\na 1 4 5\n", "x-d.gr, line 2: unknown node 4: the nodes are 1 to 3"),
        ("p sp 3 4\na 0 1 5\n", "x-d.gr, line 2: unknown node 0: the nodes are 1 to 3"),
        ("p sp 3 4\nv 1 2 3\n", "x-d.gr, line 2: expected a line that starts with `a`, found `v 1 2 3`"),
        ("p sp 3 4\na 1 2 5\n", "x-d.gr: the `p` line promises 4 arcs, found 1"),
        ("a 1 2 5\n", "x-d.gr, line 1: expected `p sp ..` first, found `a 1 2 5`"),
        ("p sp 4000000000 4\n", "x-d.gr, line 1: 4000000000 nodes are more than the 50000000 that are supported"),
        ("c nothing\n", "x-d.gr: no line `p sp ..` in it"),
    ];
    for (graph, expected) in cases {
        let folder = Folder::with_map("lines", graph, PLACES);
        assert_eq!(folder.error("x-d.gr"), expected);
    }
}

#[test]
fn an_empty_graph_is_an_error() {
    let folder = Folder::with_map("empty", "p sp 0 0\n", "p aux sp co 0\n");
    assert_eq!(folder.error("x-d.gr"), "x-d.gr: empty network: no road can be driven there and back");
}

#[test]
fn wrong_coordinates_are_named() {
    let cases = [
        ("p aux sp co 2\n", "x-d.co, line 1: coordinates for 2 nodes, but the graph has 3"),
        ("p aux sp co 3\nv 1 0 0\nv 3 0 0\n", "x-d.co: node 2 has no coordinates"),
        ("p aux sp co 3\nv 2 0 0\nv 2 0 0\n", "x-d.co, line 3: node 2 has coordinates already"),
        ("p aux sp co 3\nv 1 0 1e6\n", "x-d.co, line 2: the latitude should be a whole number, found `1e6`"),
        ("p aux sp co 3\nv 1 0 90000001\n", "x-d.co, line 2: no place on earth: longitude 0, latitude 90000001 / 1e6"),
    ];
    for (places, expected) in cases {
        assert_eq!(Folder::with_map("places", GRAPH, places).error("x-d.gr"), expected);
    }
}

#[test]
fn binary_and_cut_files_get_one_line() {
    let folder = Folder::with_map("binary", "p sp 3 4\na 1 \u{7}\u{1b}[31m 5\n", PLACES);
    assert_eq!(folder.error("x-d.gr"), "x-d.gr, line 2: a node should be a whole number, found `\\u{7}\\u{1b}[31m`");
    folder.write("z.gr", b"\xff\xfe\n");
    assert!(folder.error("z.gr").starts_with("z.gr, line 1: "));
    folder.write("z.gr.gz", GRAPH.as_bytes());
    assert_eq!(folder.error("z.gr.gz"), "z.gr.gz, line 1: invalid gzip header");
    let packed = gzip(&GRAPH.repeat(1_000));
    folder.write("z.gr.gz", &packed[..packed.len() / 2]);
    assert!(folder.error("z.gr.gz").contains("line "));
    folder.write("z.gr.gz", &gzip(GRAPH)[..40]);
    assert!(folder.error("z.gr.gz").ends_with("the file is cut short"));
}

/// The published numbers of roads by class, but for those within junctions; every road is two arcs.
#[test]
fn new_york_has_its_published_size() {
    let file = "../shared/data/USA-road-d.NY.gr.gz";
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(file);
    if !path.exists() {
        eprintln!("skipped: {file} is not here");
        return;
    }
    let map = load(&path).unwrap();
    // 264,346 nodes and 733,846 arcs, of which those of fewer than 20 m are within junctions.
    assert_eq!((map.nodes.len(), map.links.len()), (257_210, 719_216));
    assert_eq!(map.name, "USA-road-d.NY");
    // At one of 24 of the 182,823 nodes at which three roads or more meet.
    let signals = map.nodes.iter().filter(|node| node.has_signals()).count();
    assert!((7_000..=8_500).contains(&signals), "{signals} signals");
    assert!(map.unread[0].starts_with("no traffic lights on the map: "), "{:?}", map.unread);
    for (speed, roads) in [(100, 7_301), (80, 3_516), (60, 9_393), (40, 346_713)] {
        let links = map.links.iter().filter(|link| link.speed_kmh == speed).count();
        assert!((2 * roads * 95 / 100..=2 * roads).contains(&links), "{links} links at {speed} km/h");
    }
}
