//! OpenStreetMap extracts, in protocol buffers and in XML.
//!
//! The file is read twice: first the ways that cars may use and the turn restrictions, then the
//! nodes that those ways name. Other nodes, which are nearly all of a file, are never kept.
//!
//! The reader of protocol buffers is our own because a map may be hostile: decoded into structs
//! they take a hundred bytes for an empty element of two, which zlib packs a thousandfold. Here a
//! block is read in place, and whatever is kept is counted against the size of the file.

mod access;
mod blobs;
mod block;
mod driving;
#[cfg(feature = "game")]
mod land;
mod marks;
mod pbf;
mod restrictions;
mod segments;
mod speed;
mod tags;
mod turns;
mod unread;
mod ways;
mod wire;
mod xml;

use std::io::{BufRead, BufReader, Read, Seek};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use self::blobs::Blobs;
#[cfg(feature = "game")]
use self::land::{LandPlaces, LandSurvey};
use self::restrictions::{Members, RelationTags, Restriction, Restrictions};
use self::segments::Raw;
use self::tags::WayTags;
use self::turns::Forbidden;
use self::unread::{Kind, Tally};
use self::ways::{Points, Ways};
use self::wire::Broken;
use self::xml::Xml;
use super::assemble::assemble;
use super::geo::Projection;
#[cfg(feature = "game")]
use super::land::Land;
use super::{MapError, Network, driving_side, ending, junctions, lights, limits};

const ATTRIBUTION: &str = "© OpenStreetMap contributors";

/// Why roads are refused that say themselves where they run.
const NO_NODES: &str = "the nodes that its roads name are not in it: export those too, from Overpass by \
                        `(._;>;); out;` instead of `out geom;`, from osmium without `add-locations-to-ways`";

/// In degrees: the unit of coordinates.
const NANODEGREE: f64 = 1e-9;

/// A file of XML from its begin on.
type Opened = Result<Box<dyn BufRead>, MapError>;

/// A file with an extract, whatever its format.
trait Source {
    /// Bytes in the file.
    fn length(&self) -> u64;

    /// Reads ways and relations.
    fn survey(&mut self, survey: &mut Survey) -> Result<(), MapError>;

    /// Reads nodes.
    fn place(&mut self, points: &mut Points) -> Result<(), MapError>;

    /// The same of what lies around the roads.
    #[cfg(feature = "game")]
    fn survey_land(&mut self, survey: &mut LandSurvey) -> Result<(), MapError>;
    #[cfg(feature = "game")]
    fn place_land(&mut self, places: &mut LandPlaces) -> Result<(), MapError>;
}

/// What the tags of an element say: each is shown once, in any order.
trait Tags: Default {
    fn add(&mut self, key: &[u8], value: &[u8]);
}

/// What the first reading of a file brings.
struct Survey {
    ways: Ways,
    restrictions: Restrictions,
    tally: Tally,
}

/// Reads the extract of protocol buffers at `path`.
pub fn load_pbf(path: &Path) -> Result<Network, MapError> {
    let (file, _) = limits::open(path)?;
    named(path, read_pbf(&path.display().to_string(), BufReader::new(file))?)
}

/// Reads the extract in XML at `path`, packed with gzip if its name ends in `.gz`.
pub fn load_xml(path: &Path) -> Result<Network, MapError> {
    let name = path.display().to_string();
    named(path, read(&name, &mut xml(path, &name)?)?)
}

fn xml<'a>(path: &Path, name: &'a str) -> Result<Xml<'a, impl Fn() -> Opened>, MapError> {
    let is_packed = ending::is(path, "gz");
    let path = path.to_owned();
    let (_, length) = limits::open(&path)?;
    let open = move || -> Opened {
        let plain = BufReader::new(limits::open(&path)?.0);
        Ok(if is_packed { Box::new(BufReader::new(MultiGzDecoder::new(plain))) } else { Box::new(plain) })
    };
    Ok(Xml::new(name, length, open))
}

/// Reads what lies around the roads of an extract that `projection` has made flat.
#[cfg(feature = "game")]
pub fn load_land(path: &Path, projection: &Projection) -> Result<Land, MapError> {
    let name = path.display().to_string();
    if ending::is(path, "pbf") {
        return read_land(&name, BufReader::new(limits::open(path)?.0), projection);
    }
    land::read(&mut xml(path, &name)?, projection)
}

