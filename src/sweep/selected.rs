//! Visiting some of the rows of a range: those that are selected, of which large ones are asked for
//! ahead.

use std::ops::Range;

use bevy_ecs::{
    prelude::Entity,
    query::{IterQueryData, QueryFilter},
};

use super::{
    fetch::{StorageFetch, Sweep, table_row},
    prefetch::Columns,
    visit::{LEAST_ONE_BY_ONE, MOST_ONE_BY_ONE},
};
use crate::placement::Storage;

impl<'w, 's, D: IterQueryData, F: QueryFilter> Sweep<'w, 's, D, F> {
    /// Calls `visit` for each of `rows` that `select` takes, in order: with what stands `beside` it
    /// (a column of its table), and its item if it passes the filters. Returns how many were taken.
    /// What `select` says of a row must not depend on visits of others.
    ///
    /// # Safety
    /// As for [`visit`](Self::visit).
    pub(crate) unsafe fn visit_selected<T>(
        &self,
        storage: Storage,
        rows: Range<u32>,
        beside: &[T],
        select: impl Fn(&T) -> bool,
        mut visit: impl FnMut(&T, Option<D::Item<'w, 's>>),
    ) -> u64 {
        // SAFETY: the storage matches: the caller's promise.
        let Some(fetch) = (unsafe { self.fetch_storage(storage) }) else { return 0 };
        // Of few rows none is far enough ahead.
        let columns = (rows.len() > AHEAD).then(|| Columns::worth_asking_for(&self.rows, storage)).flatten();
        let mut taken = 0;
        for (entities, first) in fetch.at.runs(rows) {
            let run = RowRun { entities, beside: &beside[first as usize..][..entities.len()], first };
            taken += match &columns {
                // SAFETY: the storage was entered and the rows are in it: the caller's promise.
                None => unsafe { self.visit_run(&fetch, run, &select, &mut visit) },
                // SAFETY: as above.
                Some(columns) => unsafe { self.visit_large(&fetch, run, columns, &select, &mut visit) },
            };
        }
        taken
    }

    /// Visits those that are selected of some large rows, in a table that was entered.
    ///
    /// # Safety
    /// As for [`visit`](Self::visit).
    unsafe fn visit_large<T>(
        &self,
        fetch: &StorageFetch<'w, D, F>,
        mut run: RowRun<'_, T>,
        columns: &Columns,
        select: &impl Fn(&T) -> bool,
        visit: &mut impl FnMut(&T, Option<D::Item<'w, 's>>),
    ) -> u64 {
        let mut all = 0;
        while !run.entities.is_empty() {
            // SAFETY: the caller's promise.
            let (taken, place) = unsafe { self.visit_ahead(fetch, run, columns, select, visit) };
            let (close, rest) = run.from(place).split_at(CLOSE_ROWS);
            // SAFETY: as above.
            all += taken + unsafe { self.visit_run(fetch, close, select, visit) };
            run = rest;
        }
        all
    }

    /// Visits those that are selected of rows that stand one after another in a table that was
    /// entered: rows of which none is are passed over, some at a time.
    ///
    /// # Safety
    /// As for [`visit`](Self::visit).
    unsafe fn visit_run<T>(
        &self,
        fetch: &StorageFetch<'w, D, F>,
        run: RowRun<'_, T>,
        select: &impl Fn(&T) -> bool,
        visit: &mut impl FnMut(&T, Option<D::Item<'w, 's>>),
    ) -> u64 {
        let (mut left, mut taken, mut one_by_one) = (run, 0, LEAST_ONE_BY_ONE);
        while !left.entities.is_empty() {
            let passed_over = leading_unselected(left.beside, select);
            let (some, others) = left.from(passed_over).split_at(one_by_one);
            // SAFETY: the caller's promise.
            taken += unsafe { self.visit_each(fetch, some, select, visit) };
            // Where many are selected there is nothing to pass over: it is looked for more seldom.
            one_by_one = if passed_over == 0 { MOST_ONE_BY_ONE.min(2 * one_by_one) } else { LEAST_ONE_BY_ONE };
            left = others;
        }
        taken
    }

    /// [`visit_run`](Self::visit_run), one by one.
    ///
    /// Not inlined: beside the loops of its callers this one would not have the registers that it
    /// needs.
    ///
    /// # Safety
    /// As for [`visit`](Self::visit).
    #[inline(never)]
    unsafe fn visit_each<T>(
        &self,
        fetch: &StorageFetch<'w, D, F>,
        run: RowRun<'_, T>,
        select: &impl Fn(&T) -> bool,
        visit: &mut impl FnMut(&T, Option<D::Item<'w, 's>>),
    ) -> u64 {
        let (mut data, mut filter) = (fetch.data.clone(), fetch.filter.clone());
        let mut taken = 0;
        for (place, (entity, beside)) in run.entities.iter().zip(run.beside).enumerate() {
            if select(beside) {
                // Read for rows that are taken only: all entities are as much memory as all times.
                let (entity, row) = (*entity, table_row(run.first + place as u32));
                // SAFETY: the caller's promise.
                let item = unsafe { self.item(&mut data, &mut filter, entity, row) };
                visit(beside, item);
                taken += 1;
            }
        }
        taken
    }

