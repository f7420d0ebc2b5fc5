//! What one thread hands to another: the root of a round to the leader's index, since a round's
//! closure is called on all workers, and the second half of a join to an idle worker.

use std::{panic::resume_unwind, thread};

use crate::sync::{Mutex, into_inner, lock};

/// A closure that is run once, and what came of it. The locks are there for the compiler: one
/// thread looks at a time.
pub(super) struct Handed<F, R> {
    closure: Mutex<Option<F>>,
    outcome: Mutex<Option<thread::Result<R>>>,
}

impl<F, R> Handed<F, R> {
    pub(super) fn new(closure: F) -> Self {
        Self { closure: Mutex::new(Some(closure)), outcome: Mutex::new(None) }
    }

    /// Has `by` run the closure. Returns what it says besides: for how many nanoseconds this thread
    /// had nothing to do.
    ///
    /// # Panics
    /// The second time.
    pub(super) fn run(&self, by: impl FnOnce(F) -> (thread::Result<R>, u64)) -> u64 {
        let closure = lock(&self.closure).take().expect("what is handed over is run once");
        let (outcome, idle) = by(closure);
        *lock(&self.outcome) = Some(outcome);
        idle
    }

    /// The closure, if it was not run after all.
    ///
    /// # Panics
    /// If it was run.
    pub(super) fn into_closure(self) -> F {
        into_inner(self.closure).expect("what is taken back has not run")
    }

    /// To be called when it was run.
    pub(super) fn into_outcome(self) -> thread::Result<R> {
        into_inner(self.outcome).expect("what was handed over has run")
    }

    /// What the closure returned.
    ///
    /// # Panics
    /// With its payload, if it panicked.
    pub(super) fn into_result(self) -> R {
        self.into_outcome().unwrap_or_else(|payload| resume_unwind(payload))
    }
}
