//! What is led through a pool, for those who plan schedules: rounds, and calls of queries while
//! they are watched.

use std::sync::atomic::{AtomicBool, Ordering};

use super::AffinityPool;
use crate::sync::OwnU64;

/// What was led through a pool so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Led {
    /// Indices that leaders ran in rounds that called others.
    pub(crate) rounds: u64,
    pub(crate) calls: LedCalls,
}

/// What was led in calls of queries that were watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LedCalls {
    /// Those of all rounds.
    pub(crate) rounds: u64,
    /// What calls took, and what they would have taken one thread, as far as they know; both in
    /// nanoseconds.
    pub(crate) took: u64,
    pub(crate) work: u64,
}

impl Led {
    /// What was led after `before`.
    pub(crate) fn since(self, before: Self) -> Self {
        let LedCalls { rounds, took, work } = before.calls;
        Self {
            rounds: self.rounds.saturating_sub(before.rounds),
            calls: LedCalls {
                rounds: self.calls.rounds.saturating_sub(rounds),
                took: self.calls.took.saturating_sub(took),
                work: self.calls.work.saturating_sub(work),
            },
        }
    }
}

/// Parallel calls of queries, counted while someone asks for it.
#[derive(Default)]
pub(super) struct WatchedCalls {
    watched: AtomicBool,
    /// As in [`LedCalls`]. Written by the thread whose call it is, one at a time.
    rounds: OwnU64,
    took: OwnU64,
    work: OwnU64,
}

impl AffinityPool {
    /// What was led through this pool so far.
    pub(crate) fn led(&self) -> Led {
        let leader = &self.counters.leader;
        let WatchedCalls { rounds, took, work, .. } = &leader.watched_calls;
        let calls = LedCalls { rounds: rounds.get(), took: took.get(), work: work.get() };
        Led { rounds: self.rounds_led(), calls }
    }

    /// Indices that leaders ran in rounds that called others, so far.
    pub(crate) fn rounds_led(&self) -> u64 {
        self.counters.leader.rounds_led()
    }

    /// Calls `f`, during which calls of queries are counted too; returns what was led in it.
    pub(crate) fn watch(&self, f: impl FnOnce()) -> Led {
        let watched = &self.counters.leader.watched_calls.watched;
        let (before, outer) = (self.led(), self.watches_calls());
        watched.store(true, Ordering::Relaxed);
        f();
        watched.store(outer, Ordering::Relaxed);
        self.led().since(before)
    }

    /// Whether calls of queries are to be counted.
    #[inline]
    pub(crate) fn watches_calls(&self) -> bool {
        self.counters.leader.watched_calls.watched.load(Ordering::Relaxed)
    }

    /// Counts a call of a query. To be called by one thread at a time.
    pub(crate) fn note_call(&self, LedCalls { rounds, took, work }: LedCalls) {
        let calls = &self.counters.leader.watched_calls;
        calls.rounds.add(rounds);
        calls.took.add(took);
        calls.work.add(work);
    }
}
