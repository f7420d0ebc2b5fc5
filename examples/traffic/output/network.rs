//! `network.geojson`: nodes and links with their numbers, and their names where a scenario has
//! some.

use std::io::{self, Write};

use crate::map::geo::Place;
use crate::map::{Class, Control, Network};
use crate::scenario::Names;

pub fn write(network: &Network, names: Option<&(Names, Names)>, out: &mut impl Write) -> io::Result<()> {
    let name = serde_json::to_string(&network.name)?;
    writeln!(out, "{{\"type\":\"FeatureCollection\",\"name\":{name},")?;
    if network.globe.is_none() {
        // GeoJSON means degrees: who reads this should know better.
        writeln!(out, "\"note\":\"coordinates are metres east and north of the middle of the map\",")?;
    }
    if let Some(attribution) = &network.attribution {
        writeln!(out, "\"attribution\":{},", serde_json::to_string(attribution)?)?;
    }
    write!(out, "\"features\":[")?;
    let mut separator = "";
    for (number, node) in network.nodes.iter().enumerate() {
        let id = id(names.map(|names| &names.0), number)?;
        let (place, control) = (place(network, number), control(node.control));
        write!(
            out,
            "{separator}\n{{\"type\":\"Feature\",\"geometry\":{{\"type\":\"Point\",\"coordinates\":{place}}},"
        )?;
        let metres = metres(network, number);
        write!(out, "\"properties\":{{\"node\":{number},{id}{metres}\"control\":\"{control}\"}}}}")?;
        separator = ",";
    }
    for (number, link) in network.links.iter().enumerate() {
        let id = id(names.map(|names| &names.1), number)?;
        let (from, to) = (place(network, link.from as usize), place(network, link.to as usize));
        let (metres, class) = (f64::from(link.length_dm) / 10.0, class(link.class));
        let geometry = format!("{{\"type\":\"LineString\",\"coordinates\":[{from},{to}]}}");
        write!(
            out,
            "{separator}\n{{\"type\":\"Feature\",\"geometry\":{geometry},\"properties\":{{\"link\":{number},{id}"
        )?;
        write!(out, "\"from\":{},\"to\":{},\"metres\":{metres:.1},\"lanes\":{},", link.from, link.to, link.lanes)?;
        let (speed, flow) = (link.speed_kmh, link.lane_flow);
        write!(out, "\"speed_kmh\":{speed},\"lane_flow\":{flow},\"class\":\"{class}\"}}}}")?;
    }
    writeln!(out, "\n]}}")
}

/// Degrees to a centimetre; metres where the map has no degrees.
fn place(network: &Network, node: usize) -> String {
    let node = &network.nodes[node];
    match network.globe.map(|globe| globe.place(node.x, node.y)) {
        Some(Place { lon, lat }) => format!("[{lon:.7},{lat:.7}]"),
        None => format!("[{:.1},{:.1}]", node.x, node.y),
    }
}

/// Metres from the middle of the map, where the coordinates are degrees.
fn metres(network: &Network, node: usize) -> String {
    let node = &network.nodes[node];
    network.globe.map_or_else(String::new, |_| format!("\"x\":{:.1},\"y\":{:.1},", node.x, node.y))
}

fn id(names: Option<&Names>, number: usize) -> io::Result<String> {
    let Some(names) = names else { return Ok(String::new()) };
    Ok(format!("\"id\":{},", serde_json::to_string(&*names[number])?))
}

fn control(control: Control) -> &'static str {
    match control {
        Control::Priority => "priority",
        Control::Signals => "signals",
        Control::Roundabout => "roundabout",
    }
}

fn class(class: Class) -> &'static str {
    match class {
        Class::Access => "access",
        Class::Residential => "residential",
        Class::Tertiary => "tertiary",
        Class::Secondary => "secondary",
        Class::Primary => "primary",
        Class::Trunk => "trunk",
        Class::Motorway => "motorway",
    }
}
