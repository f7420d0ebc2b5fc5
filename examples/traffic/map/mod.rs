//! Road networks: OpenStreetMap extracts, DIMACS graphs, a generated city and the built-in Isle of
//! Man.
//!
//! Every source ends in [`assemble`](assemble::assemble), so that the simulation sees one shape of
//! network wherever it came from.

mod assemble;
mod bends;
pub mod city;
pub mod component;
mod dimacs;
mod driving_side;
pub mod ending;
mod error;
pub mod geo;
pub mod hilbert;
#[cfg(test)]
pub mod hostile;
mod junctions;
#[cfg(feature = "game")]
pub mod land;
mod lights;
pub mod limits;
mod osm;
mod signal_plan;

use std::io::Cursor;
use std::path::Path;

pub use assemble::{note_of_left_out, with_note};
pub use bends::{Bends, Shape};
pub use error::MapError;
use geo::Projection;
pub use signal_plan::{Green, Greens, LONGEST_CYCLE, Movement, SignalPlan};

/// A road network ready to simulate: one strongly connected component, nodes in space-filling
/// order, links sorted by (to, from). Several links may run between the same two nodes, the
/// shortest first; none returns to its own node.
#[derive(Clone, Debug)]
pub struct Network {
    pub name: String,
    /// What the map's licence asks to be shown beside it.
    pub attribution: Option<String>,
    pub nodes: Vec<Node>,
    pub links: Vec<Link>,
    /// Where on the globe the nodes are, if the map says that in degrees.
    pub globe: Option<Projection>,
    /// Forbidden turns: the number of a link and of one that follows it, sorted.
    pub bans: Vec<(u32, u32)>,
    /// Programmes of signals, by their nodes; other signals have the model's own.
    pub plans: Vec<SignalPlan>,
    /// Whether cars keep to the left.
    pub left_hand: bool,
    /// The lines of links that are not straight.
    pub bends: Bends,
    /// What the map says that the simulation does not know of, one line for each kind of thing.
    pub unread: Vec<String>,
}

impl Network {
    /// A network in which every turn may be made.
    pub fn new(name: impl Into<String>, nodes: Vec<Node>, links: Vec<Link>) -> Self {
        let (bans, plans, unread) = (Vec::new(), Vec::new(), Vec::new());
        let (attribution, globe, left_hand) = (None, None, false);
        let bends = Bends::default();
        Self { name: name.into(), attribution, nodes, links, globe, bans, plans, left_hand, bends, unread }
    }
}

/// An intersection, a dead end, or a point where a road changes its character.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Node {
    /// Metres east of the map's centre.
    pub x: f32,
    /// Metres north of the map's centre.
    pub y: f32,
    pub control: Control,
}

/// Who may drive first where roads meet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Control {
    /// The road of the higher class; where all are equal, the cars that cross take turns.
    #[default]
    Priority,
    /// Traffic lights.
    Signals,
    /// The cars that are in the ring.
    Roundabout,
}

impl Node {
    pub fn new(x: f32, y: f32, control: Control) -> Self {
        Self { x, y, control }
    }

    pub fn has_signals(&self) -> bool {
        self.control == Control::Signals
    }
}

/// One direction of a road between two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    pub from: u32,
    pub to: u32,
    /// Decimetres, at least 1.
    pub length_dm: u32,
    /// Lanes in this direction, at least 1.
    pub lanes: u8,
    /// Free speed in km/h, at least 1.
    pub speed_kmh: u16,
    /// Vehicles an hour that one lane passes while nothing stops it, at least 1.
    pub lane_flow: u16,
    pub class: Class,
    pub shape: Shape,
}

/// How important a road is: at crossings without signals the higher class drives first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Living streets, service roads and tracks.
    Access,
    #[default]
    Residential,
    Tertiary,
    Secondary,
    Primary,
    Trunk,
    Motorway,
}

/// Saturation flow of a lane in vehicles an hour of green, unless the map says otherwise.
pub const LANE_FLOW: u16 = 1_800;

