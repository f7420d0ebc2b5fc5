//! Extracts in XML that are broken, endless or something else.

use std::fmt::Write;

use super::extracts::{self, extract};
use super::graphs::gzip;
use super::{Folder, Network};

/// The same map as [`extracts::grid`].
pub fn grid(side: i64) -> String {
    let mut text = String::from("<?xml version='1.0' encoding='UTF-8'?>\n<osm version=\"0.6\">\n");
    for node in 0..side * side {
        let (x, y) = (node % side + 1, node / side);
        let tag = if node == side + 1 { "<tag k=\"highway\" v=\"traffic_signals\"/>" } else { "" };
        let (lat, lon) = (y as f64 * 1e-3, x as f64 * 1e-3);
        writeln!(text, " <node id=\"{}\" lat=\"{lat:.7}\" lon=\"{lon:.7}\">{tag}</node>", node + 1).unwrap();
    }
    let rows = (0..side).map(|row| (0..side).map(move |node| row * side + node + 1).collect::<Vec<_>>());
    let columns = (0..side).map(|column| (0..side).map(move |node| node * side + column + 1).collect());
    for (id, nodes) in (1..).zip(rows.chain(columns)) {
        let nodes: String = nodes.iter().map(|node| format!("<nd ref='{node}'/>")).collect();
        writeln!(text, " <way id=\"{id}\">{nodes}<tag k=\"highway\" v=\"residential\"/></way>").unwrap();
    }
    for (from, via, to) in [(1, 1, side + 1), (2, side + 2, side + 2)] {
        let member = |kind, id, role| format!("<member type=\"{kind}\" ref=\"{id}\" role=\"{role}\"/>");
        let members = [member("way", from, "from"), member("node", via, "via"), member("way", to, "to")].concat();
        let tags = "<tag k=\"type\" v=\"restriction\"/><tag k=\"restriction\" v=\"no_left_turn\"/>";
        writeln!(text, " <relation id=\"1\">{members}{tags}</relation>").unwrap();
    }
    text + "</osm>\n"
}

/// Reads a file called `name`.
fn read(name: &str, file: &[u8]) -> Result<Network, String> {
    let folder = Folder::new(&format!("markup-{name}"));
    folder.write(name, file);
    folder.read(name)
}

#[test]
fn names_may_be_in_capitals() {
    let text = grid(5);
    let plain = read("town.osm", text.as_bytes()).unwrap();
    for (name, file) in [("Town.OSM", text.as_bytes()), ("Town.OSM.GZ", &gzip(text.as_bytes()))] {
        let network = read(name, file).unwrap();
        assert_eq!((network.name.as_str(), network.links), ("Town", plain.links.clone()));
    }
}

fn refused(text: &str, part: &str) {
    let line = read("x.osm", text.as_bytes()).unwrap_err();
    assert!(line.contains(part), "{part:?} is not in {line:?}");
}

#[test]
fn the_format_makes_no_difference() {
    let text = grid(10);
    let maps = [
        read("same.osm.pbf", &extract(&extracts::grid(10))).unwrap(),
        read("same.osm", text.as_bytes()).unwrap(),
        read("same.osm.gz", &gzip(text.as_bytes())).unwrap(),
        read("same.pbf", &extract(&extracts::grid(10))).unwrap(),
    ];
    for map in &maps {
        assert_eq!((&map.nodes, &map.links), (&maps[0].nodes, &maps[0].links));
        assert_eq!((&map.bans, &map.unread), (&maps[0].bans, &maps[0].unread));
        assert_eq!(map.name, "same");
    }
    assert_eq!((maps[0].nodes.len(), maps[0].bans.len()), (100, 1));
}

#[test]
fn every_cut_is_an_error() {
    let text = grid(3);
    let folder = Folder::new("markup-cuts");
    for kept in 0..text.len() - 1 {
        folder.write("x.osm", &text.as_bytes()[..kept]);
        folder.refuses("x.osm", &["x.osm"]);
    }
    let packed = gzip(text.as_bytes());
    for kept in 0..packed.len() {
        folder.write("x.osm.gz", &packed[..kept]);
        folder.refuses("x.osm.gz", &["x.osm.gz"]);
    }
}

