//! Networks (`network_v1`, `network_v2`).

use std::path::Path;

use crate::map::{Control, Link, MapError};
use crate::model::takes_too_long;
use crate::scenario::roads::{Draft, Id, TAKES_TOO_LONG};
use crate::scenario::text::{finite, length, quote, speed};
use crate::scenario::time;
use crate::scenario::xml::{Tag, Xml};

/// Seconds for which capacities count unless the file says otherwise.
const CAPACITY_PERIOD: u32 = 3_600;

/// Reads the network at `path`.
pub fn read(path: &Path) -> Result<Draft, MapError> {
    let mut xml = Xml::open(path)?;
    xml.root(&["network"])?;
    let mut draft = Draft { name: path.display().to_string(), ..Draft::default() };
    let (mut period, mut other_modes, mut clamped) = (CAPACITY_PERIOD, 0_u64, 0_u64);
    while let Some(tag) = xml.next_tag()? {
        match tag.name() {
            "node" => add_node(&mut draft, &tag)?,
            "links" => period = capacity_period(&tag)?,
            "link" if takes_cars(&tag)? => clamped += u64::from(add_link(&mut draft, &tag, period)?),
            "link" => {
                other_modes += 1;
                draft.link_ids.add(&tag.text("id")?, None);
            }
            _ => {}
        }
    }
    if other_modes > 0 {
        draft.unread.push(format!("{other_modes} links that are not for cars are left out"));
    }
    if clamped > 0 {
        draft
            .unread
            .push(format!("{clamped} links have more lanes or capacity, or a lower speed, than the model can hold"));
    }
    Ok(draft)
}

fn add_node(draft: &mut Draft, tag: &Tag) -> Result<(), MapError> {
    let id = tag.text("id")?;
    let (x, y) = (tag.required("x", coordinate)?, tag.required("y", coordinate)?);
    if draft.add_node(&id, (x, y), Control::Priority) {
        Ok(())
    } else {
        Err(tag.error(format_args!("a second node {}", quote(&id))))
    }
}

/// Metres, of which more than a billion are on no map.
pub fn coordinate(name: &str, text: &str) -> Result<f64, String> {
    let metres = finite(name, text)?;
    if metres.abs() <= 1e9 { Ok(metres) } else { Err(format!("{name} is too large, found {}", quote(text))) }
}

fn capacity_period(tag: &Tag) -> Result<u32, MapError> {
    let period = tag.optional("capperiod", time::parse)?.unwrap_or(CAPACITY_PERIOD);
    if period > 0 { Ok(period) } else { Err(tag.error("capperiod should be above 0")) }
}

fn takes_cars(tag: &Tag) -> Result<bool, MapError> {
    let modes = tag.get("modes")?;
    Ok(modes.is_none_or(|modes| modes.split(',').any(|mode| mode.trim() == "car")))
}

/// Returns whether a value was out of the model's range.
fn add_link(draft: &mut Draft, tag: &Tag, period: u32) -> Result<bool, MapError> {
    let id = tag.text("id")?;
    let (from, to) = (node(draft, tag, "from")?, node(draft, tag, "to")?);
    let metres = tag.required("length", length)?;
    let speed = tag.required("freespeed", speed)?;
    let an_hour = tag.positive("capacity")? * f64::from(CAPACITY_PERIOD) / f64::from(period);
    // Fractions of lanes occur on samples of a population. The capacity, given apart, stays exact.
    let lanes = tag.optional("permlanes", finite)?.unwrap_or(1.0).round().max(1.0);
    // Conversions of numbers that are too large end at the largest.
    let link = Link {
        length_dm: ((metres * 10.0).round() as u32).max(1),
        lanes: lanes as u8,
        speed_kmh: ((speed * 3.6).round() as u16).max(1),
        lane_flow: ((an_hour / f64::from(lanes as u8)).round() as u16).max(1),
        ..Link::new(from, to, 1, 1, 1)
    };
    if takes_too_long(&link) {
        return Err(tag.error(TAKES_TOO_LONG));
    }
    let flow = an_hour / f64::from(link.lanes);
    let clamped = lanes > 255.0 || speed * 3.6 < 0.5 || flow > 65_535.5;
    if draft.add_link(&id, link) { Ok(clamped) } else { Err(tag.error(format_args!("a second link {}", quote(&id)))) }
}

fn node(draft: &Draft, tag: &Tag, end: &str) -> Result<u32, MapError> {
    let id = tag.text(end)?;
    match draft.node_ids.get(&id) {
        Id::Known(node) => Ok(node),
        Id::LeftOut | Id::Unknown => Err(tag.error(format_args!("unknown node {}", quote(&id)))),
    }
}
