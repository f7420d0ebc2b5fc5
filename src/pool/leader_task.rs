//! What only the leader of a round does: a round's closure is called on all workers.

use std::{panic::resume_unwind, sync::Mutex, thread};

use crate::sync::{into_inner, lock};

/// A closure that index 0 of a round runs, and what came of it. The locks are there for the
/// compiler: one thread looks at a time.
pub(super) struct LeaderTask<F, R> {
    task: Mutex<Option<F>>,
    outcome: Mutex<Option<thread::Result<R>>>,
}

impl<F, R> LeaderTask<F, R> {
    pub(super) fn new(task: F) -> Self {
        Self { task: Mutex::new(Some(task)), outcome: Mutex::new(None) }
    }

    /// Has `by` run the closure. Returns what it says besides: for how many nanoseconds this thread
    /// had nothing to do.
    ///
    /// # Panics
    /// The second time: a round calls index 0 once.
    pub(super) fn run(&self, by: impl FnOnce(F) -> (thread::Result<R>, u64)) -> u64 {
        let task = lock(&self.task).take().expect("a round calls index 0 once");
        let (outcome, idle) = by(task);
        *lock(&self.outcome) = Some(outcome);
        idle
    }

    /// To be called when the round is over.
    pub(super) fn into_outcome(self) -> thread::Result<R> {
        into_inner(self.outcome).expect("a round calls index 0")
    }

    /// What the closure returned.
    ///
    /// # Panics
    /// With its payload, if it panicked.
    pub(super) fn into_result(self) -> R {
        self.into_outcome().unwrap_or_else(|payload| resume_unwind(payload))
    }
}
