//! The contract with the ECS: visiting ranges of rows from several threads at once.

use std::ops::Range;

use bevy_ecs::{
    archetype::ArchetypeEntity,
    change_detection::Tick,
    prelude::Entity,
    query::{IterQueryData, QueryFilter},
    storage::{TableId, TableRow},
};
use nonmax::NonMaxU32;

use super::{prefetch::Columns, rows::Rows};
use crate::placement::Storage;

/// A query's rows, ready to be visited in ranges from any thread.
///
/// # Invariant (access)
/// Made only of an `AffineQuery` or a `FusedParam` that is used up for it (mostly a reborrowed
/// one): a `SystemParam` registered the access of `D` and `F` with the scheduler, in the world that
/// all the states belong to. So for as long as it lives no other code touches that data (but for
/// the other kernels: 'one kernel at a time' on `Kernels`), and the world's structure stays as it
/// is. Code that visits rows takes care that no row is visited by two threads, or twice while an
/// item of it is still alive.
pub struct Sweep<'w, 's, D: IterQueryData, F: QueryFilter> {
    pub(crate) rows: Rows<'w, 's>,
    pub(crate) data: &'s D::State,
    pub(crate) filter: &'s F::State,
    pub(crate) last_run: Tick,
    pub(crate) this_run: Tick,
}

impl<D: IterQueryData, F: QueryFilter> Clone for Sweep<'_, '_, D, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: IterQueryData, F: QueryFilter> Copy for Sweep<'_, '_, D, F> {}

impl<'w, 's, D: IterQueryData, F: QueryFilter> Sweep<'w, 's, D, F> {
    /// Calls `visit` with the item of each of `rows` that passes the filters, in order.
    ///
    /// # Safety
    /// `storage` matches the query. No other thread visits these rows meanwhile, and no item of
    /// them that was handed out before is still alive.
    #[inline]
    pub(crate) unsafe fn visit(&self, storage: Storage, rows: Range<u32>, mut visit: impl FnMut(D::Item<'w, 's>)) {
        // On the stack, and new for each call: the compiler sees that what `visit` writes is not
        // the column's address, and vectorises. What is kept elsewhere is written word by word and
        // read back in pairs, for which a processor waits some 5 ns each time: as long as a small
        // table takes.
        let Some(StorageFetch { mut data, mut filter, at }) = self.fetch_storage(storage) else { return };
        // One loop for tables and archetypes alike: `visit` is called in one place only, so that it
        // is inlined however long it is.
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

    /// Calls `visit` for each of `rows` that `select` takes, in order: with its entity, what stands
    /// `beside` it (a column of its table), and its item if it passes the filters. Returns how many
    /// were taken. What `select` says of a row must not depend on visits of others.
    ///
    /// # Safety
    /// As for [`visit`](Self::visit).
    pub(crate) unsafe fn visit_selected<T>(
        &self,
        storage: Storage,
        rows: Range<u32>,
        beside: &[T],
        select: impl Fn(&T) -> bool,
        mut visit: impl FnMut(Entity, &T, Option<D::Item<'w, 's>>),
    ) -> u64 {
        let Some(fetch) = self.fetch_storage(storage) else { return 0 };
        // Of few rows none is far enough ahead.
        let columns = (rows.len() > AHEAD).then(|| Columns::worth_asking_for(&self.rows, storage)).flatten();
        let mut taken = 0;
        for (entities, first) in fetch.at.runs(rows) {
            let run = Run { entities, beside: &beside[first as usize..][..entities.len()], first };
            taken += match &columns {
                // SAFETY: the storage was entered and the rows are in it: the caller's promise.
                None => unsafe { self.visit_run(&fetch, run, &select, &mut visit) },
                // SAFETY: as above.
                Some(columns) => unsafe { self.visit_large(&fetch, run, columns, &select, &mut visit) },
            };
        }
        taken
    }

    /// The same for large rows in a table that was entered.
    ///
    /// # Safety
    /// As for [`visit`](Self::visit).
    unsafe fn visit_large<T>(
        &self,
        fetch: &StorageFetch<'w, D, F>,
        mut run: Run<'_, T>,
        columns: &Columns,
        select: &impl Fn(&T) -> bool,
        visit: &mut impl FnMut(Entity, &T, Option<D::Item<'w, 's>>),
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

    /// The same for rows that stand one after another in a table that was entered.
    ///
    /// Not inlined: beside the loops of its callers this one would not have the registers that it
    /// needs.
    ///
    /// # Safety
    /// As for [`visit`](Self::visit).
    #[inline(never)]
    unsafe fn visit_run<T>(
        &self,
        fetch: &StorageFetch<'w, D, F>,
        run: Run<'_, T>,
        select: &impl Fn(&T) -> bool,
        visit: &mut impl FnMut(Entity, &T, Option<D::Item<'w, 's>>),
    ) -> u64 {
        let (mut data, mut filter) = (fetch.data.clone(), fetch.filter.clone());
        let mut taken = 0;
        for (place, (entity, beside)) in run.entities.iter().zip(run.beside).enumerate() {
            if select(beside) {
                // Read for rows that are taken only: all entities are as much memory as all times.
                let (entity, row) = (*entity, table_row(run.first + place as u32));
                // SAFETY: the caller's promise.
                let item = unsafe { self.item(&mut data, &mut filter, entity, row) };
                visit(entity, beside, item);
                taken += 1;
            }
        }
        taken
    }

    /// The same, where `columns` of some rows are asked for before those that were taken before
    /// them are visited. Ends where rows that are taken follow each other: a processor asks for
    /// these by itself. Returns the place of the first row that is left, too.
    ///
    /// # Safety
    /// As for [`visit`](Self::visit).
    #[inline(never)]
    unsafe fn visit_ahead<T>(
        &self,
        fetch: &StorageFetch<'w, D, F>,
        run: Run<'_, T>,
        columns: &Columns,
        select: &impl Fn(&T) -> bool,
        visit: &mut impl FnMut(Entity, &T, Option<D::Item<'w, 's>>),
    ) -> (u64, usize) {
        let (mut data, mut filter) = (fetch.data.clone(), fetch.filter.clone());
        let Run { entities, beside, first } = run;
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
                visit(entity, &beside[place], item);
                taken += 1;
            }
        }
        (taken, entities.len())
    }

