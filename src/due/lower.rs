//! Lowering a time and the minima above it, while other threads lower times beside it.

use crate::sync::{AtomicU64, Ordering, planted};

/// Lowers a time, which comes first in `upwards`, and then its minima, each of which is one of the
/// times that the next is the minimum of. Ends at the first that is no later: then those above it
/// are no later either, or are being lowered by the thread that has lowered this one.
///
/// # Invariant (lower)
/// When all threads that lower have returned, each minimum is at most each time below it, if it was
/// before.
///
/// Relaxed: a minimum only ever falls, in one atomic step. The end of the parallel call that the
/// threads are in orders this before what looks at the minima.
#[inline]
pub(super) fn lower<'a>(mut upwards: impl Iterator<Item = &'a AtomicU64>, to: u64) {
    let _ = upwards.all(|time| {
        let is_later = time.load(Ordering::Relaxed) > to;
        if is_later && planted("lowered_in_two_steps") {
            time.store(to, Ordering::Relaxed);
        } else if is_later {
            time.fetch_min(to, Ordering::Relaxed);
        }
        is_later && !planted("minima_left_alone")
    });
}
