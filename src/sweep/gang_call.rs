//! What a call on the gang works with, whichever way its rows are dealt out.

use std::sync::MutexGuard;

use crossbeam_utils::CachePadded;

use super::{
    layout::{Layout, Layouts},
    ranges::Ranges,
};
use crate::{
    auto::RowCost,
    context::{Context, Ownership},
};

/// The memory that calls on the gang are laid out in.
#[derive(Default)]
pub(super) struct Memory {
    /// The rows of each worker, and those of each that receives what they send.
    pub(super) by_owner: [Layouts; 2],
    /// All rows, for fork/join, and the ranges of the workers.
    pub(super) whole: Layout,
    pub(super) ranges: Ranges,
}

/// A call on the gang. Holds the locks of what it works with until it is over.
pub(super) struct GangCall<'a> {
    pub(super) context: &'a Context,
    pub(super) ownership: MutexGuard<'a, CachePadded<Ownership>>,
    pub(super) memory: MutexGuard<'a, Memory>,
    pub(super) cost: &'a RowCost,
}

impl GangCall<'_> {
    pub(super) fn workers(&self) -> usize {
        self.context.pool.workers()
    }
}

/// How many rows the leader has swept so far. What it swept in one call tells, with the time that
/// took, what a row costs.
pub(super) fn rows_of_leader(context: &Context) -> u64 {
    context.pool.swept[0].read().0
}
