//! Visiting all rows of a range that pass the filters: a loop for tables, one for filters that look
//! at each row, and one for archetypes.

use std::ops::Range;

use bevy_ecs::{
    prelude::Entity,
    query::{IterQueryData, QueryFilter},
};

use super::fetch::{At, StorageFetch, Sweep, table_row};
use crate::placement::Storage;

/// Rows of which is found together whether any passes the filters: enough that adding up what is
/// found of each is little beside it.
const LOOKED_AT: usize = 32;

/// Rows that are passed over together, at least, where that takes less than looking at each: it
/// ends with a jump that no processor foresees, as long as looking at some 140.
const WORTH_PASSING_OVER: usize = 128;

/// The fewest rows that are looked at one by one, behind some that were passed over: those that
/// were looked at together last, of which one passes.
pub(super) const LEAST_ONE_BY_ONE: usize = LOOKED_AT;

/// Rows that are looked at one by one first, where there are none to pass over: in a thousand rows
/// that all pass it is looked for them four times, not six.
const FIRST_ONE_BY_ONE: usize = 128;

/// The most rows that are looked at one by one, where rows that pass come one after another.
pub(super) const MOST_ONE_BY_ONE: usize = 1024;

impl<'w, 's, D: IterQueryData, F: QueryFilter> Sweep<'w, 's, D, F> {
    /// Whether nothing of the query is in a sparse set. Otherwise it visits archetypes.
    const IS_DENSE: bool = D::IS_DENSE && F::IS_DENSE;

    /// Whether a filter looks at each row, of a table.
    pub(crate) const LOOKS_AT_ROWS: bool = F::IS_DENSE && !F::IS_ARCHETYPAL;

    /// Calls `visit` with the item of each of `rows` that passes the filters, in order.
    ///
    /// # Safety
    /// `storage` matches the query. No other thread visits these rows meanwhile, and no item of
    /// them that was handed out before is still alive.
    #[inline]
    pub(crate) unsafe fn visit(&self, storage: Storage, rows: Range<u32>, visit: impl FnMut(D::Item<'w, 's>)) {
        // On the stack, and new for each call: the compiler sees that what `visit` writes is not
        // the column's address, and vectorises. What is kept elsewhere is written word by word and
        // read back in pairs, for which a processor waits some 5 ns each time: as long as a small
        // table takes.
        // SAFETY: the storage matches: the caller's promise.
        let Some(fetch) = (unsafe { self.fetch_storage(storage) }) else { return };
        // Known when this is compiled, so that `visit` is called in one place only: then it is
        // inlined however long it is.
        if Self::IS_DENSE {
            // SAFETY: the storage was entered, and for the rest the caller's promise.
            unsafe { self.visit_table(fetch, rows, visit) }
        } else {
            // SAFETY: as above.
            unsafe { self.visit_members(fetch, rows, visit) }
        }
    }

    /// [`visit`](Self::visit), in an order of its own: an archetype that is all of its table is
    /// visited as that table.
    ///
    /// # Safety
    /// As for [`visit`](Self::visit), but for which rows of such an archetype these are: who visits
    /// others of its rows meanwhile, or lets another kernel visit these, does it by this too.
    #[inline]
    pub(crate) unsafe fn visit_in_any_order(
        &self,
        storage: Storage,
        rows: Range<u32>,
        visit: impl FnMut(D::Item<'w, 's>),
    ) {
        // SAFETY: the storage matches: the caller's promise. New for each call, as in `visit`.
        let Some(fetch) = (unsafe { self.fetch_storage(storage) }) else { return };
        let fetch = StorageFetch { at: fetch.at.in_order_of_table(), ..fetch };
        if Self::IS_DENSE || matches!(fetch.at, At::Table(_)) {
            // SAFETY: the storage was entered, and for the rest the caller's promise.
            unsafe { self.visit_table(fetch, rows, visit) }
        } else {
            // SAFETY: as above.
            unsafe { self.visit_members(fetch, rows, visit) }
        }
    }

    /// Visits rows that stand one after another in a table.
    ///
    /// # Safety
    /// As for [`visit`](Self::visit); `fetch` has entered the storage.
    #[inline(always)]
    unsafe fn visit_table(&self, fetch: StorageFetch<'w, D, F>, rows: Range<u32>, visit: impl FnMut(D::Item<'w, 's>)) {
        if Self::LOOKS_AT_ROWS {
            // SAFETY: the caller's promise.
            unsafe { self.visit_some(fetch, rows, visit) }
        } else {
            // SAFETY: as above.
            unsafe { self.visit_runs(fetch, rows, visit) }
        }
    }

    /// Visits rows of a table; or of a part of one, where entities are disabled by something in a
    /// sparse set, or another kernel has something there.
    ///
    /// # Safety
    /// As for [`visit_table`](Self::visit_table).
    #[inline(always)]
    unsafe fn visit_runs(
        &self,
        fetch: StorageFetch<'w, D, F>,
        rows: Range<u32>,
        mut visit: impl FnMut(D::Item<'w, 's>),
    ) {
        let StorageFetch { mut data, mut filter, at } = fetch;
        for (entities, first) in at.runs(rows) {
            for (&entity, row) in entities.iter().zip(first..) {
                // SAFETY: the storage was entered and the row is in it, and no other item of it is
                // alive: the caller's promise.
                if let Some(item) = unsafe { self.item(&mut data, &mut filter, entity, table_row(row)) } {
                    visit(item);
                }
            }
        }
    }

