//! Sweeps on Bevy's compute threads.

use bevy_tasks::ComputeTaskPool;

use super::{part::Part, rows::Rows};
use crate::context::Raised;

/// How many threads Bevy's compute pool has; `None` as long as there is no pool.
pub(super) fn count() -> Option<usize> {
    ComputeTaskPool::try_get().map(|pool| pool.thread_num().max(1))
}

/// Runs `body` for each of `parts` even parts of `rows`, one task for each. The number is asked
/// once in a call: another thread may start Bevy's pool meanwhile, and rows that are cut into more
/// parts than are run would be left out.
pub(super) fn sweep(rows: Rows<'_, '_>, parts: usize, body: &(dyn Fn(Part<'_>) + Sync)) {
    let visit = |index| {
        let _batch = Raised::in_bevys_batch();
        body(Part::even(rows, index, parts));
    };
    match ComputeTaskPool::try_get() {
        Some(pool) if parts > 1 => {
            pool.scope(|scope| (0..parts).for_each(|index| scope.spawn(async move { visit(index) })));
        }
        _ => (0..parts).for_each(visit),
    }
}
