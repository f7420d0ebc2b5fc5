//! Networks (`.net.xml`).

use std::path::Path;

use super::classes::{class, takes_cars};
use crate::map::{Control, LANE_FLOW, Link, MapError};
use crate::model::MOST_ROADS;
use crate::scenario::roads::{Draft, Id};
use crate::scenario::text::{finite, number, quote};
use crate::scenario::xml::{Piece, Tag, Xml};

/// Reads the network at `path`.
pub fn read(path: &Path) -> Result<Draft, MapError> {
    let mut xml = Xml::open(path)?;
    let root = xml.root(&["net"])?;
    let left_hand = root.get("lefthand")?.is_some_and(|value| value == "true" || value == "1");
    let draft = Draft { name: path.display().to_string(), left_hand, ..Draft::default() };
    let mut net = Net { draft, ..Net::default() };
    while let Some(tag) = xml.next_tag()? {
        match tag.name() {
            "edge" => net.edge(&tag, &mut xml)?,
            "junction" => net.junction(&tag)?,
            "connection" => net.connection(&tag)?,
            "roundabout" => net.roundabout(&tag)?,
            "tlLogic" => net.programmes += 1,
            _ => {}
        }
    }
    net.finish()
}

#[derive(Default)]
struct Net {
    draft: Draft,
    /// The junctions that edges name before the file says where they are.
    is_placed: Vec<bool>,
    /// The edges that a junction joins.
    connections: Vec<(u32, u32)>,
    without_cars: u64,
    programmes: u64,
}

/// What the lanes of an edge have in common.
#[derive(Default)]
struct Lanes {
    all: u32,
    for_cars: u32,
    /// Metres, and metres a second.
    length: f64,
    speed: f64,
}

impl Net {
    fn edge(&mut self, tag: &Tag, xml: &mut Xml) -> Result<(), MapError> {
        if tag.get("function")?.is_some_and(|function| function != "normal" && function != "connector") {
            return Ok(());
        }
        let id = tag.text("id")?;
        let (from, to) = (self.node(&tag.text("from")?), self.node(&tag.text("to")?));
        let kind = tag.get("type")?;
        let priority = tag.optional("priority", number)?.unwrap_or(-1);
        let lanes = lanes(xml)?;
        if lanes.all == 0 {
            return Err(tag.error(format_args!("edge {} has no lanes", quote(&id))));
        }
        let is_new = if lanes.for_cars == 0 {
            self.without_cars += 1;
            self.draft.link_ids.add(&id, None)
        } else {
            let link = Link {
                lane_flow: LANE_FLOW,
                class: class(kind.as_deref(), priority),
                ..Link::new(from, to, decimetres(lanes.length), lanes.for_cars.min(255) as u8, kmh(lanes.speed))
            };
            self.draft.add_link(&id, link)
        };
        if is_new { Ok(()) } else { Err(tag.error(format_args!("a second edge {}", quote(&id)))) }
    }

    /// The number of a junction, which the file may describe later.
    fn node(&mut self, id: &str) -> u32 {
        if let Id::Known(node) = self.draft.node_ids.get(id) {
            return node;
        }
        self.draft.add_node(id, (0.0, 0.0), Control::Priority);
        self.is_placed.push(false);
        self.is_placed.len() as u32 - 1
    }

    fn junction(&mut self, tag: &Tag) -> Result<(), MapError> {
        let kind = tag.get("type")?.unwrap_or_default();
        if kind == "internal" {
            return Ok(());
        }
        let id = tag.text("id")?;
        let place = (tag.required("x", coordinate)?, tag.required("y", coordinate)?);
        let node = self.node(&id) as usize;
        if std::mem::replace(&mut self.is_placed[node], true) {
            return Err(tag.error(format_args!("a second junction {}", quote(&id))));
        }
        self.draft.nodes[node] = place;
        if kind.starts_with("traffic_light") {
            self.draft.controls[node] = Control::Signals;
        }
        Ok(())
    }

