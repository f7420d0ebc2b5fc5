//! What a run leaves behind: every trip, links by quarter hour, a row for every minute, the network
//! and plots.
//!
//! Files are written as the city runs, so that a long day takes no more memory than a short one,
//! and get their names when the run is over. They are the same whatever runs the simulation.

mod file;
mod fundamental;
mod links;
mod network;
mod passage;
mod series;
mod svg;
#[cfg(test)]
mod tests;
mod timeline;
mod trips;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::map::Network;
use crate::measure::Simulation;
use crate::model::{EndedTrip, LinkState, Totals};
use crate::scenario::Names;
use file::Draft;
use fundamental::Fundamental;
use links::Links;
use series::Series;
use timeline::Timeline;
use trips::Trips;

/// The files of a run.
const NAMES: [&str; 6] = ["trips.csv", "links.csv", "timeline.csv", "network.geojson", "day.svg", "fundamental.svg"];

/// Refuses a folder in which a run would write over one of its own `inputs`.
pub fn spare<'a>(folder: &Path, inputs: impl IntoIterator<Item = &'a PathBuf>) -> Result<(), String> {
    // A file that is not there is not written over; reading it says so.
    let written: Vec<PathBuf> =
        NAMES.iter().flat_map(|name| Draft::paths(folder, name)).filter_map(|path| path.canonicalize().ok()).collect();
    let is_written = |input: &&PathBuf| input.canonicalize().is_ok_and(|input| written.contains(&input));
    match inputs.into_iter().find(is_written) {
        Some(input) => Err(format!("{}: --out would write over it: name another folder", input.display())),
        None => Ok(()),
    }
}

/// Seconds between two rows of the timeline.
const MINUTE: u32 = 60;

/// Seconds for which links are counted.
pub const QUARTER: u32 = 900;

/// What is looked at after each step.
pub trait Source {
    fn take_ended(&mut self) -> Vec<EndedTrip>;
    fn totals(&mut self) -> Totals;
    fn links(&mut self, visit: &mut dyn FnMut(u32, LinkState));
}

impl Source for dyn Simulation + '_ {
    fn take_ended(&mut self) -> Vec<EndedTrip> {
        Simulation::take_ended(self)
    }

    fn totals(&mut self) -> Totals {
        Simulation::totals(self)
    }

    fn links(&mut self, visit: &mut dyn FnMut(u32, LinkState)) {
        Simulation::links(self, visit);
    }
}

/// The files of a run that is going on.
pub struct Output {
    network: Draft,
    /// Steps so far.
    now: u32,
    /// Decimetres of every link.
    lengths: Vec<u32>,
    trips: Trips,
    timeline: Timeline,
    links: Links,
    series: Series,
    fundamental: Fundamental,
    /// For the plots of these two: a name that cannot be written is told before the first step.
    plots: [Draft; 2],
}

impl Output {
    /// Makes the folder, writes the network and begins the other files.
    pub fn create(folder: &Path, network: &Network, names: Option<&(Names, Names)>) -> Result<Self, String> {
        fs::create_dir_all(folder).map_err(|error| format!("{}: cannot make the folder: {error}", folder.display()))?;
        // Whole before the first step, and so the first that a full disk refuses. It gets its name
        // with the others: numbers of its nodes stand in all of them.
        let mut draft = Draft::create(folder, "network.geojson")?;
        draft.write(|out| network::write(network, names, out).and_then(|()| out.flush()))?;
        Ok(Self {
            network: draft,
            now: 0,
            lengths: network.links.iter().map(|link| link.length_dm).collect(),
            trips: Trips::create(folder)?,
            timeline: Timeline::create(folder)?,
            links: Links::create(folder, network)?,
            series: Series::default(),
            fundamental: Fundamental::default(),
            plots: [Draft::create(folder, "day.svg")?, Draft::create(folder, "fundamental.svg")?],
        })
    }

    /// A second has been simulated.
    pub fn note_step<S: Source + ?Sized>(&mut self, source: &mut S) -> Result<(), String> {
        self.now += 1;
        self.trips.add(source.take_ended())?;
        if self.now.is_multiple_of(MINUTE) {
            self.note_minute(source)?;
        }
        if self.now.is_multiple_of(QUARTER) {
            self.links.end_quarter(self.now, source, &mut self.fundamental)?;
        }
        Ok(())
    }

    fn note_minute<S: Source + ?Sized>(&mut self, source: &mut S) -> Result<(), String> {
        let (mut decimetres, mut parts) = (0, 0);
        source.links(&mut |link, state| {
            decimetres += state.left * u64::from(self.lengths[link as usize]);
            parts += state.parts_spent;
        });
        let minute = self.timeline.add(self.now, &source.totals(), decimetres, parts)?;
        self.series.add(self.now, &minute);
        Ok(())
    }

    /// Writes what has happened since the last full minute and quarter hour, and the plots; gives
    /// all files their names.
    pub fn finish<S: Source + ?Sized>(mut self, source: &mut S) -> Result<(), String> {
        if !self.now.is_multiple_of(MINUTE) {
            self.note_minute(source)?;
        }
        if !self.now.is_multiple_of(QUARTER) {
            self.links.end_quarter(self.now, source, &mut self.fundamental)?;
        }
        for (draft, plot) in self.plots.iter_mut().zip([self.series.plot(), self.fundamental.plot()]) {
            draft.write(|out| out.write_all(plot.as_bytes()))?;
        }
        let tables = [self.trips.into_draft(), self.timeline.into_draft(), self.links.into_draft()];
        file::finish(tables.into_iter().chain(self.plots).chain([self.network]).collect())
    }
}
