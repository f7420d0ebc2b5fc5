//! What a call on the gang works with, whichever way its rows are dealt out.

use std::sync::MutexGuard;

use crossbeam_utils::CachePadded;

use super::calls::Memory;
use crate::{
    auto::RowCost,
    context::{Context, Ownership},
};

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
