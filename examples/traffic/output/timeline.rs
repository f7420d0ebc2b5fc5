//! `timeline.csv`: a row for every minute, with counts since the start.

use std::io::Write;
use std::path::Path;

use super::file::Draft;
use crate::model::Totals;

pub struct Timeline {
    draft: Draft,
    arrived: u64,
    decimetres: u64,
    seconds: u64,
}

/// What has happened in a minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Minute {
    pub arrived: u64,
    /// Driven to the ends of links, and the seconds spent on them.
    pub decimetres: u64,
    pub seconds: u64,
}

impl Minute {
    pub fn speed_kmh(&self) -> Option<f64> {
        (self.seconds > 0).then(|| self.decimetres as f64 / self.seconds as f64 * 0.36)
    }
}

impl Timeline {
    pub fn create(folder: &Path) -> Result<Self, String> {
        let mut draft = Draft::create(folder, "timeline.csv")?;
        draft.write(|out| writeln!(out, "second,on_road,waiting,arrived,stuck,pushed,mean_speed_kmh"))?;
        Ok(Self { draft, arrived: 0, decimetres: 0, seconds: 0 })
    }

    /// Adds a row. The distance and the time are those of all cars that have left a link since the
    /// start; the speed in the row is that of the last minute.
    pub fn add(&mut self, now: u32, totals: &Totals, decimetres: u64, seconds: u64) -> Result<Minute, String> {
        let arrived = totals.trips_arrived;
        let minute = Minute {
            arrived: arrived - self.arrived,
            decimetres: decimetres.saturating_sub(self.decimetres),
            seconds: seconds.saturating_sub(self.seconds),
        };
        (self.arrived, self.decimetres, self.seconds) = (arrived, decimetres, seconds);
        let Totals { on_road, waiting, trips_stuck: stuck, pushed, .. } = totals;
        let speed = minute.speed_kmh().map(|speed| format!("{speed:.1}")).unwrap_or_default();
        self.draft.write(|out| writeln!(out, "{now},{on_road},{waiting},{arrived},{stuck},{pushed},{speed}"))?;
        Ok(minute)
    }

    pub fn finish(self) -> Result<(), String> {
        self.draft.finish()
    }
}
