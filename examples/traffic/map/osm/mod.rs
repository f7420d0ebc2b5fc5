//! OpenStreetMap extracts (`.osm.pbf`).
//!
//! The file is read twice: first the ways that cars may use, then the nodes that those ways name.
//! Other nodes, which are nearly all of a file, are never kept.
//!
//! The reader is our own because a map may be hostile: protocol buffers that are decoded into
//! structs take a hundred bytes for an empty element of two, which zlib packs a thousandfold. Here
//! a block is read in place, and whatever is kept is counted against the size of the file.

mod blobs;
mod block;
mod tags;
mod ways;
mod wire;

use std::io::{BufReader, Read, Seek};
use std::path::Path;

use self::blobs::Blobs;
use self::block::{Block, Node, Way};
use self::ways::{Points, Ways};
use self::wire::Broken;
use super::{MapError, Network, limits};

const ATTRIBUTION: &str = "© OpenStreetMap contributors";

/// Reads the extract at `path`.
pub fn load(path: &Path) -> Result<Network, MapError> {
    let (file, _) = limits::open(path)?;
    let network = read(&path.display().to_string(), BufReader::new(file))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(Network { name: name.strip_suffix(".osm.pbf").unwrap_or(&name).to_string(), ..network })
}

/// Reads an extract called `name` in errors.
pub fn read(name: &str, source: impl Read + Seek) -> Result<Network, MapError> {
    let mut blobs = Blobs::new(name, source)?;
    let mut ways = Ways::new(blobs.length());
    blobs.for_each(|data| Block::read(data)?.for_each_way(|way| add_way(&mut ways, &way)))?;
    let mut points = Points::of(ways);
    blobs.for_each(|data| Block::read(data)?.for_each_node(|node| add_node(&mut points, &node)))?;
    drop(blobs);
    points.into_network(name, ATTRIBUTION)
}

fn add_way(ways: &mut Ways, way: &Way) -> Result<(), Broken> {
    let mut broken = Ok(());
    let tags = way.tags().map_while(|tag| tag.map_err(|error| broken = Err(error)).ok());
    let road = tags::road(tags);
    broken?;
    road.map_or(Ok(()), |road| ways.add(road, way.nodes()))
}

fn add_node(points: &mut Points, node: &Node) -> Result<(), Broken> {
    match (points.number(node.id), node.place) {
        (Some(number), Some(place)) => points.put(number, place, node.signal),
        (Some(_), None) => return Err(Broken::new(format_args!("node {} is nowhere on earth", node.id))),
        (None, _) => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests;
