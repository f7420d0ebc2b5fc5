//! Calls of one place that take far longer than the others.

use super::{
    Strategy,
    bursts::{HeavyFraction, is_heavy},
};

/// A new time counts as one part in this many.
const SMOOTHING: f32 = 4.0;

/// When heavy calls take this many times as long as they did, or one part in it, what other
/// strategies took is out of date.
const CHANGED: f32 = 2.0;

/// What heavy calls take, and how many calls are heavy.
#[derive(Debug, Default)]
pub(super) struct HeavyCalls {
    fraction: HeavyFraction,
    /// Nanoseconds of a row by strategy; unknown before one was measured.
    rows: [Option<f32>; Strategy::MEASURED_COUNT],
}

impl HeavyCalls {
    /// Notes a call of `rows` rows that took `nanoseconds`, where a usual one is known to take
    /// `usual`. Returns whether it is heavy.
    pub(super) fn note(&mut self, strategy: Strategy, rows: u64, (nanoseconds, usual): (f32, Option<f32>)) -> bool {
        let heavy = usual.is_some_and(|usual| is_heavy(nanoseconds, usual));
        self.fraction.note(heavy);
        if heavy {
            let row = nanoseconds / (rows as f32).max(1.0);
            let known = self.rows[strategy as usize];
            if known.is_some_and(|known| !(1.0 / CHANGED..CHANGED).contains(&(row / known))) {
                self.rows = Default::default();
            }
            let known = self.rows[strategy as usize].get_or_insert(row);
            *known += (row - *known) / SMOOTHING;
        }
        heavy
    }

    /// Decides whether heavy calls count, now that calls go by `strategy`. Returns whether that is
    /// new.
    pub(super) fn judge(&mut self, strategy: Strategy, usual: f32, rows: u64) -> bool {
        let row = self.rows[strategy as usize];
        self.fraction.judge(usual, row.map_or(usual, |row| row * rows as f32))
    }

    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// What a call takes on average by `strategy` of which a usual one takes `usual`.
    pub(super) fn mean(&self, strategy: Strategy, usual: f32, rows: u64, workers: usize) -> f32 {
        if self.fraction.get().is_none() {
            return usual;
        }
        self.row(strategy, workers).map_or(usual, |row| self.fraction.mean(usual, row * rows as f32))
    }

    /// What a row of a heavy call takes: as measured, or as another strategy tells.
    fn row(&self, strategy: Strategy, workers: usize) -> Option<f32> {
        let workers = workers as f32;
        let told = |&other: &Strategy| {
            let row = self.rows[other as usize]?;
            Some(match (other, strategy) {
                (Strategy::Serial, Strategy::Serial) => row,
                (Strategy::Serial, _) => row / workers,
                (_, Strategy::Serial) => row * workers,
                _ => row,
            })
        };
        self.rows.get(strategy as usize).copied().flatten().or_else(|| Strategy::MEASURED.iter().find_map(told))
    }
}
