//! Graphs in text that promise too much, never end or make no sense.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};

use super::Folder;

pub fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// A graph of `side` x `side` nodes with two-way streets, and its coordinates.
pub fn grid(side: usize) -> (String, String) {
    let mut arcs = Vec::new();
    for node in 1..=side * side {
        let right = (node % side != 0).then_some(node + 1);
        let up = (node + side <= side * side).then_some(node + side);
        arcs.extend(right.into_iter().chain(up).map(|next| format!("a {node} {next} 1000\na {next} {node} 1000\n")));
    }
    let graph = format!("c a grid\np sp {} {}\n{}", side * side, 2 * arcs.len(), arcs.concat());
    let places =
        (0..side * side).map(|node| format!("v {} {} {}\n", node + 1, node % side * 1_000, node / side * 1_000));
    (graph, format!("p aux sp co {}\n{}", side * side, places.collect::<String>()))
}

const PLACES: &str = "p aux sp co 2\nv 1 0 0\nv 2 0 900\n";

/// The line that refuses a graph, with two places beside it.
fn refused(test: &str, graph: &[u8], parts: &[&str]) {
    let folder = Folder::new(&format!("graph-{test}"));
    folder.write("x.gr", graph);
    folder.write("x.co", PLACES.as_bytes());
    folder.refuses("x.gr", parts);
}

fn read(test: &str, graph: &str) -> crate::map::Network {
    let folder = Folder::new(&format!("graph-{test}"));
    folder.write("x.gr", graph.as_bytes());
    folder.write("x.co", PLACES.as_bytes());
    folder.read("x.gr").unwrap()
}

#[test]
fn counts_take_no_memory_until_the_file_can_hold_them() {
    let folder = Folder::new("counts");
    for nodes in ["50000000", "1000000", "1000"] {
        folder.write("x.gr", format!("p sp {nodes} 2\na 1 2 9\na 2 1 9\n").as_bytes());
        folder.write("x.co", format!("p aux sp co {nodes}\nv 1 0 0\nv 2 0 9\n").as_bytes());
        folder.refuses("x.gr", &["x.co, line 1", nodes, "a file of this size"]);
    }
    refused("arcs", b"p sp 2 18446744073709551615\na 1 2 9\n", &["promises 18446744073709551615 arcs, found 1"]);
    refused("more-arcs", b"p sp 2 1\na 1 2 9\na 2 1 9\n", &["x.gr, line 3: more arcs than the 1"]);
    refused("nodes", b"p sp 18446744073709551616 1\n", &["line 1", "is too large"]);
}

#[test]
fn numbers_are_whole_and_in_range() {
    for (arc, part) in [
        ("a 1 2 4294967296", "the arc's length is too large, found `4294967296`"),
        ("a 1 2 -1", "should be a whole number, found `-1`"),
        ("a 1 2 NaN", "found `NaN`"),
        ("a 1 2 1e9", "found `1e9`"),
        ("a 3 2 1", "unknown node 3"),
        ("a 99999999999 2 1", "a node is too large"),
        ("a 1", "a node is missing"),
        ("p sp 2 2", "starts with `a`"),
    ] {
        refused("numbers", format!("p sp 2 1\n{arc}\n").as_bytes(), &["x.gr, line 2: ", part]);
    }
    let longest = read("longest", "p sp 2 2\na 1 2 4294967295\na 2 1 2147483648\n");
    assert_eq!(longest.links.len(), 2);
}

#[test]
fn odd_graphs_are_maps_or_said_to_be_empty() {
    for graph in ["p sp 2 0\n", "p sp 2 1\na 1 1 5\n", "p sp 2 1\na 1 2 5\n"] {
        refused("odd", graph.as_bytes(), &["x.gr: empty network"]);
    }
    let many = "a 1 2 5\n".repeat(100);
    assert_eq!(read("parallel", &format!("p sp 2 101\n{many}a 2 1 0\n")).links.len(), 101);
    assert_eq!(read("loops", "p sp 2 3\na 1 1 0\na 1 2 0\na 2 1 0").links.len(), 2);
    assert_eq!(read("crlf", "c x\r\np sp 2 2\r\n\r\na 1 2 7\r\na 2 1 7\r\n").links.len(), 2);
    let folder = Folder::new("one-node");
    folder.write("x.gr", b"p sp 1 1\na 1 1 5\n");
    folder.write("x.co", b"p aux sp co 1\nv 1 0 0\n");
    folder.refuses("x.gr", &["empty network"]);
}

