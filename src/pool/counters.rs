//! What workers record of their rounds: single-writer counters on lines of their own, pulled by the diagnostics.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// Counters of one worker.
///
/// # Invariant
/// `busy`, `rounds`, `began`, `ended` and `last_own` are written by the thread that the worker is, `wait` by the leader after a round,
/// so plain loads and stores do, and readers see each value whole. Two threads that use one pool at the same time both count as its
/// leader, and may lose a count.
#[derive(Default)]
pub(crate) struct WorkerCounters {
    busy: AtomicU64,
    wait: AtomicU64,
    rounds: AtomicU64,
    taken: AtomicU64,
    began: AtomicU64,
    ended: AtomicU64,
    last_own: AtomicU64,
}

/// What one worker did since its pool was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerTimes {
    /// Time inside the closures of rounds.
    pub busy: Duration,
    /// Time in rounds, outside the closure: starting late or waiting for the others at the barrier.
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
    /// Records one call of a closure; `own` is false when it was another worker's index.
    #[inline]
    pub(super) fn record(&self, began: u64, ended: u64, own: bool) {
        add(&self.busy, ended - began);
        add(&self.rounds, 1);
        if own {
            self.began.store(began, Ordering::Relaxed);
            self.last_own.store(ended - began, Ordering::Relaxed);
        } else {
            add(&self.taken, 1);
        }
        self.ended.store(ended, Ordering::Relaxed);
    }

    /// How long the last call for its own index took, in nanoseconds.
    pub(super) fn last_own(&self) -> u64 {
        self.last_own.load(Ordering::Relaxed)
    }

    pub(super) fn ended(&self) -> u64 {
        self.ended.load(Ordering::Relaxed)
    }

    /// Adds what this worker waited in the round between `began` and `ended`, if it took part.
    pub(super) fn record_wait(&self, round_began: u64, round_ended: u64) {
        let began = self.began.load(Ordering::Relaxed);
        if began >= round_began {
            let late = began - round_began;
            add(&self.wait, late + (round_ended - self.ended().min(round_ended)));
        }
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
