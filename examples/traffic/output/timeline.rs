//! `timeline.csv`: a row for every minute, with counts since the start.

use std::io::Write;
use std::path::Path;

use super::file::Draft;
use crate::model::{PARTS, Totals};

pub struct Timeline {
    draft: Draft,
    arrived: u64,
    decimetres: u64,
    parts: u64,
}

/// What has happened in a minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Minute {
    pub arrived: u64,
    /// Driven to the ends of links, and the time spent on them, in 1 / [`PARTS`] of a second.
    pub decimetres: u64,
    pub parts: u64,
}

impl Minute {
    pub fn speed_kmh(&self) -> Option<f64> {
        let seconds = self.parts as f64 / f64::from(PARTS);
        (self.parts > 0).then(|| self.decimetres as f64 / seconds * 0.36)
    }
}

impl Timeline {
    pub fn create(folder: &Path) -> Result<Self, String> {
        let mut draft = Draft::create(folder, "timeline.csv")?;
        draft.write(|out| writeln!(out, "second,on_road,waiting,arrived,stuck,pushed,mean_speed_kmh"))?;
        Ok(Self { draft, arrived: 0, decimetres: 0, parts: 0 })
    }

    /// Adds a row. The distance and the time are those of all cars that have left a link since the
    /// start; the speed in the row is that of the last minute.
    pub fn add(&mut self, now: u32, totals: &Totals, decimetres: u64, parts: u64) -> Result<Minute, String> {
        let arrived = totals.trips_arrived;
        let minute = Minute {
            arrived: arrived - self.arrived,
            decimetres: decimetres.saturating_sub(self.decimetres),
            parts: parts.saturating_sub(self.parts),
        };
        (self.arrived, self.decimetres, self.parts) = (arrived, decimetres, parts);
        let Totals { on_road, waiting, trips_stuck: stuck, pushed, .. } = totals;
        let speed = minute.speed_kmh().map(|speed| format!("{speed:.1}")).unwrap_or_default();
        self.draft.write(|out| writeln!(out, "{now},{on_road},{waiting},{arrived},{stuck},{pushed},{speed}"))?;
        Ok(minute)
    }

    pub fn into_draft(self) -> Draft {
        self.draft
    }
}