    /// The item of a row, if it passes the filters.
    ///
    /// # Safety
    /// The fetches have entered the table of the row, of which no other item is alive.
    #[inline(always)]
    unsafe fn item(
        &self,
        data: &mut D::Fetch<'w>,
        filter: &mut F::Fetch<'w>,
        entity: Entity,
        row: TableRow,
    ) -> Option<D::Item<'w, 's>> {
        // SAFETY: the caller's promise.
        if !unsafe { F::filter_fetch(self.filter, filter, entity, row) } {
            return None;
        }
        // SAFETY: as above.
        unsafe { D::fetch(self.data, data, entity, row) }
    }

    /// One thread's means to visit single rows.
    pub(crate) fn lookup(&self) -> RowLookup<'w, 's, D, F> {
        RowLookup { sweep: *self, fetch: self.fetch_nothing(), entered: None }
    }

    /// What it takes to visit rows of `storage`; nothing if there is no such storage.
    #[inline(always)]
    pub(crate) fn fetch_storage(&self, storage: Storage) -> Option<StorageFetch<'w, D, F>> {
        let mut fetch = self.fetch_nothing();
        self.enter(&mut fetch, storage)?;
        Some(fetch)
    }

    /// What it takes to enter storages.
    #[inline(always)]
    fn fetch_nothing(&self) -> StorageFetch<'w, D, F> {
        let Self { rows, data, filter, last_run, this_run } = *self;
        // SAFETY: 'access' on the type: the state belongs to the world, and access is registered.
        let data = unsafe { D::init_fetch(rows.world, data, last_run, this_run) };
        // SAFETY: as above.
        let filter = unsafe { F::init_fetch(rows.world, filter, last_run, this_run) };
        StorageFetch { data, filter, at: At::Table(&[]) }
    }

    /// Has `fetch` visit the rows of `storage` from now on; nothing if there is no such storage.
    #[inline(always)]
    fn enter(&self, fetch: &mut StorageFetch<'w, D, F>, storage: Storage) -> Option<()> {
        let StorageFetch { data, filter, at } = fetch;
        match storage {
            Storage::Table(index) => {
                let table = self.rows.table(TableId::from_u32(index))?;
                // SAFETY: the table matches, and the states belong to its world: 'access' on the
                // type.
                unsafe { D::set_table(data, self.data, table) };
                // SAFETY: as above.
                unsafe { F::set_table(filter, self.filter, table) };
                *at = At::Table(table.entities());
            }
            Storage::Archetype(index) => {
                let archetype = self.rows.archetype(index)?;
                let table = self.rows.table(archetype.table_id())?;
                // SAFETY: the archetype matches, the table is its own, and the states belong to
                // their world: 'access' on the type.
                unsafe { D::set_archetype(data, self.data, archetype, table) };
                // SAFETY: as above.
                unsafe { F::set_archetype(filter, self.filter, archetype, table) };
                *at = At::Archetype(archetype.entities(), table.entities());
            }
        }
        Some(())
    }
}

