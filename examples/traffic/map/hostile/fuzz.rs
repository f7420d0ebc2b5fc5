//! Good maps with bytes changed, cut, moved and repeated.

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::RngSeed;

use super::extracts::{self, packed_blob, raw_blob};
use super::{Folder, graphs, markup};

/// Numbers and signs that parsers stumble over.
const INSERTED: [&[u8]; 18] = [
    b"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01",
    b"\xFF\xFF\xFF\xFF\x0F",
    b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80",
    b"\x7F\xFF\xFF\xFF",
    b"\x00\x00\x00\x00",
    b"18446744073709551616",
    b"4294967295",
    b"-2147483649",
    b"NaN",
    b" ",
    b"\r\n",
    b"\n\n",
    b"\xC3\x28",
    b"p sp 9 9\n",
    b"<way id='1'>",
    b"</osm>",
    b"'/>",
    b"&#0;&x;",
];

/// A change of a file. Places are fractions of its length, so that they fit whatever came before.
#[derive(Clone, Debug)]
pub enum Change {
    Flip(Index, u8),
    Set(Index, u8),
    Cut(Index),
    Remove(Index, Index),
    Repeat(Index, Index, usize),
    Swap(Index, Index, usize),
    Insert(Index, usize),
    Overwrite(Index, usize),
}

pub fn change() -> impl Strategy<Value = Change> {
    let place = any::<Index>;
    prop_oneof![
        4 => (place(), 0..8_u8).prop_map(|(at, bit)| Change::Flip(at, bit)),
        3 => (place(), any::<u8>()).prop_map(|(at, byte)| Change::Set(at, byte)),
        1 => place().prop_map(Change::Cut),
        1 => (place(), place()).prop_map(|(from, to)| Change::Remove(from, to)),
        1 => (place(), place(), 1..8_usize).prop_map(|(from, to, times)| Change::Repeat(from, to, times)),
        1 => (place(), place(), 1..64_usize).prop_map(|(a, b, length)| Change::Swap(a, b, length)),
        2 => (place(), 0..INSERTED.len()).prop_map(|(at, what)| Change::Insert(at, what)),
        3 => (place(), 0..INSERTED.len()).prop_map(|(at, what)| Change::Overwrite(at, what)),
    ]
}

impl Change {
    fn apply(&self, file: &mut Vec<u8>) {
        let length = file.len();
        let at = |place: &Index| place.index(length + 1);
        let range = |from: &Index, to: &Index| at(from).min(at(to))..at(from).max(at(to));
        match self {
            Self::Flip(place, bit) => file.get_mut(at(place)).into_iter().for_each(|byte| *byte ^= 1 << bit),
            Self::Set(place, value) => file.get_mut(at(place)).into_iter().for_each(|byte| *byte = *value),
            Self::Cut(place) => file.truncate(at(place)),
            Self::Remove(from, to) => drop(file.drain(range(from, to))),
            Self::Repeat(from, to, times) => {
                let range = range(from, to);
                let again = file[range.clone()].repeat(*times);
                file.splice(range.start..range.start, again);
            }
            Self::Swap(a, b, most) => {
                let range = range(a, b);
                let count = (*most).min(range.len() / 2);
                let (front, back) = file[range].split_at_mut(count);
                let tail = back.len() - count;
                front.swap_with_slice(&mut back[tail..]);
            }
            Self::Insert(place, what) => drop(file.splice(at(place)..at(place), INSERTED[*what].iter().copied())),
            Self::Overwrite(place, what) => {
                let at = at(place);
                let end = (at + INSERTED[*what].len()).min(length);
                file.splice(at..end, INSERTED[*what].iter().copied());
            }
        }
    }
}

pub fn changed(file: &[u8], changes: &[Change]) -> Vec<u8> {
    let mut file = file.to_vec();
    changes.iter().for_each(|change| change.apply(&mut file));
    file
}

/// The same cases in every run, unless told otherwise. Of large maps there are fewer, one for so
/// many.
pub fn config(one_in: u32) -> ProptestConfig {
    let mut config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    config.cases = config.cases.div_ceil(one_in);
    if std::env::var_os("PROPTEST_RNG_SEED").is_none() {
        config.rng_seed = RngSeed::Fixed(10);
    }
    config
}

/// A name of one's own for each test: they run side by side.
fn read(test: &str, files: &[(&str, &[u8])]) {
    let folder = Folder::new(test);
    files.iter().for_each(|(name, content)| folder.write(name, content));
    // Whether it is still a map does not matter: what holds for all was asserted.
    let _ = folder.read(files[0].0);
}

proptest! {
    #![proptest_config(config(1))]

    #[test]
    fn changed_extracts(changes in prop::collection::vec(change(), 1..6)) {
        let header = raw_blob("OSMHeader", b"");
        let file = [header, packed_blob("OSMData", &extracts::grid(5).0)].concat();
        read("changed-extracts", &[("x.osm.pbf", &changed(&file, &changes))]);
    }

    #[test]
    fn changed_blocks(changes in prop::collection::vec(change(), 1..6), twice: bool) {
        let data = changed(&extracts::grid(5).0, &changes);
        let block = if data.is_empty() { Vec::new() } else { raw_blob("OSMData", &data) };
        let whole = if twice { packed_blob("OSMData", &extracts::grid(5).0) } else { Vec::new() };
        let file = [raw_blob("OSMHeader", b""), block, whole].concat();
        read("changed-blocks", &[("x.osm.pbf", &file)]);
    }

    #[test]
    fn changed_markup(changes in prop::collection::vec(change(), 1..6), packed: bool) {
        let text = changed(markup::grid(5).as_bytes(), &changes);
        let (name, file) = if packed { ("x.osm.gz", graphs::gzip(&text)) } else { ("x.osm", text) };
        read("changed-markup", &[(name, &file)]);
    }

    #[test]
    fn changed_packed_markup(changes in prop::collection::vec(change(), 1..4)) {
        read("changed-packed-markup", &[("x.osm.gz", &changed(&graphs::gzip(markup::grid(5).as_bytes()), &changes))]);
    }

    #[test]
    fn changed_graphs(
        graph in prop::collection::vec(change(), 0..5),
        places in prop::collection::vec(change(), 0..5),
        times in prop::collection::vec(change(), 0..3),
    ) {
        let (arcs, nodes) = graphs::grid(4);
        let files = [
            ("x-d.gr", &changed(arcs.as_bytes(), &graph)[..]),
            ("x-d.co", &changed(nodes.as_bytes(), &places)),
            ("x-t.gr", &changed(arcs.as_bytes(), &times)),
        ];
        read("changed-graphs", &files);
    }

    #[test]
    fn changed_packed_graphs(changes in prop::collection::vec(change(), 1..5), inside: bool) {
        let (arcs, nodes) = graphs::grid(6);
        let graph = if inside {
            graphs::gzip(&changed(arcs.as_bytes(), &changes))
        } else {
            changed(&graphs::gzip(arcs.as_bytes()), &changes)
        };
        read("changed-packed", &[("x.gr.gz", &graph), ("x.co", nodes.as_bytes())]);
    }
}

proptest! {
    #![proptest_config(config(16))]

    #[test]
    fn changed_isle_of_man(changes in prop::collection::vec(change(), 1..4)) {
        read("changed-isle", &[("x.osm.pbf", &changed(super::super::ISLE_OF_MAN, &changes))]);
    }
}
