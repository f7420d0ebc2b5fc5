//! Routes kept on disk between runs: little-endian numbers under a key and a checksum. Whatever
//! does not fit is searched again.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{Route, Routes, places};
use crate::hash::SequenceHash;
use crate::map::{Network, SignalPlan};

/// Goes up when the format or the search changes.
const VERSION: u64 = 4;

/// The first bytes of every file.
const MAGIC: &[u8; 8] = b"TRROUTES";

/// The user's folder for caches, or else the one for temporary files.
pub fn folder() -> PathBuf {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = if cfg!(windows) {
        variable("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        variable("HOME").map(|home| home.join("Library/Caches"))
    } else {
        // A relative one is to be ignored, says the specification.
        variable("XDG_CACHE_HOME")
            .filter(|folder| folder.is_absolute())
            .or_else(|| variable("HOME").map(|home| home.join(".cache")))
    };
    base.unwrap_or_else(std::env::temp_dir).join("bevy_affinity")
}

/// A hash of all that the routes follow from.
pub fn key(network: &Network) -> u64 {
    let mut key = SequenceHash::default();
    key.write(VERSION);
    places::PARAMETERS.iter().for_each(|&parameter| key.write(parameter));
    for node in &network.nodes {
        key.write(u64::from(node.x.to_bits()) | u64::from(node.y.to_bits()) << 32);
        key.write(node.control as u64);
    }
    for link in &network.links {
        key.write(u64::from(link.from) | u64::from(link.to) << 32);
        key.write(u64::from(link.length_dm) | u64::from(link.speed_kmh) << 32 | u64::from(link.lanes) << 48);
        key.write(u64::from(link.lane_flow) | (link.class as u64) << 32);
    }
    for &(from, to) in &network.bans {
        key.write(u64::from(from) | u64::from(to) << 32);
    }
    network.plans.iter().for_each(|plan| write_plan(plan, &mut key));
    key.finish()
}

/// How much green a movement has tells what its road carries.
fn write_plan(plan: &SignalPlan, key: &mut SequenceHash) {
    key.write(u64::from(plan.node) | u64::from(plan.cycle) << 32);
    key.write(plan.movements.len() as u64);
    for movement in &plan.movements {
        key.write(u64::from(movement.from) | u64::from(movement.to) << 32);
        let greens = movement.greens.as_deref();
        // Always green is not never green.
        let count = greens.map_or(u64::from(u32::MAX), |greens| greens.len() as u64);
        key.write(u64::from(movement.lanes) | count << 32);
        for green in greens.unwrap_or_default() {
            key.write(u64::from(green.start) | u64::from(green.length) << 32);
        }
    }
}

pub fn file(folder: &Path, key: u64) -> PathBuf {
    folder.join(format!("routes-{key:016x}.bin"))
}

/// Written under another name first: a run that is stopped half-way, or two at once, leave no
/// broken file.
pub fn write(file: &Path, key: u64, routes: &Routes) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let draft = file.with_extension(format!("{}.draft", std::process::id()));
    let written = fs::write(&draft, encode(key, routes)).and_then(|()| fs::rename(&draft, file));
    if written.is_err() {
        // What is left of it may fill the disk. If it cannot be removed either, so be it.
        let _ = fs::remove_file(&draft);
    }
    written
}

pub fn read(file: &Path, key: u64) -> Option<Routes> {
    // What is no file may never end.
    let is_file = fs::metadata(file).is_ok_and(|entry| entry.is_file());
    decode(&is_file.then(|| fs::read(file)).and_then(Result::ok)?, key)
}

fn encode(key: u64, routes: &Routes) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(key.to_le_bytes());
    let counts = [routes.nodes.len(), routes.routes.len(), routes.hops.len()];
    counts.iter().for_each(|&count| bytes.extend((count as u32).to_le_bytes()));
    let routes_as_numbers =
        routes.routes.iter().flat_map(|route| [route.destination, route.cursor, route.free_time, route.metres]);
    for number in routes.nodes.iter().chain(&routes.first).copied().chain(routes_as_numbers) {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(&routes.hops);
    let checksum = checksum(&bytes);
    bytes.extend(checksum.to_le_bytes());
    bytes
}

/// `None` if anything is out of place: the checksum vouches for what the numbers mean.
fn decode(bytes: &[u8], key: u64) -> Option<Routes> {
    let (content, sum) = bytes.split_last_chunk()?;
    let mut rest = content.strip_prefix(MAGIC)?.strip_prefix(&key.to_le_bytes())?;
    if checksum(content) != u64::from_le_bytes(*sum) {
        return None;
    }
    let [places, count, hops] = numbers(&mut rest, 3)?[..] else { return None };
    let nodes = numbers(&mut rest, places as usize)?;
    let first = numbers(&mut rest, places as usize + 1)?;
    let fields = numbers(&mut rest, (count as usize).checked_mul(4)?)?;
    let route =
        |fields: &[u32]| Route { destination: fields[0], cursor: fields[1], free_time: fields[2], metres: fields[3] };
    let routes = fields.chunks_exact(4).map(route).collect();
    (rest.len() == hops as usize).then(|| Routes { nodes, first, routes, hops: rest.to_vec(), ..Routes::default() })
}

fn numbers(rest: &mut &[u8], count: usize) -> Option<Vec<u32>> {
    let bytes = rest.split_off(..count.checked_mul(4)?)?;
    let number = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    Some(bytes.chunks_exact(4).map(number).collect())
}

fn checksum(bytes: &[u8]) -> u64 {
    let mut sum = SequenceHash::default();
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        sum.write(u64::from_le_bytes(word));
    }
    sum.write(bytes.len() as u64);
    sum.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::Green;

    fn sample() -> Routes {
        let route = |destination, cursor| Route { destination, cursor, free_time: 60, metres: 500 };
        Routes {
            nodes: vec![4, 9],
            first: vec![0, 1, 2],
            routes: vec![route(1, 0), route(0, 3)],
            hops: vec![0, 2, 255, 1, 255],
            ..Routes::default()
        }
    }

    #[test]
    fn forbidden_turns_are_part_of_the_key() {
        let mut network = crate::tests::grid(3);
        let free = key(&network);
        network.bans = vec![(0, 1)];
        assert_ne!(key(&network), free);
    }

    #[test]
    fn programmes_of_signals_are_part_of_the_key() {
        let changes: [fn(&mut SignalPlan); 6] = [
            |plan| plan.cycle += 10,
            |plan| plan.movements[0].greens = None,
            |plan| plan.movements[0].greens = Some([].into()),
            |plan| plan.movements[0].lanes = 0b11,
            |plan| plan.movements[0].greens = Some([Green { start: 0, length: 5, is_protected: true }].into()),
            |plan| drop(plan.movements.pop()),
        ];
        let network = crate::tests::planned().network;
        let mut keys = vec![key(&network)];
        for change in changes {
            let mut network = network.clone();
            change(&mut network.plans[9]);
            keys.push(key(&network));
        }
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 1 + changes.len(), "each is another city");
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(decode(&encode(7, &sample()), 7), Some(sample()));
    }

    #[test]
    fn broken_or_foreign_files_are_not_read() {
        let whole = encode(7, &sample());
        assert_eq!(decode(&whole, 8), None);
        assert!((0..whole.len()).all(|end| decode(&whole[..end], 7).is_none()));
        for position in 0..whole.len() {
            let mut broken = whole.clone();
            broken[position] ^= 1;
            assert_eq!(decode(&broken, 7), None);
        }
    }
}
