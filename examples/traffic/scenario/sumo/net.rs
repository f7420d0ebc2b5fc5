//! Networks (`.net.xml`).

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::classes::{class, takes_cars};
use super::plans::{Connection, Parts, RightOfWay};
use super::programmes::Programmes;
use crate::map::{Control, LANE_FLOW, Link, MapError, SignalPlan};
use crate::model::{MOST_ROADS, takes_too_long};
use crate::scenario::roads::{Draft, Id, TAKES_TOO_LONG};
use crate::scenario::text::{finite, length, number, quote, speed};
use crate::scenario::xml::{Piece, Tag, Xml};

/// Reads the network at `path`, and programmes of signals from the additional files among
/// `others`.
pub fn read(path: &Path, others: &[PathBuf]) -> Result<Draft, MapError> {
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
            "request" => net.request(&tag)?,
            "roundabout" => net.roundabout(&tag)?,
            "tlLogic" => net.programmes.read(&tag, &mut xml)?,
            _ => {}
        }
    }
    net.programmes.read_files(others)?;
    net.finish()
}

#[derive(Default)]
struct Net {
    draft: Draft,
    /// The junctions that edges name before the file says where they are.
    is_placed: Vec<bool>,
    /// The lanes for cars of each link, as a mask.
    lanes: Vec<u32>,
    connections: Vec<Connection>,
    /// Ids of signals, with their numbers.
    signals: HashMap<String, u32>,
    programmes: Programmes,
    /// The junction that was read last, unless it is inside another.
    junction: Option<u32>,
    right_of_way: HashMap<u32, RightOfWay>,
    without_cars: u64,
}

/// What the lanes of an edge have in common.
#[derive(Default)]
struct Lanes {
    all: u32,
    for_cars: u32,
    /// Those for cars among the first ones, as a mask.
    mask: u32,
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
            if takes_too_long(&link) {
                return Err(tag.error(TAKES_TOO_LONG));
            }
            let is_new = self.draft.add_link(&id, link);
            self.lanes.resize(self.draft.links.len(), lanes.mask);
            is_new
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
        self.junction = None;
        if kind == "internal" {
            return Ok(());
        }
        let id = tag.text("id")?;
        let place = (tag.required("x", coordinate)?, tag.required("y", coordinate)?);
        let node = self.node(&id) as usize;
        if std::mem::replace(&mut self.is_placed[node], true) {
            return Err(tag.error(format_args!("a second junction {}", quote(&id))));
        }
        self.junction = Some(node as u32);
        self.draft.nodes[node] = place;
        if kind.starts_with("traffic_light") {
            self.draft.controls[node] = Control::Signals;
        }
        Ok(())
    }

    fn connection(&mut self, tag: &Tag) -> Result<(), MapError> {
        let (from, to) = (tag.text("from")?, tag.text("to")?);
        let (Id::Known(from), Id::Known(to)) = (self.draft.link_ids.get(&from), self.draft.link_ids.get(&to)) else {
            return Ok(());
        };
        let lane = tag.optional("fromLane", number::<u32>)?.unwrap_or(0).min(u32::BITS - 1);
        let mask = self.lanes[from as usize];
        let signal = match tag.get("tl")? {
            Some(id) => Some((self.signal(id), tag.required("linkIndex", number)?)),
            None => None,
        };
        let place = tag.get("via")?.and_then(|via| place(&via));
        let lane = (mask >> lane & 1 == 1).then(|| (mask & ((1 << lane) - 1)).count_ones());
        self.connections.push(Connection { from, to, lane, signal, place });
        Ok(())
    }

    /// The number of signals with an id.
    fn signal(&mut self, id: String) -> u32 {
        let next = self.signals.len() as u32;
        *self.signals.entry(id).or_insert(next)
    }

    /// Which connections another one of the same junction waits for.
    fn request(&mut self, tag: &Tag) -> Result<(), MapError> {
        if let Some(node) = self.junction {
            let request = (tag.required("index", number)?, tag.text("response")?);
            self.right_of_way.entry(node).or_default().push(request);
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
        self.draft.plans = self.plans()?;
        for plan in &self.draft.plans {
            self.draft.controls[plan.node as usize] = Control::Signals;
        }
        if self.without_cars > 0 {
            self.draft.unread.push(format!("{} edges without lanes for cars are left out", self.without_cars));
        }
        let adapted = self.programmes.all().filter(|programme| !programme.is_fixed).count();
        if adapted > 0 {
            let line =
                format!("{adapted} programmes of signals answer to traffic in SUMO: they run with their durations");
            self.draft.unread.push(line);
        }
        Ok(self.draft)
    }

    fn plans(&self) -> Result<Vec<SignalPlan>, MapError> {
        let mut ids = vec![String::new(); self.signals.len()];
        self.signals.iter().for_each(|(id, &number)| ids[number as usize].clone_from(id));
        let parts = Parts {
            file: &self.draft.name,
            links: &self.draft.links,
            connections: &self.connections,
            ids: &ids,
            programmes: &self.programmes,
            right_of_way: &self.right_of_way,
        };
        parts.plans()
    }

    /// The turns that no connection makes; none in a file without connections.
    fn bans(&self) -> Result<Vec<(u32, u32)>, MapError> {
        if self.connections.is_empty() {
            return Ok(Vec::new());
        }
        let mut joined: Vec<(u32, u32)> = self.connections.iter().map(|one| (one.from, one.to)).collect();
        joined.sort_unstable();
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
        Ok(turns.filter(|turn| joined.binary_search(turn).is_err()).collect())
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
                lane.positive("length")?;
                lane.positive("speed")?;
                if takes_cars(&lane)? {
                    // What only others use may be longer and faster than the model can hold.
                    let (length, speed) = (lane.required("length", length)?, lane.required("speed", speed)?);
                    lanes.for_cars += 1;
                    lanes.mask |= 1_u32.checked_shl(lanes.all - 1).unwrap_or(0);
                    lanes.length = lanes.length.max(length);
                    lanes.speed = lanes.speed.max(speed);
                }
            }
            _ => {}
        }
    }
    Ok(lanes)
}

/// The number in the right of way of its junction of the connection that runs along a lane in it:
/// the lane's id ends in the number of the first connection on its edge, and its own on that.
fn place(via: &str) -> Option<u32> {
    let mut numbers = via.rsplit('_').map(str::parse);
    let (lane, edge): (u32, u32) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    edge.checked_add(lane)
}

/// Metres, of which more than a billion are on no map.
fn coordinate(name: &str, text: &str) -> Result<f64, String> {
    let metres = finite(name, text)?;
    if metres.abs() <= 1e9 { Ok(metres) } else { Err(format!("{name} is too large, found {}", quote(text))) }
}

fn decimetres(metres: f64) -> u32 {
    ((metres * 10.0).round() as u32).max(1)
}

fn kmh(metres_a_second: f64) -> u16 {
    ((metres_a_second * 3.6).round() as u16).max(1)
}
