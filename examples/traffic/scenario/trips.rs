//! Trips as CSV (`depart,from,to` and, if one car makes several trips, `traveller`), by the node
//! numbers of `network.geojson`.

use std::collections::BTreeMap;
use std::path::Path;

use csv::{ErrorKind, Reader, ReaderBuilder, StringRecord, Trim};

use super::request::{Demand, Journey, Requests};
use super::text::{Bounded, quote, read_problem};
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
}

/// Reads the trips at `path` for this network.
pub fn read(path: &Path, network: &Network) -> Result<Demand, MapError> {
    let file = path.display().to_string();
    let mut reader = ReaderBuilder::new().trim(Trim::All).comment(Some(b'#')).from_reader(Bounded::open(path)?);
    let columns = columns(&file, &mut reader)?;
    // Trips of one traveller need not lie together; travellers without numbers come first.
    let mut travellers: BTreeMap<Option<u32>, Vec<Journey>> = BTreeMap::new();
    let mut record = StringRecord::new();
    while next(&file, &mut reader, &mut record)? {
        let wrong = |problem| MapError::in_line(&file, line(&record), problem);
        let traveller = columns.traveller.map(|column| whole("traveller", &record[column], u32::MAX)).transpose();
        let journey = journey(&record, &columns, network.nodes.len() as u32).map_err(wrong)?;
        travellers.entry(traveller.map_err(wrong)?).or_default().push(journey);
    }
    demand(network, travellers).finish(path)
}

fn demand(network: &Network, travellers: BTreeMap<Option<u32>, Vec<Journey>>) -> Requests<'_> {
    let mut requests = Requests::new(network);
    for (traveller, mut journeys) in travellers {
        journeys.sort_by_key(|journey| journey.depart);
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

fn columns(file: &str, reader: &mut Reader<Bounded>) -> Result<Columns, MapError> {
    reader.get_mut().begin_piece();
    let header = reader.headers().map_err(|error| problem(file, &error))?;
    let find = |name: &str| header.iter().position(|column| column.eq_ignore_ascii_case(name));
    let required = |name: &str| {
        let header = header.iter().collect::<Vec<_>>().join(",");
        find(name).ok_or_else(|| {
            let missing = format!("the columns should be depart,from,to, found {}", quote(&header));
            MapError::in_line(file, 1, missing)
        })
    };
    Ok(Columns {
        depart: required("depart")?,
        from: required("from")?,
        to: required("to")?,
        traveller: TRAVELLER.iter().find_map(|name| find(name)),
    })
}

fn next(file: &str, reader: &mut Reader<Bounded>, record: &mut StringRecord) -> Result<bool, MapError> {
    reader.get_mut().begin_piece();
    reader.read_record(record).map_err(|error| problem(file, &error))
}

fn line(record: &StringRecord) -> u64 {
    record.position().map_or(0, csv::Position::line)
}

fn journey(record: &StringRecord, columns: &Columns, nodes: u32) -> Result<Journey, String> {
    let node = |what, column| {
        let number = whole(what, &record[column], u32::MAX)?;
        let unknown = || format!("unknown node {number}: the nodes are 0 to {}", nodes - 1);
        Some(number).filter(|&number| number < nodes).ok_or_else(unknown)
    };
    let depart = time::parse("depart", &record[columns.depart])?;
    Ok(Journey { depart, from: node("from", columns.from)?, to: node("to", columns.to)? })
}

fn whole(what: &str, text: &str, most: u32) -> Result<u32, String> {
    let number = text.parse().ok().filter(|&number| number <= most);
    number.ok_or_else(|| format!("{what} should be a whole number, found {}", quote(text)))
}

fn problem(file: &str, error: &csv::Error) -> MapError {
    let line = error.position().map(csv::Position::line);
    let problem = match error.kind() {
        ErrorKind::Io(error) => read_problem(error),
        ErrorKind::Utf8 { .. } => "not UTF-8 text".into(),
        ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("{len} fields, but {expected_len} in the lines before")
        }
        _ => error.to_string(),
    };
    match line {
        Some(line) => MapError::in_line(file, line, problem),
        None => MapError::new(file, problem),
    }
}