    fn connection(&mut self, tag: &Tag) -> Result<(), MapError> {
        let (from, to) = (tag.text("from")?, tag.text("to")?);
        if let (Id::Known(from), Id::Known(to)) = (self.draft.link_ids.get(&from), self.draft.link_ids.get(&to)) {
            self.connections.push((from, to));
        }
        Ok(())
    }

    /// Signals at a roundabout stay signals.
    fn roundabout(&mut self, tag: &Tag) -> Result<(), MapError> {
        for id in tag.text("nodes")?.split_ascii_whitespace() {
            let Id::Known(node) = self.draft.node_ids.get(id) else {
                return Err(tag.error(format_args!("unknown junction {}", quote(id))));
            };
            let control = &mut self.draft.controls[node as usize];
            if *control == Control::Priority {
                *control = Control::Roundabout;
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Draft, MapError> {
        let file = self.draft.name.clone();
        if let Some(node) = self.is_placed.iter().position(|is_placed| !is_placed) {
            let name = self.draft.node_ids.name(node as u32);
            return Err(MapError::new(file, format_args!("edges at junction {}, which is not there", quote(&name))));
        }
        self.draft.bans = self.bans()?;
        if self.without_cars > 0 {
            self.draft.unread.push(format!("{} edges without lanes for cars are left out", self.without_cars));
        }
        if self.programmes > 0 {
            let line = format!("{} programmes of signals are not read: the model has its own", self.programmes);
            self.draft.unread.push(line);
        }
        Ok(self.draft)
    }

    /// The turns that no connection makes; none in a file without connections.
    fn bans(&mut self) -> Result<Vec<(u32, u32)>, MapError> {
        if self.connections.is_empty() {
            return Ok(Vec::new());
        }
        self.connections.sort_unstable();
        let links = &self.draft.links;
        let mut ends = vec![(Vec::new(), Vec::new()); self.draft.nodes.len()];
        for (number, link) in (0_u32..).zip(links) {
            ends[link.to as usize].0.push(number);
            ends[link.from as usize].1.push(number);
        }
        // Before their product takes memory.
        if let Some(node) = ends.iter().position(|(into, out)| into.len().max(out.len()) > usize::from(MOST_ROADS)) {
            let name = quote(&self.draft.node_ids.name(node as u32));
            let problem = format!("junction {name} has more than the {MOST_ROADS} edges that are supported");
            return Err(MapError::new(&self.draft.name, problem));
        }
        let turns =
            ends.iter().flat_map(|(into, out)| into.iter().flat_map(|&from| out.iter().map(move |&to| (from, to))));
        Ok(turns.filter(|turn| self.connections.binary_search(turn).is_err()).collect())
    }
}

/// Reads up to the end of an edge.
fn lanes(xml: &mut Xml) -> Result<Lanes, MapError> {
    let mut lanes = Lanes::default();
    while let Some(piece) = xml.next()? {
        match piece {
            Piece::Close(name) if name == "edge" => break,
            Piece::Open(lane) if lane.name() == "lane" => {
                lanes.all += 1;
                let (length, speed) = (lane.positive("length")?, lane.positive("speed")?);
                if takes_cars(&lane)? {
                    lanes.for_cars += 1;
                    lanes.length = lanes.length.max(length);
                    lanes.speed = lanes.speed.max(speed);
                }
            }
            _ => {}
        }
    }
    Ok(lanes)
}

/// Metres, of which more than a billion are on no map.
fn coordinate(name: &str, text: &str) -> Result<f64, String> {
    let metres = finite(name, text)?;
    if metres.abs() <= 1e9 { Ok(metres) } else { Err(format!("{name} is too large, found {}", quote(text))) }
}

/// Numbers that are too large end at the largest.
fn decimetres(metres: f64) -> u32 {
    ((metres * 10.0).round() as u32).max(1)
}

fn kmh(metres_a_second: f64) -> u16 {
    ((metres_a_second * 3.6).round() as u16).max(1)
}