/// The same of protocol buffers.
#[cfg(feature = "game")]
pub fn read_land(name: &str, source: impl Read + Seek, projection: &Projection) -> Result<Land, MapError> {
    land::read(&mut Blobs::new(name, source)?, projection)
}

/// Reads an extract of protocol buffers called `name` in errors.
pub fn read_pbf(name: &str, source: impl Read + Seek) -> Result<Network, MapError> {
    read(name, &mut Blobs::new(name, source)?)
}

/// The network, called as the file without its ending.
fn named(path: &Path, network: Network) -> Result<Network, MapError> {
    let name = path.file_name().unwrap_or_default();
    let stem = ["osm.pbf", "osm.gz", "pbf", "osm"].iter().find_map(|extensions| ending::without(name, extensions));
    Ok(Network { name: stem.unwrap_or(name).to_string_lossy().into_owned(), ..network })
}

fn read(name: &str, source: &mut impl Source) -> Result<Network, MapError> {
    let (points, restrictions) = take_in(source)?;
    build(name, points, &restrictions)
}

fn take_in(source: &mut impl Source) -> Result<(Points, Vec<Restriction>), MapError> {
    let mut survey = Survey::new(source.length());
    source.survey(&mut survey)?;
    let Survey { mut ways, restrictions, mut tally } = survey;
    tally.add(Kind::RepeatedRoads, ways.dedup());
    let mut points = Points::of(ways);
    points.tally = tally;
    source.place(&mut points)?;
    Ok((points, restrictions.list))
}

/// From what the file says to a network.
fn build(name: &str, mut points: Points, restrictions: &[Restriction]) -> Result<Network, MapError> {
    let mut tally = std::mem::take(&mut points.tally);
    tally.add(Kind::MissingNodes, missing_nodes(name, &points)?);
    let left_hand = driving::votes(&points);
    let raw = Raw::new(points);
    let left_hand = left_hand.unwrap_or_else(|| driving_side::is_left_hand(raw.middle));
    let Forbidden { turns, paths } = Forbidden::of(&raw, restrictions, &mut tally);
    tally.add(Kind::FootLights, raw.foot_lights);
    let rings = raw.rings();
    let attribution = Some(ATTRIBUTION.into());
    let globe = Some(Projection::at(raw.middle));
    let bends = raw.bends;
    let map = Network { attribution, bans: turns, left_hand, globe, bends, ..Network::new(name, raw.nodes, raw.links) };
    let merged = junctions::merge(map, &rings, &paths);
    tally.add(Kind::LongTurns, merged.long_turns);
    tally.add(Kind::FootLights, merged.foot_lights);
    let mut network = assemble(Network { unread: tally.lines(), ..merged.network })?;
    let lights = lights::note(lights::place(&mut network, lights::Known::Classes));
    network.unread.extend(lights);
    Ok(network)
}

/// The most nodes of roads that may be missing for each one that is there: files without the nodes
/// of their roads still have those with tags, such as signals.
const MOST_MISSING: usize = 10;

/// How many of the nodes of roads are not in the file: a few, or the file is refused.
fn missing_nodes(name: &str, points: &Points) -> Result<usize, MapError> {
    let (missing, there) = points.missing();
    let are_lost = missing / MOST_MISSING > there || missing > 0 && points.runs().is_empty();
    if are_lost { Err(MapError::new(name, NO_NODES)) } else { Ok(missing) }
}

impl Survey {
    /// Of a file of so many bytes.
    fn new(file: u64) -> Self {
        Self { ways: Ways::new(file), restrictions: Restrictions::new(file), tally: Tally::default() }
    }

    fn add_way(
        &mut self,
        id: i64,
        tags: &WayTags,
        nodes: impl Iterator<Item = Result<i64, Broken>>,
    ) -> Result<(), Broken> {
        self.tally.add_all(tags.unread());
        tags.road().map_or(Ok(()), |road| self.ways.add(id, road, nodes))
    }

    fn add_relation(&mut self, tags: RelationTags, members: &Members) -> Result<(), Broken> {
        if let Some(kind) = self.restrictions.add(tags, members)? {
            self.tally.add(kind, 1);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