    /// Visits members of an archetype, all that a query with something in a sparse set visits.
    ///
    /// # Safety
    /// As for [`visit_table`](Self::visit_table).
    #[inline(always)]
    unsafe fn visit_members(
        &self,
        fetch: StorageFetch<'w, D, F>,
        rows: Range<u32>,
        mut visit: impl FnMut(D::Item<'w, 's>),
    ) {
        let StorageFetch { mut data, mut filter, at } = fetch;
        for member in at.members(rows) {
            // SAFETY: as in `visit_runs`.
            if let Some(item) = unsafe { self.item(&mut data, &mut filter, member.id(), member.table_row()) } {
                visit(item);
            }
        }
    }

    /// As [`visit_runs`](Self::visit_runs), for filters that look at each row, as `Changed` and
    /// `Added` do: rows of which none passes are passed over, many at a time.
    ///
    /// No visit changes what a filter says of another row: items hold their own row alone, and all
    /// else that writes waits until the sweep is over ('access' on the type).
    ///
    /// # Safety
    /// As for [`visit_table`](Self::visit_table).
    #[inline(always)]
    unsafe fn visit_some(
        &self,
        fetch: StorageFetch<'w, D, F>,
        rows: Range<u32>,
        mut visit: impl FnMut(D::Item<'w, 's>),
    ) {
        let StorageFetch { mut data, mut filter, at } = fetch;
        let mut one_by_one = FIRST_ONE_BY_ONE;
        for (mut entities, mut first) in at.runs(rows) {
            while !entities.is_empty() {
                // SAFETY: the rows' table was entered: the caller's promise.
                let passed_over = unsafe { self.none_passes(&mut filter, entities, first) };
                let left = &entities[passed_over..];
                let (some, others) = left.split_at(one_by_one.min(left.len()));
                first += passed_over as u32;
                // SAFETY: as in `visit_runs`.
                unsafe { self.visit_passing(&mut data, &mut filter, (some, first), &mut visit) };
                // Where many pass there is little to pass over, so it is looked for more seldom.
                let is_worth_it = passed_over >= WORTH_PASSING_OVER;
                one_by_one = if is_worth_it { LEAST_ONE_BY_ONE } else { MOST_ONE_BY_ONE.min(2 * one_by_one) };
                (entities, first) = (others, first + some.len() as u32);
            }
        }
    }

    /// [`visit_some`](Self::visit_some), one by one. Not inlined: see
    /// [`none_passes`](Self::none_passes).
    ///
    /// # Safety
    /// As for [`visit_table`](Self::visit_table).
    #[inline(never)]
    unsafe fn visit_passing(
        &self,
        data: &mut D::Fetch<'w>,
        filter: &mut F::Fetch<'w>,
        (entities, first): (&[Entity], u32),
        visit: &mut impl FnMut(D::Item<'w, 's>),
    ) {
        let mut visit_one = |entity, row| {
            // SAFETY: as in `visit_runs`.
            if let Some(item) = unsafe { self.item(data, filter, entity, table_row(row)) } {
                visit(item);
            }
        };
        // A loop of one row takes a cycle or two for it by where the compiler puts the loop; one of
        // four rows is long enough that this is no matter. Left to the compiler it stays rolled.
        let (fours, rest) = entities.as_chunks::<4>();
        let mut row = first;
        for &[a, b, c, d] in fours {
            visit_one(a, row);
            visit_one(b, row + 1);
            visit_one(c, row + 2);
            visit_one(d, row + 3);
            row += 4;
        }
        for &entity in rest {
            visit_one(entity, row);
            row += 1;
        }
    }

    /// How many of the rows that stand one after another from `first` on can be passed over, as
    /// none of them passes.
    ///
    /// Takes 0.1 to 0.16 ns a row, where one look at a time takes 0.28 or twice that. Not inlined:
    /// beside the loop that visits, this one would take the registers that the other needs.
    ///
    /// # Safety
    /// The fetch has entered the table of the rows.
    #[inline(never)]
    unsafe fn none_passes(&self, filter: &mut F::Fetch<'w>, entities: &[Entity], first: u32) -> usize {
        let mut passes = |(&entity, row)| {
            // SAFETY: the caller's promise.
            unsafe { F::filter_fetch(self.filter, filter, entity, table_row(row)) }
        };
        // Where most pass this is all that is lost.
        if entities.first().is_some_and(|entity| passes((entity, first))) {
            return 0;
        }
        let mut passed_over = 0;
        for rows in entities.as_chunks::<LOOKED_AT>().0 {
            // Counted: of a question for any the compiler makes a branch for each.
            let passing: u32 = rows.iter().zip(first + passed_over as u32..).map(|row| u32::from(passes(row))).sum();
            if passing > 0 {
                break;
            }
            passed_over += LOOKED_AT;
        }
        passed_over
    }
}
