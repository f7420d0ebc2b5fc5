mod markup;
mod repeats;
mod turns;

use std::io::Cursor;
use std::path::PathBuf;

use osmpbf::Element;
use quick_xml::escape::escape;

use super::block::{Block, Node, WayOrRelation};
use super::marks::Marks;
use super::*;
use crate::map::{ISLE_OF_MAN, Link};
use crate::model::storage;

fn read_bytes(bytes: &[u8]) -> Result<Network, MapError> {
    read_pbf("map", Cursor::new(bytes))
}

#[test]
fn every_cut_is_an_error() {
    let length = ISLE_OF_MAN.len();
    for kept in [0, 1, 3, 4, 5, 20, 100, length / 3, length / 2, length - 1000, length - 1] {
        let error = read_bytes(&ISLE_OF_MAN[..kept]).unwrap_err().to_string();
        assert!(error.starts_with("map") && error.lines().count() == 1, "{kept}: {error}");
    }
}

#[test]
fn a_cut_is_named_by_its_byte() {
    let error = read_bytes(&ISLE_OF_MAN[..ISLE_OF_MAN.len() / 2]).unwrap_err().to_string();
    assert!(error.starts_with("map, byte ") && error.contains("broken or cut short"), "{error}");
}

#[test]
fn stray_bytes_at_the_end_are_an_error() {
    let mut bytes = ISLE_OF_MAN.to_vec();
    bytes.push(0);
    let error = read_bytes(&bytes).unwrap_err().to_string();
    assert_eq!(error, format!("map, byte {}: broken or cut short: unexpected end", ISLE_OF_MAN.len()));
}

#[test]
fn another_packing_is_not_called_damage() {
    let header = b"\x0a\x09OSMHeader\x18\x03";
    let blob_of_lz4 = b"\x32\x01\x00";
    let file = [&[0, 0, 0, header.len() as u8][..], header, blob_of_lz4].concat();
    let error = read_bytes(&file).unwrap_err().to_string();
    assert!(error.starts_with("map, byte 0: packed with something else than zlib, which is not read"), "{error}");
}

#[test]
fn another_format_is_an_error() {
    let error = read_bytes(b"<?xml version='1.0'?><osm></osm>").unwrap_err().to_string();
    assert!(error.starts_with("map, byte 0: broken or cut short"), "{error}");
}

#[test]
fn damaged_bytes_never_panic() {
    let mut bytes = ISLE_OF_MAN.to_vec();
    for i in 0..40 {
        let at = (i * 7_919_993) % bytes.len();
        bytes[at] ^= 0x55;
        // Damage in unused fields may go unnoticed; all that counts here is that an answer comes
        // back.
        let _ = read_bytes(&bytes);
        bytes[at] ^= 0x55;
    }
}

/// Element for element as an independent reader has it.
#[test]
fn the_reader_agrees_with_another_one() {
    let (mut ways, mut nodes) = (Vec::new(), Vec::new());
    Blobs::new("map", Cursor::new(ISLE_OF_MAN))
        .unwrap()
        .for_each(|data| {
            let block = Block::read(data)?;
            block.for_each_way_or_relation(|element| {
                let WayOrRelation::Way(way) = element else { return Ok(()) };
                let tags = way.tags().collect::<Result<Vec<_>, Broken>>()?;
                ways.push((format!("{tags:?}"), way.nodes().collect::<Result<Vec<_>, _>>()?));
                Ok(())
            })?;
            block.for_each_node(|node: Node<Marks>| {
                nodes.push((node.id, node.place.map(|place| (place.lon, place.lat)), node.tags.signal));
                Ok(())
            })
        })
        .unwrap();
    let (mut other_ways, mut other_nodes) = (Vec::new(), Vec::new());
    let is_signal = |tag: (&str, &str)| tag == ("highway", "traffic_signals");
    osmpbf::ElementReader::new(ISLE_OF_MAN)
        .for_each(|element| match element {
            Element::Way(way) => {
                let tags: Vec<_> = way.tags().collect();
                other_ways.push((format!("{tags:?}"), way.refs().collect()));
            }
            Element::Node(node) => {
                other_nodes.push((node.id(), Some((node.lon(), node.lat())), node.tags().any(is_signal)));
            }
            Element::DenseNode(node) => {
                other_nodes.push((node.id(), Some((node.lon(), node.lat())), node.tags().any(is_signal)));
            }
            Element::Relation(_) => {}
        })
        .unwrap();
    assert!(ways.len() > 3_000 && nodes.len() > 30_000);
    assert!(ways == other_ways && nodes == other_nodes);
}

