//! Sweeps on Bevy's compute threads.

use std::cell::Cell;

use bevy_tasks::ComputeTaskPool;

use super::{division::Division, part::Part, rows::Rows};
use crate::pool::in_round;

thread_local! {
    /// Set while rows of a parallel call are visited on this thread for Bevy's own `par_iter`.
    static IN_BEVYS_BATCH: Cell<bool> = const { Cell::new(false) };
}

/// Held while a thread visits rows for Bevy's `par_iter`: parallel calls inside run on the spot, as
/// they do inside a round.
pub(crate) struct BevysBatch {
    outer: bool,
}

impl BevysBatch {
    pub(crate) fn open() -> Self {
        Self { outer: IN_BEVYS_BATCH.replace(true) }
    }

    /// Whether this thread is inside one.
    #[inline]
    fn is_open() -> bool {
        IN_BEVYS_BATCH.get()
    }
}

impl Drop for BevysBatch {
    fn drop(&mut self) {
        IN_BEVYS_BATCH.set(self.outer);
    }
}

/// Whether this thread is inside a parallel call, the gang's or Bevy's.
#[inline]
pub(super) fn is_inside_call() -> bool {
    in_round() || BevysBatch::is_open()
}

/// How many threads Bevy's compute pool has; `None` as long as there is no pool.
pub(super) fn count() -> Option<usize> {
    ComputeTaskPool::try_get().map(|pool| pool.thread_num().max(1))
}

/// Runs `body` for each of `parts` even parts of `rows`, one task for each. The number is asked
/// once in a call: another thread may start Bevy's pool meanwhile, and rows that are cut into more
/// parts than are run would be left out.
pub(super) fn sweep(rows: Rows<'_, '_>, parts: usize, body: &(impl Fn(Part<'_>) + Sync)) {
    let visit = |index| {
        let _batch = BevysBatch::open();
        body(Part::divided(rows, index, Division::Even { parts }));
    };
    match ComputeTaskPool::try_get() {
        Some(pool) if parts > 1 => {
            pool.scope(|scope| (0..parts).for_each(|index| scope.spawn(async move { visit(index) })));
        }
        _ => (0..parts).for_each(visit),
    }
}
