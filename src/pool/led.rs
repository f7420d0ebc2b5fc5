//! What is led through a pool, for those who plan schedules: rounds, and calls of queries while
//! they are watched.

use std::sync::atomic::{AtomicBool, Ordering};

use super::{AffinityPool, clock::now};
use crate::sync::OwnU64;

/// What was led through a pool so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Led {
    /// Indices that leaders ran in rounds that called others: one for each round, and those that
    /// they ran for others.
    pub(crate) indices: u64,
    pub(crate) calls: LedCalls,
}

/// What was led in calls of queries that were watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LedCalls {
    /// As in [`Led`], of these calls.
    pub(crate) indices: u64,
    /// What calls took, and what they would have taken one thread, as far as they know; both in
    /// nanoseconds.
    pub(crate) took: u64,
    pub(crate) work: u64,
}

impl Led {
    /// What was led after `before`.
    pub(crate) fn since(self, before: Self) -> Self {
        let LedCalls { indices, took, work } = before.calls;
        Self {
            indices: self.indices.saturating_sub(before.indices),
            calls: LedCalls {
                indices: self.calls.indices.saturating_sub(indices),
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
    indices: OwnU64,
    took: OwnU64,
    work: OwnU64,
}

/// A call of a query that is counted, as it begins.
pub(crate) struct WatchedCall {
    began: u64,
    indices: u64,
}

impl AffinityPool {
    /// What was led through this pool so far.
    pub(crate) fn led(&self) -> Led {
        let leader = &self.counters.leader;
        let WatchedCalls { indices, took, work, .. } = &leader.watched_calls;
        let calls = LedCalls { indices: indices.get(), took: took.get(), work: work.get() };
        Led { indices: leader.indices_led(), calls }
    }

    /// Calls `f`, during which calls of queries are counted too; returns what was led in it.
    pub(crate) fn watch(&self, f: impl FnOnce()) -> Led {
        let watched = &self.counters.leader.watched_calls.watched;
        let (before, outer) = (self.led(), watched.load(Ordering::Relaxed));
        watched.store(true, Ordering::Relaxed);
        f();
        watched.store(outer, Ordering::Relaxed);
        self.led().since(before)
    }

    /// For a call of a query that begins now, if it is to be counted.
    #[inline]
    pub(crate) fn watch_call(&self) -> Option<WatchedCall> {
        let leader = &self.counters.leader;
        let is_watched = leader.watched_calls.watched.load(Ordering::Relaxed);
        is_watched.then(|| WatchedCall { began: now(), indices: leader.indices_led() })
    }

    /// What is known of a call of a query that ends now: not its work.
    pub(crate) fn end_call(&self, WatchedCall { began, indices }: WatchedCall) -> LedCalls {
        let indices = self.counters.leader.indices_led() - indices;
        LedCalls { indices, took: now().saturating_sub(began), work: 0 }
    }

    /// Counts a call of a query. To be called by one thread at a time.
    pub(crate) fn count_call(&self, LedCalls { indices, took, work }: LedCalls) {
        let calls = &self.counters.leader.watched_calls;
        calls.indices.add(indices);
        calls.took.add(took);
        calls.work.add(work);
    }
}
