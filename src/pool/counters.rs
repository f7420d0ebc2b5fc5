//! What workers did in their rounds: counters that only leaders write, pulled by the diagnostics.

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// Counters of one worker.
///
/// # Invariant
/// All are written by the thread that leads, in a round or right after it, so plain loads and stores do, and readers see each value
/// whole. Two threads that use one pool at the same time both count as its leader, and may lose a count.
#[derive(Default)]
pub(crate) struct WorkerCounters {
    busy: AtomicU64,
    wait: AtomicU64,
    rounds: AtomicU64,
    taken: AtomicU64,
    /// The leader's alone: when the last call for its own index began, how long it took, and when its last call ended.
    began: AtomicU64,
    last_own: AtomicU64,
    ended: AtomicU64,
}

/// What one worker did since its pool was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerTimes {
    /// Time inside the closures of rounds. Without the time that a worker in [`heartbeat`](crate::AffinityPool::heartbeat) has no job.
    pub busy: Duration,
    /// The rest of the time in rounds: starting late, without a job, or waiting for the others at the barrier.
    pub wait: Duration,
    /// Indices run, its own and others'.
    pub rounds: u64,
    /// Indices run for workers that did not start in time.
    pub taken_over: u64,
}

fn add(counter: &AtomicU64, amount: u64) {
    counter.store(counter.load(Ordering::Relaxed) + amount, Ordering::Relaxed);
}

impl WorkerCounters {
    /// Records a call that the leader itself made, `idle` nanoseconds of which it had nothing to do; `own` is false when it was another
    /// worker's index.
    #[inline]
    pub(super) fn record_led(&self, call: Range<u64>, idle: u64, own: bool) {
        let busy = (call.end - call.start).saturating_sub(idle);
        add(&self.busy, busy);
        add(&self.rounds, 1);
        if own {
            self.began.store(call.start, Ordering::Relaxed);
            self.last_own.store(busy, Ordering::Relaxed);
        } else {
            add(&self.taken, 1);
        }
        if idle > 0 {
            add(&self.wait, idle);
        }
        self.ended.store(call.end, Ordering::Relaxed);
    }

    /// Records the call that a worker made in the round `round`.
    #[inline]
    pub(super) fn record_stint(&self, stint: Range<u64>, round: Range<u64>) {
        add(&self.busy, stint.end - stint.start);
        add(&self.rounds, 1);
        add(&self.wait, stint.start.saturating_sub(round.start) + (round.end - stint.end));
    }

    /// Adds what the leader waited until the round was over.
    pub(super) fn record_led_wait(&self, round_ended: u64) {
        add(&self.wait, round_ended - self.ended.load(Ordering::Relaxed));
    }

    /// From the leader's first call in a round to its last.
    pub(super) fn led(&self) -> Range<u64> {
        self.began.load(Ordering::Relaxed)..self.ended.load(Ordering::Relaxed)
    }

    /// How long the last call for its own index kept it busy, in nanoseconds.
    pub(super) fn last_own(&self) -> u64 {
        self.last_own.load(Ordering::Relaxed)
    }

    pub(super) fn times(&self) -> WorkerTimes {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        WorkerTimes {
            busy: Duration::from_nanos(read(&self.busy)),
            wait: Duration::from_nanos(read(&self.wait)),
            rounds: read(&self.rounds),
            taken_over: read(&self.taken),
        }
    }
}