    /// Visits those that are selected, some at a time: before they are, `columns` of the next ones
    /// are asked for. Ends where rows that are taken follow each other: a processor asks for
    /// these by itself. Returns the place of the first row that is left, too.
    ///
    /// # Safety
    /// As for [`visit`](Self::visit).
    #[inline(never)]
    unsafe fn visit_ahead<T>(
        &self,
        fetch: &StorageFetch<'w, D, F>,
        run: RowRun<'_, T>,
        columns: &Columns,
        select: &impl Fn(&T) -> bool,
        visit: &mut impl FnMut(&T, Option<D::Item<'w, 's>>),
    ) -> (u64, usize) {
        let (mut data, mut filter) = (fetch.data.clone(), fetch.filter.clone());
        let RowRun { entities, beside, first } = run;
        let mut taken = 0;
        let mut places = beside.iter().enumerate().filter(|(_, beside)| select(beside)).map(|(place, _)| place);
        let mut look_at_next = || Ahead::of(&mut places).inspect(|ahead| ahead.ask_for(columns, first as usize));
        let mut next = look_at_next();
        while let Some(ahead) = next {
            if ahead.is_close() {
                return (taken, ahead.places[0]);
            }
            next = look_at_next();
            for &place in ahead.places() {
                let (entity, row) = (entities[place], table_row(first + place as u32));
                // SAFETY: the caller's promise.
                let item = unsafe { self.item(&mut data, &mut filter, entity, row) };
                visit(&beside[place], item);
                taken += 1;
            }
        }
        (taken, entities.len())
    }
}

/// How many rows can be passed over, as none of them is selected; others may follow of which none
/// is.
///
/// Not inlined: beside the loop that visits, this one would take the registers that the other
/// needs.
#[inline(never)]
fn leading_unselected<T>(beside: &[T], select: &impl Fn(&T) -> bool) -> usize {
    // Counted: of a question for any the compiler makes a branch for each.
    let none = |rows: &&[T; TOGETHER]| rows.iter().map(|row| u32::from(select(row))).sum::<u32>() == 0;
    beside.as_chunks().0.iter().take_while(none).count() * TOGETHER
}

/// Rows of which is found together whether any is selected: one branch for all of them. Of more the
/// count does not fit the registers beside what each is compared with.
const TOGETHER: usize = 8;

/// Rows that stand one after another in their table.
struct RowRun<'a, T> {
    entities: &'a [Entity],
    /// A column of the table.
    beside: &'a [T],
    /// The number of the first.
    first: u32,
}

impl<T> Clone for RowRun<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for RowRun<'_, T> {}

impl<T> RowRun<'_, T> {
    fn from(self, place: usize) -> Self {
        let Self { entities, beside, first } = self;
        Self { entities: &entities[place..], beside: &beside[place..], first: first + place as u32 }
    }

    /// The first `rows` rows, and the others.
    fn split_at(self, rows: usize) -> (Self, Self) {
        let rows = rows.min(self.entities.len());
        (Self { entities: &self.entities[..rows], beside: &self.beside[..rows], ..self }, self.from(rows))
    }
}

/// Rows that are asked for together, before those that were asked for before them are visited: so
/// many visits are long enough for memory to answer, and their lines fit a first-level cache twice.
const AHEAD: usize = 8;

/// Rows that are visited without asking where [`AHEAD`] that are taken follow each other: enough
/// that finding out is nothing beside it.
const CLOSE_ROWS: usize = 1024;

/// Places of rows that are visited soon, in ascending order; one at least.
struct Ahead {
    places: [usize; AHEAD],
    count: usize,
}

impl Ahead {
    /// The first of `all` that are left.
    #[inline(always)]
    fn of(all: &mut impl Iterator<Item = usize>) -> Option<Self> {
        let mut ahead = Self { places: [0; AHEAD], count: 0 };
        for (slot, place) in ahead.places.iter_mut().zip(all) {
            *slot = place;
            ahead.count += 1;
        }
        (ahead.count > 0).then_some(ahead)
    }

    #[inline(always)]
    fn places(&self) -> &[usize] {
        &self.places[..self.count]
    }

    /// Whether they are as many as can be and follow each other.
    #[inline(always)]
    fn is_close(&self) -> bool {
        self.places[AHEAD - 1] == self.places[0] + AHEAD - 1
    }

    /// Asks for the rows, of a table in which the first place is row `first`.
    #[inline(always)]
    fn ask_for(&self, columns: &Columns, first: usize) {
        if !self.is_close() {
            self.places().iter().for_each(|place| columns.ask_for(first + place));
        }
    }
}
