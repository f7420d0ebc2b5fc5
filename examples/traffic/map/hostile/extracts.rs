//! Extracts that lie about sizes, repeat themselves or have no end.

use std::io::Write;

use flate2::{Compression, write::ZlibEncoder};

use super::Folder;

/// The bytes of a message, put together field by field.
#[derive(Clone, Default)]
pub struct Message(pub Vec<u8>);

impl Message {
    fn varint(mut self, mut number: u64) -> Self {
        while number > 0x7F {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
        self
    }

    pub fn number(self, field: u64, number: u64) -> Self {
        self.varint(field << 3).varint(number)
    }

    pub fn bytes(self, field: u64, bytes: &[u8]) -> Self {
        let mut message = self.varint(field << 3 | 2).varint(bytes.len() as u64);
        message.0.extend_from_slice(bytes);
        message
    }

    pub fn packed(self, field: u64, numbers: impl IntoIterator<Item = u64>) -> Self {
        let packed = numbers.into_iter().fold(Self::default(), Self::varint);
        self.bytes(field, &packed.0)
    }
}

pub fn zigzag(number: i64) -> u64 {
    (number << 1 ^ number >> 63).cast_unsigned()
}

pub fn zlib(data: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

/// A blob with its header.
pub fn blob(kind: &str, content: &Message) -> Vec<u8> {
    let header = Message::default().bytes(1, kind.as_bytes()).number(3, content.0.len() as u64);
    [&(header.0.len() as u32).to_be_bytes()[..], &header.0, &content.0].concat()
}

pub fn packed_blob(kind: &str, data: &[u8]) -> Vec<u8> {
    blob(kind, &Message::default().number(2, data.len() as u64).bytes(3, &zlib(data)))
}

pub fn raw_blob(kind: &str, data: &[u8]) -> Vec<u8> {
    blob(kind, &Message::default().bytes(1, data))
}

fn header() -> Vec<u8> {
    raw_blob("OSMHeader", &Message::default().bytes(4, b"OsmSchema-V0.6").0)
}

/// A header and a block of data.
pub fn extract(block: &Message) -> Vec<u8> {
    [header(), packed_blob("OSMData", &block.0)].concat()
}

const STRINGS: [&str; 10] =
    ["", "highway", "residential", "traffic_signals", "type", "restriction", "no_left_turn", "from", "via", "to"];

fn strings() -> Message {
    STRINGS.iter().fold(Message::default(), |table, string| table.bytes(1, string.as_bytes()))
}

fn block(group: &Message) -> Message {
    Message::default().bytes(1, &strings().0).bytes(2, &group.0)
}

/// A residential street through nodes, given by the differences of their ids.
fn street(differences: impl IntoIterator<Item = i64>) -> Message {
    way(1, differences)
}

fn way(id: i64, differences: impl IntoIterator<Item = i64>) -> Message {
    let nodes = differences.into_iter().map(zigzag);
    Message::default().number(1, id.cast_unsigned()).packed(2, [1]).packed(3, [2]).packed(8, nodes)
}

/// A left turn that is forbidden, from a way by a node to a way.
fn restriction(from: i64, via: i64, to: i64) -> Message {
    let ids = [from, via - from, to - via].map(zigzag);
    let tags = Message::default().number(1, 1).packed(2, [4, 5]).packed(3, [5, 6]);
    tags.packed(8, [7, 8, 9]).packed(9, ids).packed(10, [1, 0, 1])
}

fn dense(
    ids: impl IntoIterator<Item = i64>,
    lats: impl IntoIterator<Item = i64>,
    lons: impl IntoIterator<Item = i64>,
) -> Message {
    let column =
        |message: Message, field, numbers: &mut dyn Iterator<Item = i64>| message.packed(field, numbers.map(zigzag));
    let message = column(Message::default(), 1, &mut ids.into_iter());
    let message = column(message, 8, &mut lats.into_iter());
    column(message, 9, &mut lons.into_iter())
}

/// Streets in a square of `side` x `side` nodes, about 100 m apart; the first node within has
/// signals, and one left turn is forbidden.
pub fn grid(side: i64) -> Message {
    let count = side * side;
    // From the end of a row back to the start of the next.
    let lons = (0..count).map(|node| if node % side > 0 || node == 0 { 10_000 } else { -(side - 1) * 10_000 });
    let lats = (0..count).map(|node| if node % side > 0 || node == 0 { 0 } else { 10_000 });
    // No tags, then those of the first node that is not on the edge.
    let before = side as usize + 1;
    let tags = std::iter::repeat_n(0, before).chain([1, 3, 0]).chain((1..count as usize - before).map(|_| 0));
    let nodes = dense((0..count).map(|_| 1), lats, lons).packed(10, tags);
    let row = |row| way(row + 1, (0..side).map(move |node| if node > 0 { 1 } else { row * side + 1 }));
    let column = |column| way(side + column + 1, (0..side).map(move |node| if node > 0 { side } else { column + 1 }));
    let (rows, columns) = ((0..side).map(row), (0..side).map(column));
    let ways = rows.chain(columns).fold(Message::default(), |group, way| group.bytes(3, &way.0));
    // At the corner, and where the ways go on and it is not said which way along them.
    let turns = [restriction(1, 1, side + 1), restriction(2, side + 2, side + 2)];
    let turns = turns.iter().fold(Message::default(), |group, turn| group.bytes(4, &turn.0));
    let groups = [turns, ways, Message::default().bytes(2, &nodes.0)];
    groups.iter().fold(Message::default().bytes(1, &strings().0), |block, group| block.bytes(2, &group.0))
}

/// Reads an extract, or says why it is refused.
fn read(test: &str, file: &[u8]) -> Result<crate::map::Network, String> {
    let folder = Folder::new(test);
    folder.write("x.osm.pbf", file);
    folder.read("x.osm.pbf")
}

fn refused(test: &str, file: &[u8], parts: &[&str]) {
    let folder = Folder::new(test);
    folder.write("x.osm.pbf", file);
    folder.refuses("x.osm.pbf", parts);
}

#[test]
fn the_grid_is_a_map() {
    let map = read("grid", &extract(&grid(10))).unwrap();
    assert_eq!((map.nodes.len(), map.links.len()), (100, 360));
    assert_eq!(map.nodes.iter().filter(|node| node.has_signals()).count(), 1);
    assert_eq!(map.bans.len(), 1);
    assert_eq!(map.unread, ["1 turn restrictions that do not add up, left out"]);
}

#[test]
fn every_cut_of_an_extract_is_an_error() {
    let file = extract(&grid(4));
    let folder = Folder::new("cuts");
    for kept in 0..file.len() {
        folder.write("x.osm.pbf", &file[..kept]);
        // Without the block it is a map without roads.
        let part = if kept == header().len() { "empty network" } else { "x.osm.pbf" };
        folder.refuses("x.osm.pbf", &[part]);
    }
}

#[test]
fn blocks_may_come_twice_or_in_another_order() {
    let (nodes, ways) = (grid(6), grid(6));
    let twice = [header(), packed_blob("OSMData", &nodes.0), raw_blob("OSMData", &ways.0), header()].concat();
    let map = read("twice", &twice).unwrap();
    assert_eq!((map.nodes.len(), map.links.len()), (36, 120));
    assert!(map.unread.contains(&"12 roads that come twice, read once".into()), "{:?}", map.unread);
}

#[test]
fn features_that_are_not_known_are_named() {
    let with = |features: &[&str]| {
        let header = features.iter().fold(Message::default(), |header, feature| header.bytes(4, feature.as_bytes()));
        [raw_blob("OSMHeader", &header.0), packed_blob("OSMData", &grid(4).0)].concat()
    };
    assert_eq!(read("features", &with(&["OsmSchema-V0.6", "DenseNodes"])).unwrap().nodes.len(), 16);
    let history = with(&["OsmSchema-V0.6", "HistoricalInformation"]);
    refused("history", &history, &["x.osm.pbf: a file with history, which is not read"]);
    refused("feature", &with(&["\u{1b}[2J"]), &["x.osm.pbf: needs the feature `\\u{1b}[2J`"]);
    let number = raw_blob("OSMHeader", &Message::default().number(4, 1).0);
    refused("number", &number, &["x.osm.pbf, byte 0: broken or cut short: a field has a number"]);
}

#[test]
fn lengths_that_lie_are_named_by_their_byte() {
    let at = format!("x.osm.pbf, byte {}: broken or cut short: ", header().len());
    let data = grid(4).0;
    let with = |content: Message| [header(), blob("OSMData", &content)].concat();
    let promise = |size: u64| with(Message::default().number(2, size).bytes(3, &zlib(&data)));
    for size in [0, 1, data.len() as u64 - 1, data.len() as u64 + 1, 32 << 20] {
        refused("promise", &promise(size), &[&at, &format!("promises to unpack to {size} bytes")]);
    }
    for size in [(32 << 20) + 1, i32::MAX as u64, u64::MAX] {
        refused("promise", &promise(size), &[&at, "impossible size"]);
    }
    refused("empty-blob", &with(Message::default()), &[&at, "an empty blob"]);
    let packed_otherwise = at.replace("broken or cut short", "packed with something else than zlib, which is not read");
    refused("lz4", &with(Message::default().bytes(6, &data)), &[&packed_otherwise]);
    refused("not-zlib", &with(Message::default().bytes(3, &data)), &[&at, "cannot be unpacked"]);
    refused("long-header", &[header(), vec![0xFF; 100]].concat(), &[&at, "a header of 4294967295 bytes"]);
    let long = Message::default().bytes(1, b"OSMData").number(3, u64::MAX >> 1);
    let long = [header(), (long.0.len() as u32).to_be_bytes().to_vec(), long.0].concat();
    refused("long-blob", &long, &[&at, "a blob of 9223372036854775807 bytes"]);
    let unknown = [header(), vec![0, 0, 0, 6], Message::default().bytes(1, b"X").number(3, 1_000).0].concat();
    refused("long-unknown", &unknown, &[&at, "unexpected end"]);
}

/// 32 MiB that pack to 32 KiB: as much as a blob may hold, of each kind of element that takes the
/// least room.
#[test]
fn bombs_take_no_more_memory_than_a_block() {
    let many = |element: &[u8]| element.repeat((31 << 20) / element.len());
    let table = Message::default().bytes(1, &many(&[0x0A, 0]));
    refused("strings", &extract(&table), &["strings, at most"]);
    let table = Message::default().bytes(1, &[0x0A, 0].repeat(4 << 20));
    refused("fewer-strings", &extract(&table), &["empty network"]);
    for group in [&[0x0A, 0], &[0x12, 0], &[0x1A, 0], &[0x22, 0]] {
        refused("elements", &extract(&block(&Message(many(group)))), &["empty network"]);
    }
    refused("groups", &extract(&Message(many(&[0x12, 0]))), &["empty network"]);
    let way = Message::default().bytes(3, &street([]).0);
    refused("ways", &extract(&block(&Message(many(&way.0)))), &["empty network"]);
    for difference in [0, 1] {
        let ways = Message::default().bytes(3, &street((0..31 << 20).map(|_| difference)).0);
        refused("nodes-of-ways", &extract(&block(&ways)), &["more than 2", "nodes in ways"]);
    }
    let turn = Message::default().bytes(4, &restriction(1, 1, 1).0);
    refused(
        "turns",
        &extract(&block(&Message(turn.0.repeat(100_000)))),
        &["turn restrictions, too many for the file's size"],
    );
    let nodes = Message::default().bytes(2, &dense(std::iter::repeat_n(1, 31 << 20), [], []).0);
    refused("nodes", &extract(&block(&nodes)), &["fewer coordinates than nodes"]);
}

#[test]
fn a_file_of_bombs_is_refused_before_they_are_all_unpacked() {
    let bomb = packed_blob("OSMData", &[0x22, 0].repeat(8 << 20));
    let file = [header(), bomb.repeat(20)].concat();
    refused("many-bombs", &file, &["unpacks to more than 16 times its size"]);
}

#[test]
fn as_many_nodes_as_a_file_may_name_are_read() {
    let count = 250_000_i64;
    // All of them are junctions, which take most memory: every node is named twice.
    let ways = street((0..count).map(|_| 1)).0;
    let half = way(2, (0..count / 20).map(|_| 1)).0;
    let ways = Message::default().bytes(3, &ways).bytes(3, &half);
    // Far enough from each other to stay apart.
    let nodes = dense((0..count).map(|_| 1), (0..count).map(|_| 3_000), (0..count).map(|_| 3_000));
    let block = block(&ways).bytes(2, &Message::default().bytes(2, &nodes.0).0);
    let map = read("most-nodes", &extract(&block)).unwrap();
    assert!(map.nodes.len() as i64 > count / 20);
}

#[test]
fn places_off_the_earth_are_refused_where_a_road_goes() {
    let off = |block: Message| refused("off-earth", &extract(&block), &["node 1 is nowhere on earth"]);
    let with = |lat: i64, lon: i64| {
        let ways = Message::default().bytes(3, &street([1, 1]).0);
        block(&ways).bytes(2, &Message::default().bytes(2, &dense([1, 1], [lat, 0], [lon, 0]).0).0)
    };
    off(with(900_000_001, 0));
    off(with(0, -1_800_000_001));
    off(with(i64::MAX, i64::MIN));
    off(with(1, 1).number(17, i64::MAX as u64));
    off(with(1, 1).number(19, i64::MAX as u64));
    let elsewhere = block(&Message::default().bytes(2, &dense([1], [i64::MAX], [0]).0));
    refused("off-earth-unused", &extract(&elsewhere), &["empty network"]);
}

#[test]
fn elements_that_do_not_add_up_are_refused() {
    let nodes = |dense: Message| extract(&block(&Message::default().bytes(2, &dense.0)));
    refused("lons", &nodes(dense([1, 1], [0, 0], [0])), &["fewer coordinates"]);
    refused("lats", &nodes(dense([1], [0, 0], [0, 0])), &["more coordinates"]);
    refused("ids", &nodes(dense([i64::MAX, 1], [0, 0], [0, 0])), &["more than 64 bits"]);
    refused("tag", &nodes(dense([1], [0], [0]).packed(10, [99, 1, 0])), &["string 99, but there are 10"]);
    refused("value", &nodes(dense([1], [0], [0]).packed(10, [1])), &["keys without values"]);
    let way = |way: Message| extract(&block(&Message::default().bytes(3, &way.0)));
    refused("key", &way(Message::default().packed(2, [1, 1]).packed(3, [2])), &["keys without values"]);
    refused("string", &way(Message::default().packed(2, [u64::MAX]).packed(3, [2])), &["string 18446744073709551615"]);
    refused("refs", &way(street([i64::MAX, i64::MAX])), &["more than 64 bits"]);
    refused("missing", &way(street((0..200_000).map(|_| 7))), &["the nodes that its roads name are not in it"]);
    let relation = |relation: Message| extract(&block(&Message::default().bytes(4, &relation.0)));
    let turn = || Message::default().packed(2, [4]).packed(3, [5]).packed(9, [1]);
    refused("roles", &relation(turn()), &["fewer roles or kinds than members"]);
    refused("role", &relation(turn().packed(8, [99]).packed(10, [1])), &["string 99"]);
    refused("tags", &relation(Message::default().packed(2, [4])), &["keys without values"]);
    refused("kind", &way(Message::default().number(8, 1)), &["a number where bytes belong"]);
}