/// The built-in map, written as XML by way of an independent reader.
fn isle_as_xml() -> String {
    let mut text = String::from("<osm>");
    let tags = |tags: &mut dyn Iterator<Item = (&str, &str)>| -> String {
        tags.map(|(key, value)| format!("<tag k=\"{}\" v=\"{}\"/>", escape(key), escape(value))).collect()
    };
    let node =
        |id, lat: f64, lon: f64, tags: String| format!("<node id='{id}' lat='{lat:.7}' lon='{lon:.7}'>{tags}</node>\n");
    osmpbf::ElementReader::new(ISLE_OF_MAN)
        .for_each(|element| match element {
            Element::Way(way) => {
                let nodes: String = way.refs().map(|node| format!("<nd ref='{node}'/>")).collect();
                text += &format!("<way id='{}'>{nodes}{}</way>\n", way.id(), tags(&mut way.tags()));
            }
            Element::Node(it) => text += &node(it.id(), it.lat(), it.lon(), tags(&mut it.tags())),
            Element::DenseNode(it) => text += &node(it.id(), it.lat(), it.lon(), tags(&mut it.tags())),
            Element::Relation(_) => {}
        })
        .unwrap();
    text + "</osm>"
}

#[test]
fn the_built_in_map_is_the_same_in_xml() {
    let text = isle_as_xml();
    let open = || -> Result<Box<dyn BufRead>, MapError> { Ok(Box::new(Cursor::new(text.clone()))) };
    let xml = read("map", &mut Xml::new("map", text.len() as u64, open)).unwrap();
    let pbf = read_bytes(ISLE_OF_MAN).unwrap();
    assert!(xml.nodes == pbf.nodes && xml.links == pbf.links && xml.bans == pbf.bans);
    assert_eq!((xml.unread, xml.left_hand), (pbf.unread, pbf.left_hand));
}

/// Links of fewer than 20 m and links that hold one car.
fn short_links(map: &Network) -> (usize, usize) {
    let count = |wanted: fn(&Link) -> bool| map.links.iter().filter(|link| wanted(link)).count();
    (count(|link| link.length_dm < 200), count(|link| storage(link) == 1))
}

/// Rings of links that hold one car each lock as soon as they are full.
#[test]
fn junctions_leave_no_short_links() {
    let mut blobs = Blobs::new("map", Cursor::new(ISLE_OF_MAN)).unwrap();
    let raw = Raw::new(take_in(&mut blobs).unwrap().0);
    let drawn = assemble(Network::new("drawn", raw.nodes, raw.links)).unwrap();
    let made = read_bytes(ISLE_OF_MAN).unwrap();
    let (before, after) = (short_links(&drawn), short_links(&made));
    assert!(before.0 > 1_500 && before.1 > 1_000, "{before:?}");
    assert!(after.0 < 20 && after.1 < 20, "{after:?}");
}

#[test]
fn portland_is_near_its_published_size() {
    let file = "../shared/data/portland-central.osm.pbf";
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(file);
    if !path.exists() {
        eprintln!("skipped: {file} is not here");
        return;
    }
    let map = load_pbf(&path).unwrap();
    // 4,544 nodes, 6,944 segments and 514 signals as it is drawn; carriageways and stop lines of
    // one junction share a node and a signal.
    assert!((3_800..=4_000).contains(&map.nodes.len()), "{} nodes", map.nodes.len());
    assert!((10_200..=10_600).contains(&map.links.len()), "{} links", map.links.len());
    let signals = map.nodes.iter().filter(|node| node.has_signals()).count();
    assert!((400..=460).contains(&signals), "{signals} signals");
    assert!(!map.bans.is_empty() && !map.left_hand);
    assert_eq!(map.name, "portland-central");
    assert_eq!(map.attribution.as_deref(), Some(ATTRIBUTION));
}