impl Link {
    /// A road of which no more is known.
    pub fn new(from: u32, to: u32, length_dm: u32, lanes: u8, speed_kmh: u16) -> Self {
        let (lane_flow, class, shape) = (LANE_FLOW, Class::default(), Shape::STRAIGHT);
        Self { from, to, length_dm, lanes, speed_kmh, lane_flow, class, shape }
    }
}

/// The roads of the Isle of Man in 2020; `assets/maps/README.md` says where they come from.
const ISLE_OF_MAN: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/maps/isle-of-man.osm.pbf"));

/// The map that is compiled into the program.
pub fn isle_of_man() -> Result<Network, MapError> {
    osm::read_pbf("Isle of Man", Cursor::new(ISLE_OF_MAN))
}

/// What lies around the roads of the built-in map, which `projection` has made flat.
#[cfg(feature = "game")]
pub fn isle_of_mans_land(projection: &Projection) -> land::Land {
    osm::read_land("Isle of Man", Cursor::new(ISLE_OF_MAN), projection).unwrap_or_default()
}

/// What lies around the roads of a map file that was read as a network: nothing if it does not say,
/// or not any more.
#[cfg(feature = "game")]
pub fn land(path: &Path, projection: &Projection) -> land::Land {
    let is_extract = ["pbf", "osm", "osm.gz"].iter().any(|extensions| ending::is(path, extensions));
    is_extract.then(|| osm::load_land(path, projection).ok()).flatten().unwrap_or_default()
}

/// Reads a map file; the end of its name tells the format.
pub fn load(path: &Path) -> Result<Network, MapError> {
    let is = |endings: &[&str]| endings.iter().any(|extensions| ending::is(path, extensions));
    if is(&["pbf"]) {
        osm::load_pbf(path)
    } else if is(&["osm", "osm.gz"]) {
        osm::load_xml(path)
    } else if is(&["gr", "gr.gz"]) {
        dimacs::load(path)
    } else if is(&["osm.bz2"]) {
        Err(MapError::new(path.display(), "packed with bzip2, which is not read: unpack it, or pack it with gzip"))
    } else {
        Err(MapError::new(path.display(), format_args!("not a map format: the name should end in {ENDINGS}")))
    }
}

/// Of the maps that are read.
const ENDINGS: &str = ".pbf, .osm, .osm.gz, .gr or .gr.gz";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_map_is_near_its_published_size() {
        let map = isle_of_man().unwrap();
        // The extract holds 5,499 nodes on 12,047 links that can be driven to and back. A fourth of
        // the nodes lie within 20 m of another or on a roundabout, and are one junction with it.
        assert!((4_100..=4_300).contains(&map.nodes.len()), "{} nodes", map.nodes.len());
        assert!((9_400..=9_700).contains(&map.links.len()), "{} links", map.links.len());
        // 30 signals, of which some share a junction and some are for people on foot.
        let control = |control| map.nodes.iter().filter(|node| node.control == control).count();
        assert!((20..=30).contains(&control(Control::Signals)), "{} signals", control(Control::Signals));
        assert!((45..=60).contains(&control(Control::Roundabout)), "{}", control(Control::Roundabout));
        assert!(map.left_hand);
        assert!(map.attribution.is_some());
        let globe = map.globe.unwrap();
        let on_the_island = |place: geo::Place| (-4.9..-4.2).contains(&place.lon) && (54.0..54.5).contains(&place.lat);
        assert!(map.nodes.iter().all(|node| on_the_island(globe.place(node.x, node.y))));
    }

    #[test]
    fn a_missing_file_is_named() {
        for name in ["nowhere/a.osm.pbf", "nowhere/a.osm", "nowhere/a.osm.gz", "nowhere/a.gr", "nowhere/a.gr.gz"] {
            let error = load(Path::new(name)).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{name}: cannot open")), "{error}");
        }
    }

    #[test]
    fn an_unknown_ending_lists_the_known_ones() {
        let error = load(Path::new("a.xml")).unwrap_err().to_string();
        assert_eq!(error, "a.xml: not a map format: the name should end in .pbf, .osm, .osm.gz, .gr or .gr.gz");
        let error = load(Path::new("a.osm.bz2")).unwrap_err().to_string();
        assert!(error.starts_with("a.osm.bz2: packed with bzip2, which is not read"), "{error}");
    }
}