#[test]
fn text_without_ends_is_refused() {
    refused("one-line", &b"c ".repeat(50_000), &["x.gr, line 1: longer than 4096 bytes"]);
    refused("zeros", &[0; 100_000], &["x.gr, line 1: longer than 4096 bytes"]);
    refused("bytes", b"p sp 2 1\na 1 \xff 5\n", &["x.gr, line 2: not text"]);
    refused("empty", b"", &["x.gr: no line `p sp ..`"]);
    refused("wide", "p sp 2 2\na \u{2028}\u{1b}[2J 1 1\n".as_bytes(), &["line 2", "\\u{1b}"]);
}

#[test]
fn gzip_bombs_are_refused() {
    let folder = Folder::new("gzip");
    folder.write("zeros.gr.gz", &gzip(&vec![0; 10 << 20]));
    folder.refuses("zeros.gr.gz", &["zeros.gr.gz, line 1: longer than 4096 bytes"]);
    for (name, line) in [("comments", "c no end\n"), ("blank", "\n"), ("arcs", "a 1 2 5\n")] {
        let text = format!("p sp 2 100000000\n{}", line.repeat((40 << 20) / line.len()));
        let name = format!("{name}.gr.gz");
        folder.write(&name, &gzip(text.as_bytes()));
        folder.refuses(&name, &["line ", "unpacks to more than 16 times its size"]);
    }
    // The same again and again: members that are empty, and members within members.
    folder.write("empty.gr.gz", &gzip(b"").repeat(50_000));
    folder.refuses("empty.gr.gz", &["no line `p sp"]);
    folder.write("twice.gr.gz", &gzip(&gzip(&vec![0; 10 << 20])));
    folder.refuses("twice.gr.gz", &["line "]);
}

#[test]
fn a_large_graph_takes_a_small_multiple_of_its_size() {
    let folder = Folder::new("large");
    let (graph, places) = grid(200);
    folder.write("x.gr.gz", &gzip(graph.as_bytes()));
    folder.write("x.co.gz", &gzip(places.as_bytes()));
    assert_eq!(folder.read("x.gr.gz").unwrap().nodes.len(), 40_000);
}

#[test]
fn coordinates_have_to_match() {
    let folder = Folder::new("coordinates");
    folder.write("x.gr", b"p sp 3 2\na 1 2 9\na 2 1 9\n");
    for (places, part) in [
        (PLACES, "line 1: coordinates for 2 nodes, but the graph has 3"),
        ("p aux sp co 3\nv 1 0 0\nv 2 0 0\n", "x.co: node 3 has no coordinates"),
        ("p aux sp co 3\nv 1 0 0\nv 1 0 0\nv 2 0 0\n", "x.co, line 3: node 1 has coordinates already"),
        ("p aux sp co 3\nv 1 0 -90000001\n", "line 2: no place on earth"),
        ("p aux sp co 3\nv 1 -2147483648 0\n", "line 2: no place on earth"),
        ("", "x.co: no line `p aux sp co ..`"),
    ] {
        folder.write("x.co", places.as_bytes());
        folder.refuses("x.gr", &[part]);
    }
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_not_waited_for() {
    let folder = Folder::new("no-files");
    std::fs::create_dir_all(folder.0.join("folder.gr")).unwrap();
    folder.refuses("folder.gr", &["folder.gr: not a regular file"]);
    for name in ["zero.gr", "zero.gr.gz", "zero.osm.pbf"] {
        std::os::unix::fs::symlink("/dev/zero", folder.0.join(name)).unwrap();
        folder.refuses(name, &["not a regular file"]);
    }
    let pipe = folder.0.join("pipe.gr");
    if std::process::Command::new("mkfifo").arg(&pipe).status().is_ok_and(|status| status.success()) {
        folder.refuses("pipe.gr", &["not a regular file"]);
    }
    folder.write("x.gr", b"p sp 2 2\na 1 2 9\na 2 1 9\n");
    std::fs::create_dir_all(folder.0.join("x.co")).unwrap();
    folder.refuses("x.gr", &["x.co: not a regular file"]);
}
