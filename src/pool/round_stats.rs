//! What a worker did in a round: written by the worker before it arrives, read by the leader after.

use crate::sync::{AtomicBool, AtomicU64, Ordering};

/// What a worker did in one round. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RoundStats {
    pub(crate) began: u64,
    pub(crate) ended: u64,
    /// For how long in between it had nothing to do.
    pub(crate) idle: u64,
    /// The core it ran on, plus one; 0 if it did not look.
    pub(crate) core: u64,
    /// The rows that it has swept so far, and how many of them were others'; 0 if it did not look.
    pub(crate) rows: u64,
    pub(crate) stolen: u64,
    /// Whether it found its core to be taken by others.
    pub(crate) core_taken: bool,
}

impl RoundStats {
    /// For how long it had something to do.
    pub(crate) fn busy(self) -> u64 {
        self.ended.saturating_sub(self.began).saturating_sub(self.idle)
    }
}

/// What a worker did in the last round that called it; nothing if the leader ran its index.
/// Relaxed: ordered by the arrival that follows.
pub(crate) struct LastRoundStats {
    began: AtomicU64,
    ended: AtomicU64,
    idle: AtomicU64,
    core: AtomicU64,
    rows: AtomicU64,
    stolen: AtomicU64,
    core_taken: AtomicBool,
}

impl LastRoundStats {
    pub(super) fn new() -> Self {
        let [began, ended, idle, core, rows, stolen] = [0; 6].map(AtomicU64::new);
        Self { began, ended, idle, core, rows, stolen, core_taken: AtomicBool::new(false) }
    }

    pub(super) fn set(&self, stats: RoundStats) {
        self.began.store(stats.began, Ordering::Relaxed);
        self.ended.store(stats.ended, Ordering::Relaxed);
        self.idle.store(stats.idle, Ordering::Relaxed);
        self.core.store(stats.core, Ordering::Relaxed);
        self.rows.store(stats.rows, Ordering::Relaxed);
        self.stolen.store(stats.stolen, Ordering::Relaxed);
        self.core_taken.store(stats.core_taken, Ordering::Relaxed);
    }

    /// There is none of the round that begins.
    pub(super) fn clear(&self) {
        self.ended.store(0, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> Option<RoundStats> {
        let read = |value: &AtomicU64| value.load(Ordering::Relaxed);
        let [began, ended, idle] = [&self.began, &self.ended, &self.idle].map(read);
        let [core, rows, stolen] = [&self.core, &self.rows, &self.stolen].map(read);
        let core_taken = self.core_taken.load(Ordering::Relaxed);
        (ended > 0).then_some(RoundStats { began, ended, idle, core, rows, stolen, core_taken })
    }
}
