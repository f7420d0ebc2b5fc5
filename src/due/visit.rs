//! Visiting the due rows among some rows, on one thread of a call.

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

use bevy_ecs::query::{IterQueryData, QueryFilter};
use crossbeam_utils::CachePadded;

use super::{
    component::Due,
    hints::{Hints, NEVER},
    times::{Times, TimesLookup},
};
use crate::{
    placement::Storage,
    sweep::{RowLookup, Sweep},
};

/// The due rows of one call.
pub(super) struct DueSweep<'a, 'w, 's, D: IterQueryData, F: QueryFilter, A> {
    pub(super) sweep: Sweep<'w, 's, D, F>,
    pub(super) times: Times<'a, A>,
    /// Where new times are noted; `None` in a sweep that looks at all rows.
    pub(super) hints: Option<&'a Hints>,
    pub(super) now: u64,
    /// How many were visited in such a sweep: on a line of its own, for workers read the others.
    pub(super) visited: CachePadded<AtomicU64>,
}

impl<'w, 's, D, F, A> DueSweep<'_, 'w, 's, D, F, A>
where
    D: IterQueryData,
    F: QueryFilter,
    A: Send + Sync + 'static,
{
    /// One thread's means to visit the due rows of a part.
    pub(super) fn visits(&self) -> Visits<'_, 'w, 's, D, F, A> {
        let found = self.hints.map(|hints| Found { hints, rows: self.sweep.lookup(), times: self.times.lookup() });
        Visits { due: self, found, visited: 0 }
    }
}

/// One thread's means to visit due rows.
pub(super) struct Visits<'a, 'w, 's, D: IterQueryData, F: QueryFilter, A: Send + Sync + 'static> {
    due: &'a DueSweep<'a, 'w, 's, D, F, A>,
    /// Where only those that were found are visited.
    found: Option<Found<'a, 'w, 's, D, F, A>>,
    /// How many rows this thread visited where all are looked at.
    visited: u64,
}

impl<D: IterQueryData, F: QueryFilter, A: Send + Sync + 'static> Drop for Visits<'_, '_, '_, D, F, A> {
    fn drop(&mut self) {
        if self.visited > 0 {
            // Relaxed: read after the call, whose end orders it.
            self.due.visited.fetch_add(self.visited, Ordering::Relaxed);
        }
    }
}

/// What it takes to visit rows that were found: each is mostly a range of its own.
struct Found<'a, 'w, 's, D: IterQueryData, F: QueryFilter, A: Send + Sync + 'static> {
    hints: &'a Hints,
    rows: RowLookup<'w, 's, D, F>,
    times: TimesLookup<'a, A>,
}

impl<'w, 's, D, F, A> Visits<'_, 'w, 's, D, F, A>
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
        &mut self,
        storage: Storage,
        rows: Range<u32>,
        visit: impl FnMut(D::Item<'w, 's>) -> Option<u64>,
    ) {
        match &mut self.found {
            // SAFETY: the caller's promise.
            Some(found) => unsafe { found.visit(self.due, storage, rows, visit) },
            // SAFETY: as above.
            None => self.visited += unsafe { self.due.visit_all(storage, rows, visit) },
        }
    }
}

impl<'w, 's, D, F, A> Found<'_, 'w, 's, D, F, A>
where
    D: IterQueryData,
    F: QueryFilter,
    A: Send + Sync + 'static,
{
    /// [`Visits::visit`], for rows that were found to be due.
    ///
    /// # Safety
    /// As for [`Sweep::visit`].
    #[inline]
    unsafe fn visit(
        &mut self,
        due: &DueSweep<'_, 'w, 's, D, F, A>,
        storage: Storage,
        rows: Range<u32>,
        mut visit: impl FnMut(D::Item<'w, 's>) -> Option<u64>,
    ) {
        for row in rows {
            // SAFETY: the caller's promise.
            let Some((entity, row, item)) = (unsafe { self.rows.row(storage, row) }) else { return };
            let Some(time) = self.times.of_row(due.sweep.rows, storage, row) else { return };
            if let Some(item) = item {
                time.set(visit(item).unwrap_or(NEVER));
            }
            self.hints.lower(entity.index_u32(), time.time());
        }
    }
}

impl<'w, 's, D, F, A> DueSweep<'_, 'w, 's, D, F, A>
where
    D: IterQueryData,
    F: QueryFilter,
    A: Send + Sync + 'static,
{
    /// [`Visits::visit`], where all rows are looked at; returns how many were visited.
    ///
    /// # Safety
    /// As for [`Sweep::visit`].
    #[inline]
    unsafe fn visit_all(
        &self,
        storage: Storage,
        rows: Range<u32>,
        mut visit: impl FnMut(D::Item<'w, 's>) -> Option<u64>,
    ) -> u64 {
        // Rows without times are never due.
        let Some(times) = self.times.of_storage(self.sweep.rows, storage) else { return 0 };
        let now = self.now;
        // One closure has the next one in it: a borrow would be a pointer to follow in every row.
        let is_due = move |due: &Due<A>| due.is_due(now);
        let each = move |due: &Due<A>, item: Option<D::Item<'w, 's>>| {
            if let Some(item) = item {
                due.set(visit(item).unwrap_or(NEVER));
            }
        };
        // SAFETY: the caller's promise.
        unsafe { self.sweep.visit_selected(storage, rows, times, is_due, each) }
    }
}
