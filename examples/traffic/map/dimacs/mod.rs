//! Graphs of the 9th DIMACS challenge: `X.gr` holds the arcs, `X.co` beside it where the nodes are.
//!
//! Distances are decimetres. If the name contains `-d.` and the same name with `-t.` lies beside
//! it, then that one holds the same arcs with their travel times, and the ratio of the two tells
//! the class of each road.

mod records;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use self::records::Records;
use super::assemble::assemble;
use super::geo::{self, Place, Projection};
use super::{Class, Control, Link, MapError, Network, Node, driving_side, ending, junctions, lights};

/// Most nodes a file may announce: twice the road graph of the whole United States. It keeps a
/// broken count from asking for all memory.
const MAX_NODES: u32 = 50_000_000;

/// Coordinates are given in millionths of a degree.
const UNITS_PER_DEGREE: f64 = 1e6;

/// Lanes and free speed in km/h of a road whose class is not known.
const UNCLASSIFIED: (u8, u16) = (1, 50);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Arc {
    from: u32,
    to: u32,
    /// Decimetres, or travel time in units in which one decimetre of the fastest road takes 1.
    weight: u32,
}

struct Graph {
    nodes: u32,
    arcs: Vec<Arc>,
}

/// Reads the graph at `path`, its coordinates, and its travel times if there are any.
pub fn load(path: &Path) -> Result<Network, MapError> {
    let graph = read_graph(path)?;
    let classes = match travel_times(path) {
        Some(twin) => road_classes(path, &graph, &twin)?,
        None => vec![UNCLASSIFIED; graph.arcs.len()],
    };
    let places = read_coordinates(&coordinates(path)?, graph.nodes)?;
    let nodes = geo::project(&places).into_iter().map(|(x, y)| Node::new(x, y, Control::Priority)).collect();
    let middle = geo::middle_of(&places);
    drop(places);
    let (left_hand, globe) = (driving_side::is_left_hand(middle), Some(Projection::at(middle)));
    let link = |(arc, (lanes, speed_kmh)): (Arc, _)| Link {
        class: class(speed_kmh),
        ..Link::new(arc.from, arc.to, arc.weight, lanes, speed_kmh)
    };
    let links = graph.arcs.into_iter().zip(classes).map(link);
    let map = Network { left_hand, globe, ..Network::new(path.display().to_string(), nodes, links.collect()) };
    // Graphs do not say what is a roundabout.
    let rings = vec![false; map.links.len()];
    let mut network = assemble(junctions::merge(map, &rings, &[]).network)?;
    let lights = lights::note(lights::place(&mut network, lights::Known::Speeds));
    network.unread.extend(lights);
    Ok(Network { name: stem(path).to_string_lossy().into_owned(), ..network })
}

/// The graph says nothing of classes but how fast roads are.
fn class(speed_kmh: u16) -> Class {
    match speed_kmh {
        100.. => Class::Trunk,
        80.. => Class::Primary,
        60.. => Class::Secondary,
        _ => Class::Residential,
    }
}

/// The file's name without `.gr` or `.gr.gz`.
fn stem(path: &Path) -> &OsStr {
    let name = path.file_name().unwrap_or_default();
    ["gr.gz", "gr"].iter().find_map(|extensions| ending::without(name, extensions)).unwrap_or(name)
}

/// The file called `stem` and `ending` in the same folder, packed or not and in small letters or
/// capitals, if there is one.
fn beside(path: &Path, stem: &OsStr, ending: &str) -> Option<PathBuf> {
    let file = |ending: String| {
        let mut name = stem.to_owned();
        name.push(ending);
        path.with_file_name(name)
    };
    let small = [format!("{ending}.gz"), ending.to_owned()];
    let capitals = small.clone().map(|ending| ending.to_uppercase());
    small.into_iter().chain(capitals).map(file).find(|file| file.exists())
}

/// The file with the travel times, if `path` is one of distances and the other is there.
fn travel_times(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let twin = path.with_file_name(name.replacen("-d.", "-t.", 1));
    if twin == path { None } else { beside(path, stem(&twin), ".gr") }
}

/// The file with the coordinates of the graph at `path`.
fn coordinates(path: &Path) -> Result<PathBuf, MapError> {
    let stem = stem(path);
    beside(path, stem, ".co").ok_or_else(|| {
        let stem = stem.display();
        MapError::new(path.display(), format_args!("no coordinates: neither {stem}.co.gz nor {stem}.co lies beside it"))
    })
}

