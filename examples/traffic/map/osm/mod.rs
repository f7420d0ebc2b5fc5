//! OpenStreetMap extracts (`.osm.pbf`).
//!
//! The file is read twice: first the ways that cars may use, then the nodes that those ways name. Other nodes, which
//! are nearly all of a file, are never kept.

mod tags;
mod ways;

use std::fmt;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use osmpbf::{BlobDecode, BlobReader, ByteOffset, Element, PrimitiveBlock};

use self::ways::Ways;
use super::geo::Place;
use super::{MapError, Network};

const ATTRIBUTION: &str = "© OpenStreetMap contributors";

/// Reads the extract at `path`.
pub fn load(path: &Path) -> Result<Network, MapError> {
    let file = File::open(path).map_err(|error| MapError::cannot_open(path.display(), &error))?;
    let network = read(&path.display().to_string(), BufReader::new(file))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(Network { name: name.strip_suffix(".osm.pbf").unwrap_or(&name).to_string(), ..network })
}

/// Reads an extract called `name` in errors.
pub fn read(name: &str, mut source: impl Read + Seek + Send) -> Result<Network, MapError> {
    let length = source.seek(SeekFrom::End(0)).map_err(|error| MapError::new(name, error))?;
    source.rewind().map_err(|error| MapError::new(name, error))?;
    let mut blobs = Blobs { name, length, reader: BlobReader::new(source) };
    let mut ways = Ways::default();
    blobs.for_each_block(|block| block.for_each_element(|element| add_way(&mut ways, &element)))?;
    blobs.for_each_block(|block| block.for_each_element(|element| add_node(&mut ways, &element)))?;
    ways.into_network(name, ATTRIBUTION)
}

fn add_way(ways: &mut Ways, element: &Element) {
    if let Element::Way(way) = element
        && let Some(road) = tags::road(way.tags())
    {
        ways.add_way(road, way.refs());
    }
}

fn add_node(ways: &mut Ways, element: &Element) {
    let is_signal = |tag| tag == ("highway", "traffic_signals");
    match element {
        Element::Node(node) => {
            let place = Place { lon: node.lon(), lat: node.lat() };
            ways.add_node(node.id(), place, || node.tags().any(is_signal));
        }
        Element::DenseNode(node) => {
            let place = Place { lon: node.lon(), lat: node.lat() };
            ways.add_node(node.id(), place, || node.tags().any(is_signal));
        }
        Element::Way(_) | Element::Relation(_) => {}
    }
}

/// The blobs that a file is made of.
struct Blobs<'a, R: Read + Seek + Send> {
    name: &'a str,
    /// Bytes in the file.
    length: u64,
    reader: BlobReader<R>,
}

impl<R: Read + Seek + Send> Blobs<'_, R> {
    /// Goes through the blocks of data from the start of the file.
    fn for_each_block(&mut self, mut visit: impl FnMut(&PrimitiveBlock)) -> Result<(), MapError> {
        let mut at = 0;
        let mut header_seen = false;
        self.reader.seek(ByteOffset(at)).map_err(|error| self.broken(at, error))?;
        // The reader takes one to three stray bytes at the end for a proper end, so the length decides.
        while at < self.length {
            let blob = self.reader.next().ok_or_else(|| self.broken(at, "unexpected end"))?;
            let decoded = blob.as_ref().map_err(|error| self.broken(at, error))?.decode();
            match decoded.map_err(|error| self.broken(at, error))? {
                BlobDecode::OsmHeader(_) => header_seen = true,
                BlobDecode::OsmData(block) => visit(&block),
                BlobDecode::Unknown(_) => {}
            }
            at = self.reader.seek_raw(SeekFrom::Current(0)).map_err(|error| self.broken(at, error))?;
        }
        if !header_seen {
            return Err(MapError::new(self.name, "not an OpenStreetMap extract: it has no header"));
        }
        Ok(())
    }

    fn broken(&self, at: u64, problem: impl fmt::Display) -> MapError {
        MapError::at_byte(self.name, at, format_args!("broken or cut short: {problem}"))
    }
}

#[cfg(test)]
mod tests;
