//! Trips as CSV (`depart,from,to` and, if one car makes several trips, `traveller`), by the node
//! numbers of `network.geojson`.

use std::collections::BTreeMap;
use std::path::Path;

use csv::StringRecord;

use super::request::{Demand, Journey, Requests};
use super::table::{Lines, whole};
use super::text::quote;
use super::time;
use crate::map::{MapError, Network};

/// Names of the column that tells travellers apart: ours, and the one of the trips that a run
/// writes.
const TRAVELLER: [&str; 2] = ["traveller", "car"];

/// Where the columns are. Others are not read, so that the trips of a run can be run again.
struct Columns {
    depart: usize,
    from: usize,
    to: usize,
    traveller: Option<usize>,
    count: usize,
}

/// Reads the trips at `path` for this network.
pub fn read(path: &Path, network: &Network) -> Result<Demand, MapError> {
    let mut lines = Lines::open(path)?;
    let header = lines.next()?.unwrap_or_default();
    let columns = Columns::of(&header).map_err(|problem| lines.error(problem))?;
    // Trips of one traveller need not lie together; those of nobody in particular come first.
    let mut travellers: BTreeMap<Option<u32>, Vec<Journey>> = BTreeMap::new();
    while let Some(fields) = lines.next()? {
        let (traveller, journey) =
            columns.journey(&fields, network.nodes.len() as u32).map_err(|problem| lines.error(problem))?;
        travellers.entry(traveller).or_default().push(journey);
    }
    demand(network, travellers).finish(path)
}

fn demand(network: &Network, travellers: BTreeMap<Option<u32>, Vec<Journey>>) -> Requests<'_> {
    let mut requests = Requests::new(network);
    for (traveller, mut journeys) in travellers {
        if traveller.is_some() {
            journeys.sort_by_key(|journey| journey.depart);
        }
        for journey in journeys {
            requests.add(journey);
            if traveller.is_none() {
                requests.next_traveller();
            }
        }
        requests.next_traveller();
    }
    requests
}

impl Columns {
    fn of(header: &StringRecord) -> Result<Self, String> {
        let find = |name: &str| header.iter().position(|column| column.eq_ignore_ascii_case(name));
        let required = |name: &str| {
            let header = header.iter().collect::<Vec<_>>().join(",");
            find(name).ok_or_else(|| format!("the columns should be depart,from,to, found {}", quote(&header)))
        };
        Ok(Self {
            depart: required("depart")?,
            from: required("from")?,
            to: required("to")?,
            traveller: TRAVELLER.iter().find_map(|name| find(name)),
            count: header.len(),
        })
    }

    /// Who travels, if it is told, and how.
    fn journey(&self, fields: &StringRecord, nodes: u32) -> Result<(Option<u32>, Journey), String> {
        if fields.len() != self.count {
            return Err(format!("{} fields, but {} columns", fields.len(), self.count));
        }
        let node = |what, column| {
            let number = whole(what, &fields[column])?;
            let unknown = || format!("unknown node {number}: the nodes are 0 to {}", nodes - 1);
            Some(number).filter(|&number| number < nodes).ok_or_else(unknown)
        };
        let traveller = self.traveller.map(|column| whole("traveller", &fields[column])).transpose()?;
        let depart = time::parse("depart", &fields[self.depart])?;
        Ok((traveller, Journey { depart, from: node("from", self.from)?, to: node("to", self.to)? }))
    }
}
