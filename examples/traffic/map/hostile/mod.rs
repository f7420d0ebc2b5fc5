//! Maps that nobody would draw: whatever a file holds, reading it ends with a network or one line,
//! and takes memory in proportion to the file.
//!
//! `cargo test` mutates some hundred maps, always the same. `PROPTEST_CASES=100000
//! PROPTEST_RNG_SEED=7 cargo test --release --example traffic hostile` tries others.

mod extracts;
pub mod fuzz;
mod graphs;
mod markup;
pub mod memory;

use std::fs;
use std::path::Path;

use super::{MapError, Network, limits};
use crate::tests::TempFolder;

/// What reading a map may take at most: eight bytes for each byte that its files may unpack to, and
/// room for the largest block that the format allows. Real maps take 3 to 8 bytes for each byte of
/// their files, packed as they are.
const BYTES_PER_BYTE: u64 = 8 * limits::UNPACKING;
const BYTES_ANYWAY: u64 = 64 << 20;

/// A folder for the maps of one test.
struct Folder(TempFolder);

impl Folder {
    fn new(test: &str) -> Self {
        Self(TempFolder::new(test))
    }

    fn write(&self, name: &str, content: &[u8]) {
        fs::write(self.0.join(name), content).unwrap();
    }

    /// Reads the map `name` and expects of it what holds for all; `Err` has the line, without the
    /// folder.
    fn read(&self, name: &str) -> Result<Network, String> {
        let (read, peak) = memory::peak(|| super::load(&self.0.join(name)));
        let size: u64 = fs::read_dir(&*self.0).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum();
        let most = BYTES_PER_BYTE * size + BYTES_ANYWAY;
        assert!(peak <= most, "{name}: {peak} bytes of memory for {size} bytes of files, at most {most} are allowed");
        match &read {
            Ok(network) => {
                assert_is_whole(network);
                #[cfg(feature = "game")]
                if let Some(projection) = &network.globe {
                    let (_, peak) = memory::peak(|| super::land(&self.0.join(name), projection));
                    assert!(peak <= most, "{name}: {peak} bytes for what lies around the roads");
                }
            }
            Err(error) => assert_is_a_line(error, &self.0),
        }
        read.map_err(|error| error.to_string().replace(&format!("{}/", self.0.display()), ""))
    }

    /// Expects that the map `name` is refused with a line that has all of `parts`.
    fn refuses(&self, name: &str, parts: &[&str]) {
        let line = self.read(name).unwrap_err();
        for part in parts {
            assert!(line.contains(part), "{part:?} is not in {line:?}");
        }
    }
}

/// What the simulation relies on.
fn assert_is_whole(network: &Network) {
    let nodes = network.nodes.len() as u32;
    assert!(nodes >= 2 && !network.links.is_empty());
    assert!(network.nodes.iter().all(|node| node.x.is_finite() && node.y.is_finite()));
    for link in &network.links {
        assert!(link.from < nodes && link.to < nodes && link.from != link.to, "{link:?}");
        assert!(link.length_dm > 0 && link.lanes > 0 && link.speed_kmh > 0, "{link:?}");
    }
    assert!(network.links.is_sorted_by_key(|link| (link.to, link.from)));
    assert!(network.bans.is_sorted());
    for &(from, to) in &network.bans {
        assert_eq!(network.links[from as usize].to, network.links[to as usize].from);
    }
}

/// One line that names the file, and does nothing to a terminal.
fn assert_is_a_line(error: &MapError, folder: &Path) {
    let line = error.to_string();
    assert!(line.starts_with(&folder.display().to_string()), "{line:?}");
    assert!(!line.chars().any(char::is_control) && line.len() < 400, "{line:?}");
}
