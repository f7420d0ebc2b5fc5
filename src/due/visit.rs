//! Visiting the due rows among some rows, on one thread of a call.

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

use bevy_ecs::{
    prelude::Entity,
    query::{IterQueryData, QueryFilter},
};

use super::{
    component::Due,
    hints::{Hints, NEVER},
    times::Times,
};
use crate::{placement::Storage, sweep::Sweep};

/// The due rows of one call.
pub(super) struct DueSweep<'a, 'w, 's, D: IterQueryData, F: QueryFilter, A> {
    pub(super) sweep: Sweep<'w, 's, D, F>,
    pub(super) times: Times<'a, A>,
    /// Where new times are noted; `None` in a sweep that looks at all rows.
    pub(super) hints: Option<&'a Hints>,
    pub(super) now: u64,
    /// How many were visited in such a sweep.
    pub(super) visited: AtomicU64,
}

impl<'w, 's, D, F, A> DueSweep<'_, 'w, 's, D, F, A>
where
    D: IterQueryData,
    F: QueryFilter,
    A: Send + Sync + 'static,
{
    /// Calls `visit` with the item of each of `rows` that is due and passes the filters, in order;
    /// it says when the row is due next. The time of a row changes when its visit is over: if that
    /// panics, or the row does not pass, it stays due.
    ///
    /// # Safety
    /// As for [`Sweep::visit`].
    #[inline]
    pub(super) unsafe fn visit(
        &self,
        storage: Storage,
        rows: Range<u32>,
        mut visit: impl FnMut(D::Item<'w, 's>) -> Option<u64>,
    ) {
        let Self { sweep, times, hints, now, visited } = self;
        // Rows without times are never due.
        let Some(times) = times.of_storage(sweep.rows, storage) else { return };
        let now = *now;
        // One closure has the next one in it: a borrow would be a pointer to follow in every row.
        let is_due = move |due: &Due<A>| due.is_due(now);
        let mut visit = move |due: &Due<A>, item: Option<D::Item<'w, 's>>| {
            if let Some(item) = item {
                due.set(visit(item).unwrap_or(NEVER));
            }
        };
        let Some(hints) = hints else {
            // A loop of its own: all rows go through it.
            let each = move |_, due: &Due<A>, item: Option<D::Item<'w, 's>>| visit(due, item);
            // SAFETY: the caller's promise.
            let count = unsafe { sweep.visit_selected(storage, rows, times, is_due, each) };
            if count > 0 {
                // Relaxed: read after the call, whose end orders it.
                visited.fetch_add(count, Ordering::Relaxed);
            }
            return;
        };
        let each = move |entity: Entity, due: &Due<A>, item: Option<D::Item<'w, 's>>| {
            visit(due, item);
            hints.lower(entity.index_u32(), due.time());
        };
        // SAFETY: the caller's promise.
        unsafe { sweep.visit_selected(storage, rows, times, is_due, each) };
    }
}
