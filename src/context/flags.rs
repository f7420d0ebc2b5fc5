//! What holds of this thread while a guard is kept.

use std::{cell::Cell, thread::LocalKey};

use crate::pool::in_round;

thread_local! {
    /// Set while this thread visits rows of a call that runs on Bevy's threads.
    static IN_BEVYS_BATCH: Cell<bool> = const { Cell::new(false) };
    /// Set while a task of a schedule runs on this thread whose sweeps are not to be rounds.
    static BY_ITSELF: Cell<bool> = const { Cell::new(false) };
}

/// Keeps a flag of this thread set; then the flag is as it was before.
pub(crate) struct Raised {
    flag: &'static LocalKey<Cell<bool>>,
    before: bool,
}

impl Raised {
    fn new(flag: &'static LocalKey<Cell<bool>>) -> Self {
        Self { flag, before: flag.replace(true) }
    }

    /// While a thread visits rows of a call that runs on Bevy's threads: parallel calls inside run
    /// on the spot, as they do inside a round.
    pub(crate) fn in_bevys_batch() -> Self {
        Self::new(&IN_BEVYS_BATCH)
    }

    /// While a tagged system runs whose sweeps were found to take less on one thread.
    pub(crate) fn by_itself() -> Self {
        Self::new(&BY_ITSELF)
    }
}

impl Drop for Raised {
    fn drop(&mut self) {
        self.flag.set(self.before);
    }
}

/// Whether this thread is inside a parallel call, the gang's or Bevy's.
#[inline]
pub(crate) fn is_inside_call() -> bool {
    in_round() || IN_BEVYS_BATCH.get()
}

/// Whether the sweeps of the tagged system that runs on this thread stay on it.
#[inline]
pub(crate) fn is_by_itself() -> bool {
    BY_ITSELF.get()
}
