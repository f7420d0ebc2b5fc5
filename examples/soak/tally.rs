//! What was done so far.

use crate::{program::Log, twins::Frame};

/// Counts of one thread, or of all.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub frames: u64,
    pub lives: u64,
    pub rows: u64,
    pub results: u64,
    pub changes: u64,
    pub settings: u64,
    pub modes: u64,
    pub pauses: u64,
    pub inner_apps: u64,
    pub caught: u64,
    pub ended: u64,
    pub shared_rows: u64,
}

impl Tally {
    /// A frame in which so many rows were compared, and these results.
    pub fn count(&mut self, frame: &Frame, rows: u64, log: &Log) {
        let of = |is: fn(&str, u64) -> bool| log.0.iter().filter(|&&(what, value)| is(what, value)).count() as u64;
        self.frames += 1;
        self.rows += rows;
        self.results += log.0.len() as u64;
        self.changes += frame.changes.len() as u64;
        self.settings += u64::from(frame.settings.is_some());
        self.modes += u64::from(frame.mode.is_some());
        self.pauses += u64::from(frame.pause.is_some());
        self.inner_apps += of(|what, _| what == "inner app");
        self.caught += of(|what, value| what.ends_with("panicked") && value == 1);
    }

    pub fn add(&mut self, other: &Self) {
        let pairs = self.numbers_mut().into_iter().zip(other.clone().numbers_mut().map(|number| *number));
        pairs.for_each(|(number, other)| *number += other);
    }

    fn numbers_mut(&mut self) -> [&mut u64; 12] {
        let Self {
            frames,
            lives,
            rows,
            results,
            changes,
            settings,
            modes,
            pauses,
            inner_apps,
            caught,
            ended,
            shared_rows,
        } = self;
        [frames, lives, rows, results, changes, settings, modes, pauses, inner_apps, caught, ended, shared_rows]
    }

    /// What a reader wants to know, in words.
    pub fn lines(&self) -> [(&'static str, u64); 12] {
        [
            ("frames", self.frames),
            ("pairs of apps, made and dropped", self.lives),
            ("rows compared", self.rows),
            ("results compared", self.results),
            ("changes from outside", self.changes),
            ("changes of mode", self.modes),
            ("changes of settings", self.settings),
            ("pauses", self.pauses),
            ("apps inside a system", self.inner_apps),
            ("panics caught in systems", self.caught),
            ("panics that ended an app", self.ended),
            ("rows swept by workers beside the leader", self.shared_rows),
        ]
    }
}