fn read_graph(path: &Path) -> Result<Graph, MapError> {
    let mut records = Records::open(path)?;
    let mut header = records.header("p sp")?;
    let nodes: u32 = header.number("the number of nodes")?;
    let promised: u64 = header.number("the number of arcs")?;
    if nodes > MAX_NODES {
        return Err(header.error(format_args!("{nodes} nodes are more than the {MAX_NODES} that are supported")));
    }
    let mut arcs = Vec::new();
    while let Some(mut record) = records.next()? {
        record.expect("a")?;
        if arcs.len() as u64 == promised {
            return Err(record.error(format_args!("more arcs than the {promised} that the `p` line promises")));
        }
        let (from, to) = (record.node(nodes)?, record.node(nodes)?);
        arcs.push(Arc { from, to, weight: record.number("the arc's length")? });
        record.end()?;
    }
    if arcs.len() as u64 != promised {
        return Err(records.error(format_args!("the `p` line promises {promised} arcs, found {}", arcs.len())));
    }
    Ok(Graph { nodes, arcs })
}

fn read_coordinates(path: &Path, nodes: u32) -> Result<Vec<Place>, MapError> {
    let mut records = Records::open(path)?;
    let most = records.most_nodes();
    let mut header = records.header("p aux sp co")?;
    let promised: u32 = header.number("the number of nodes")?;
    if promised != nodes {
        return Err(header.error(format_args!("coordinates for {promised} nodes, but the graph has {nodes}")));
    }
    // Before memory is taken for all of them.
    if u64::from(nodes) > most {
        return Err(header.error(format_args!("{nodes} nodes, but a file of this size can hold no more than {most}")));
    }
    let mut places = vec![None; nodes as usize];
    while let Some(mut record) = records.next()? {
        record.expect("v")?;
        let node = record.node(nodes)?;
        let (lon, lat) = (record.number("the longitude")?, record.number("the latitude")?);
        record.end()?;
        let place = place(lon, lat)
            .ok_or_else(|| record.error(format_args!("no place on earth: longitude {lon}, latitude {lat} / 1e6")))?;
        if places[node as usize].replace(place).is_some() {
            return Err(record.error(format_args!("node {} has coordinates already", node + 1)));
        }
    }
    places
        .into_iter()
        .enumerate()
        .map(|(node, place)| place.ok_or_else(|| records.error(format_args!("node {} has no coordinates", node + 1))))
        .collect()
}

fn place(lon: i32, lat: i32) -> Option<Place> {
    let degrees = |units: i32| f64::from(units) / UNITS_PER_DEGREE;
    Place::on_earth(degrees(lon), degrees(lat))
}

/// Lanes and speed of every arc, from the travel times in `twin`.
fn road_classes(path: &Path, graph: &Graph, twin: &Path) -> Result<Vec<(u8, u16)>, MapError> {
    let times = read_graph(twin)?.arcs;
    let wrong = |problem: String| MapError::new(twin.display(), format_args!("{problem} in {}", path.display()));
    if times.len() != graph.arcs.len() {
        return Err(wrong(format!("{} arcs, but {}", times.len(), graph.arcs.len())));
    }
    let pairs = graph.arcs.iter().zip(&times).enumerate();
    pairs
        .map(|(number, (arc, time))| {
            if (arc.from, arc.to) != (time.from, time.to) {
                let (a, b, c, d) = (time.from + 1, time.to + 1, arc.from + 1, arc.to + 1);
                return Err(wrong(format!("arc {} runs from {a} to {b}, but from {c} to {d}", number + 1)));
            }
            Ok(road_class(arc.weight, time.weight))
        })
        .collect()
}

/// Lanes and free speed in km/h. Time over distance is 1, 5/4, 5/3 or 5/2 for the classes A1 to A4;
/// the limits lie halfway between.
fn road_class(distance: u32, time: u32) -> (u8, u16) {
    let (distance, time) = (u64::from(distance), u64::from(time));
    if 8 * time < 9 * distance {
        (3, 100)
    } else if 24 * time < 35 * distance {
        (2, 80)
    } else if 12 * time < 25 * distance {
        (1, 60)
    } else {
        (1, 40)
    }
}

#[cfg(test)]
mod tests;