#[test]
fn what_is_no_extract_is_said_to_be_none() {
    for text in ["", " ", "roads", "<?xml version='1.0'?>", "<html></html>", "<osmChange/>", "c x\np sp 1 1\n"] {
        refused(text, "not an OpenStreetMap extract");
    }
    refused("<osm/>", "empty network");
    refused("<osm></osm>", "empty network");
    refused("<osm><way id='1'/></osm>", "empty network");
    let error = read("packed.osm.bz2", b"BZh91AY").unwrap_err();
    assert!(error.contains("packed with bzip2, which is not read"), "{error}");
    assert!(read("plain.osm.gz", grid(3).as_bytes()).unwrap_err().contains("invalid gzip header"));
}

#[test]
fn wrong_markup_is_named_by_its_byte() {
    refused("<osm><way id='1'></node></osm>", "x.osm, byte ");
    refused("<osm></osm></osm>", "broken or cut short");
    refused("<osm><way/></osm>", "an element without its id");
    refused("<osm><way id='x\u{1b}[2J'/></osm>", "an id should be a whole number, found `x\\u{1b}[2J`");
    refused("<osm><way id='9223372036854775808'/></osm>", "an id should be a whole number");
    refused("<osm><way id='1'><nd/></way></osm>", "an element without its id");
    refused("<osm><way id='1' id=></way></osm>", "broken or cut short");
    refused("<osm><relation id='1'><member type='way' ref='?'/></relation></osm>", "found `?`");
    let off = |lat: &str| {
        let nodes = format!("<node id='1' lat='{lat}' lon='0'/><node id='2' lat='0' lon='0'/>");
        let way = "<way id='1'><nd ref='1'/><nd ref='2'/><tag k='highway' v='primary'/></way>";
        refused(&format!("<osm>{nodes}{way}</osm>"), "node 1 is nowhere on earth");
    };
    ["90.1", "NaN", "inf", "-1e300", "", "north"].into_iter().for_each(off);
}

#[test]
fn the_date_line_is_a_line_like_any_other() {
    let node = |id: i64, lon: f64| format!("<node id='{id}' lat='-17' lon='{lon}'/>");
    let way = "<way id='1'><nd ref='1'/><nd ref='2'/><tag k='highway' v='residential'/></way>";
    let text = format!("<osm>{}{}{way}</osm>", node(1, 179.99), node(2, -179.99));
    let map = read("fiji.osm", text.as_bytes()).unwrap();
    assert!(map.left_hand);
    // 2,127 m from one end to the other.
    let ends = [map.nodes[0].x, map.nodes[1].x];
    assert!((ends[0] - ends[1]).abs() < 2_200.0 && ends[0].abs() < 1_100.0, "{ends:?}");
    let globe = map.globe.unwrap();
    assert!(ends.iter().all(|&x| (globe.place(x, 0.0).lon.abs() - 179.99).abs() < 1e-4));
}

#[test]
fn editors_leave_what_they_deleted() {
    let text = grid(4).replace("<way id=\"2\">", "<way id=\"2\" action='delete'>");
    let map = read("deleted.osm", text.as_bytes()).unwrap();
    // Without the second row the columns go straight on there.
    assert_eq!((map.nodes.len(), map.links.len()), (12, 2 * (3 * 3 + 4 * 2)));
}

#[test]
fn markup_that_never_ends_is_refused() {
    refused(&format!("<osm><way id='{}'/></osm>", "1".repeat(100_000)), "a tag or a text of more than");
    refused(&format!("<osm><!--{}--></osm>", "-".repeat(100_000)), "a tag or a text of more than");
    refused(&format!("<osm>{}", "<a>".repeat(100_000)), "16 deep");
    // Entities are not replaced by what the file makes of them.
    let laughs = "<!DOCTYPE osm [<!ENTITY a '&b;&b;'><!ENTITY b 'ha'>]><osm><way id='&a;'/></osm>";
    refused(laughs, "x.osm");
    for (name, piece) in [("text", " "), ("tags", "<tag/>"), ("nodes", "<node id='1'/>")] {
        let bomb = format!("<osm>{}", piece.repeat((10 << 20) / piece.len()));
        let error = read(&format!("{name}.osm.gz"), &gzip(bomb.as_bytes())).unwrap_err();
        assert!(error.contains("64 times its size") || error.contains("a tag or a text of more"), "{error}");
    }
    let ways = format!("<osm><way id='1'>{}</way></osm>", "<nd ref='1'/>".repeat(300_000));
    assert!(read("nodes-of-ways.osm.gz", &gzip(ways.as_bytes())).unwrap_err().contains("too many for the file's size"));
}
