//! Orders as CSV (`at,order,where` and, for signals, `cycle,green,offset`): what a player would do,
//! for runs without a window.

use std::fmt;
use std::path::Path;

use csv::StringRecord;

use super::table::{Lines, whole};
use super::text::quote;
use super::time;
use crate::map::{MapError, Network};
use crate::model::{Order, Timing};

/// What can be ordered.
const KINDS: &str = "signals, add-signals, remove-signals, close, reopen or rush";

/// Where the columns are. Others are not read.
struct Columns {
    at: usize,
    order: usize,
    place: usize,
    /// Of the cycle, the main road's green and the offset.
    timing: [Option<usize>; 3],
    count: usize,
}

/// The orders of a file.
#[derive(Default)]
pub struct OrderFile {
    /// Each with the second in which it is given.
    pub orders: Vec<(u32, Order)>,
    /// Where each stands.
    lines: Vec<u64>,
    file: String,
}

impl OrderFile {
    /// Reads the orders at `path` for this network.
    pub fn read(path: &Path, network: &Network) -> Result<Self, MapError> {
        let mut lines = Lines::open(path)?;
        let header = lines.next()?.unwrap_or_default();
        let columns = Columns::of(&header).map_err(|problem| lines.error(problem))?;
        let mut all = Self { file: path.display().to_string(), ..Self::default() };
        while let Some(fields) = lines.next()? {
            let (at, order) = columns.order(&fields).map_err(|problem| lines.error(problem))?;
            // Which intersections have signals is known to the city alone.
            order.check(network, |_| true).map_err(|refusal| lines.error(refusal))?;
            all.orders.push((at, order));
            all.lines.push(lines.number());
        }
        Ok(all)
    }

    /// What a city says to one of the orders, by its place among them, or to one from elsewhere.
    pub fn error(&self, place: Option<usize>, refusal: impl fmt::Display) -> MapError {
        match place.and_then(|place| self.lines.get(place)) {
            Some(&line) => MapError::in_line(&self.file, line, refusal),
            None => MapError::new("orders", refusal),
        }
    }
}

impl Columns {
    fn of(header: &StringRecord) -> Result<Self, String> {
        let find = |name: &str| header.iter().position(|column| column.eq_ignore_ascii_case(name));
        let required = |name: &str| {
            let header = header.iter().collect::<Vec<_>>().join(",");
            find(name).ok_or_else(|| {
                format!("the columns should be at,order,where,cycle,green,offset, found {}", quote(&header))
            })
        };
        Ok(Self {
            at: required("at")?,
            order: required("order")?,
            place: required("where")?,
            timing: ["cycle", "green", "offset"].map(find),
            count: header.len(),
        })
    }

    fn order(&self, fields: &StringRecord) -> Result<(u32, Order), String> {
        if fields.len() != self.count {
            return Err(format!("{} fields, but {} columns", fields.len(), self.count));
        }
        let at = time::parse("at", &fields[self.at])?;
        let place = whole("where", &fields[self.place])?;
        let order = match &fields[self.order] {
            "signals" => Order::Signals { node: place, timing: self.timing(fields)? },
            "add-signals" => Order::Lights { node: place, up: true },
            "remove-signals" => Order::Lights { node: place, up: false },
            "close" => Order::Road { road: place, closed: true },
            "reopen" => Order::Road { road: place, closed: false },
            "rush" => Order::RushHour { node: place },
            other => return Err(format!("order should be {KINDS}, found {}", quote(other))),
        };
        Ok((at, order))
    }

    fn timing(&self, fields: &StringRecord) -> Result<Timing, String> {
        let [cycle, main_green, offset] = self.timing;
        let number = |what: &str, column: Option<usize>| {
            whole(what, column.ok_or_else(|| format!("signals need a column {what}")).map(|column| &fields[column])?)
        };
        Ok(Timing {
            cycle: number("cycle", cycle)?,
            main_green: number("green", main_green)?,
            offset: number("offset", offset)?,
        })
    }
}
