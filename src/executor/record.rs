//! What an executor and those who look at it share.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use super::race::{Explanation, Race};

/// What the [`AffinityExecutor`](super::AffinityExecutor) of one schedule says, and is told. No
/// other data is published by these atomics, so they are all relaxed.
#[derive(Debug)]
pub(crate) struct ScheduleRecord {
    runs: AtomicU64,
    explanation: Mutex<Explanation>,
    /// Whether all runs are to go by Bevy's default executor.
    plain: AtomicBool,
}

impl ScheduleRecord {
    pub(super) fn new(race: &Race) -> Arc<Self> {
        let explanation = Mutex::new(race.explain());
        Arc::new(Self { runs: AtomicU64::new(0), explanation, plain: AtomicBool::new(false) })
    }

    /// The executor is the only one that writes here.
    #[inline]
    pub(super) fn set_runs(&self, runs: u64) {
        self.runs.store(runs, Ordering::Relaxed);
    }

    pub(super) fn explain(&self, race: &Race) {
        *self.explanation.lock().unwrap_or_else(PoisonError::into_inner) = race.explain();
    }

    /// How often the schedule has run since it changed.
    pub(crate) fn runs(&self) -> u64 {
        self.runs.load(Ordering::Relaxed)
    }

    pub(crate) fn explanation(&self) -> Explanation {
        *self.explanation.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.plain.load(Ordering::Relaxed)
    }

    /// Has all runs from now on go by Bevy's default executor, or not.
    pub(crate) fn set_plain(&self, plain: bool) {
        self.plain.store(plain, Ordering::Relaxed);
    }
}