/// Rows that stand one after another in their table.
struct Run<'a, T> {
    entities: &'a [Entity],
    /// A column of the table.
    beside: &'a [T],
    /// The number of the first.
    first: u32,
}

impl<T> Clone for Run<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Run<'_, T> {}

impl<T> Run<'_, T> {
    fn from(self, place: usize) -> Self {
        let Self { entities, beside, first } = self;
        Self { entities: &entities[place..], beside: &beside[place..], first: first + place as u32 }
    }

    /// The first so many rows, and the others.
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

/// What it takes to visit rows of one storage.
pub(crate) struct StorageFetch<'w, D: IterQueryData, F: QueryFilter> {
    pub(crate) data: D::Fetch<'w>,
    filter: F::Fetch<'w>,
    at: At<'w>,
}

/// The entities of a storage.
#[derive(Clone, Copy)]
enum At<'w> {
    Table(&'w [Entity]),
    /// With the entities of its table.
    Archetype(&'w [ArchetypeEntity], &'w [Entity]),
}

impl<'w> At<'w> {
    /// The entities of `rows` that stand one after another in their table, and the first one's row
    /// there: all of a table's rows at once, an archetype's one by one.
    #[inline]
    fn runs(self, rows: Range<u32>) -> impl Iterator<Item = (&'w [Entity], u32)> {
        let range = rows.start as usize..rows.end as usize;
        let (whole, scattered): (_, &[ArchetypeEntity]) = match self {
            Self::Table(entities) => (Some((&entities[range], rows.start)), &[]),
            Self::Archetype(members, _) => (None, &members[range]),
        };
        let single = move |member: &ArchetypeEntity| {
            let row = member.table_row().index();
            let entities = if let Self::Archetype(_, entities) = self { entities } else { &[] };
            (&entities[row..=row], row as u32)
        };
        whole.into_iter().chain(scattered.iter().map(single))
    }
}

/// One thread's means to visit rows one by one, in any order.
pub(crate) struct RowLookup<'w, 's, D: IterQueryData, F: QueryFilter> {
    sweep: Sweep<'w, 's, D, F>,
    /// Stays where it is: a storage that is entered takes three of its words or so, and to copy all
    /// of them right after takes longer than that.
    fetch: StorageFetch<'w, D, F>,
    /// The storage of the last row, by its number: all that a query visits are of one kind.
    entered: Option<usize>,
}

impl<'w, 's, D: IterQueryData, F: QueryFilter> RowLookup<'w, 's, D, F> {
    /// The item of one row, if it passes the filters; with its entity, and its row in the table.
    ///
    /// Always inlined: an item is a dozen words, which are written one by one and would be read
    /// back in pairs. A processor cannot forward several writes to one read: it waits until they
    /// are in the cache, in each row.
    ///
    /// # Safety
    /// As for [`Sweep::visit`], for as long as the item lives.
    #[inline(always)]
    pub(crate) unsafe fn item(&mut self, storage: Storage, row: u32) -> Option<(D::Item<'w, 's>, Entity, TableRow)> {
        if self.entered != Some(storage.index()) {
            self.enter(storage)?;
        }
        let StorageFetch { data, filter, at } = &mut self.fetch;
        let (entity, row) = match *at {
            At::Table(entities) => (entities[row as usize], table_row(row)),
            At::Archetype(members, _) => (members[row as usize].id(), members[row as usize].table_row()),
        };
        // SAFETY: the storage was entered and the row is in it: indexing checked.
        if !unsafe { F::filter_fetch(self.sweep.filter, filter, entity, row) } {
            return None;
        }
        // SAFETY: as above; no other item of this row is alive, says the caller.
        let item = unsafe { D::fetch(self.sweep.data, data, entity, row) }?;
        Some((item, entity, row))
    }

    #[inline(never)]
    fn enter(&mut self, storage: Storage) -> Option<()> {
        self.entered = None;
        self.sweep.enter(&mut self.fetch, storage)?;
        self.entered = Some(storage.index());
        Some(())
    }
}

#[inline(always)]
fn table_row(row: u32) -> TableRow {
    // SAFETY: a row is less than the number of rows of its table, which is a `u32`.
    TableRow::new(unsafe { NonMaxU32::new_unchecked(row) })
}
