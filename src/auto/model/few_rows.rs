//! How a [`Model`] judges calls with far fewer rows than usual: by what usual ones take.

use super::{Model, sizes::Size};
use crate::auto::{Decision, Strategy};

impl Model {
    /// Whether a call has far fewer rows than usual ones, where rows are counted in some calls
    /// only, and this one stands for some `calls`.
    pub(super) fn are_few_by_sample(&mut self, rows: u64, calls: u32) -> bool {
        // While there is a trial each call is counted.
        let calls = if self.trials.under_way.is_some() { 1 } else { calls };
        let size = self.sizes.note_calls(rows, calls, false);
        if size == Size::Changed {
            self.trials.end_pauses();
        }
        let are_few = matches!(size, Size::Fewer { .. });
        if are_few {
            // Those before it are not what the next usual one stands for.
            self.sampling.take_runs();
        }
        are_few
    }

    /// How to run a call with far fewer rows than usual ones, or none.
    #[inline(never)]
    pub(super) fn choose_for_fewer(&mut self, rows: u64, timed: bool) -> Decision {
        self.rows_now = rows;
        let stays = rows == 0 || self.sizes.few_stay();
        let strategy = if stays { Strategy::Serial } else { self.best_for(rows) };
        Decision::of_model(strategy, timed)
    }

    /// What takes least for a call of this many `rows`, by what calls with others take.
    pub(super) fn best_for(&self, rows: u64) -> Strategy {
        let best = self.best(rows);
        let alone = self.reckoned(Strategy::Serial, rows).map(|alone| alone + self.forgone(Strategy::Serial));
        if alone.is_some_and(|alone| alone < self.cost(best, rows)) { Strategy::Serial } else { best }
    }

    /// What a call should take by a strategy that was tried, or by one thread: that takes no longer
    /// than all workers together.
    pub(super) fn reckoned(&self, strategy: Strategy, rows: u64) -> Option<f32> {
        match strategy {
            _ if self.estimate(strategy).was_tried() => Some(self.mean_time(strategy, rows)),
            Strategy::Serial if self.busy.is_known() => Some(self.busy.of(rows)),
            _ => None,
        }
    }
}
