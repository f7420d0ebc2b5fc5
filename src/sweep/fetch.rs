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

use super::rows::Rows;
use crate::placement::Storage;

/// A query's rows, ready to be visited in ranges from any thread.
///
/// # Invariant (access)
/// Made only of an `AffineQuery` or a `FusedParam` that is used up for it (mostly a reborrowed
/// one): a `SystemParam` registered the access of `D` and `F` with the scheduler, in the world that
/// all the states belong to. So for as long as it lives no other code writes what `D` and `F` read,
/// or touches what they write (but for the other kernels: 'one kernel at a time' on `Kernels`), and
/// the world's structure stays as it is. Code that visits rows takes care that no row is visited by
/// two threads, or twice while an item of it is still alive.
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
    /// The item of a row, if it passes the filters.
    ///
    /// # Safety
    /// The fetches have entered the table of the row, of which no other item is alive.
    #[inline(always)]
    pub(super) unsafe fn item(
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

    /// What it takes to visit rows of `storage`; nothing if there is no such storage.
    ///
    /// # Safety
    /// `storage` matches the query.
    #[inline(always)]
    pub(crate) unsafe fn fetch_storage(&self, storage: Storage) -> Option<StorageFetch<'w, D, F>> {
        let mut fetch = self.fetch_nothing();
        // SAFETY: the caller's promise.
        unsafe { self.enter(&mut fetch, storage) }?;
        Some(fetch)
    }

    /// What it takes to enter storages.
    #[inline(always)]
    pub(super) fn fetch_nothing(&self) -> StorageFetch<'w, D, F> {
        let Self { rows, data, filter, last_run, this_run } = *self;
        // SAFETY: 'access' on the type: the state belongs to the world, and access is registered.
        let data = unsafe { D::init_fetch(rows.world, data, last_run, this_run) };
        // SAFETY: as above.
        let filter = unsafe { F::init_fetch(rows.world, filter, last_run, this_run) };
        StorageFetch { data, filter, at: At::Table(&[]) }
    }

    /// Has `fetch` visit the rows of `storage` from now on; nothing if there is no such storage.
    ///
    /// # Safety
    /// `storage` matches the query.
    #[inline(always)]
    pub(super) unsafe fn enter(&self, fetch: &mut StorageFetch<'w, D, F>, storage: Storage) -> Option<()> {
        let StorageFetch { data, filter, at } = fetch;
        match storage {
            Storage::Table(index) => {
                let table = self.rows.table(TableId::from_u32(index))?;
                // SAFETY: the table matches, says the caller, and the states belong to its world:
                // 'access' on the type.
                unsafe { D::set_table(data, self.data, table) };
                // SAFETY: as above.
                unsafe { F::set_table(filter, self.filter, table) };
                *at = At::Table(table.entities());
            }
            Storage::Archetype(index) => {
                let archetype = self.rows.archetype(index)?;
                let table = self.rows.table(archetype.table_id())?;
                // SAFETY: the archetype matches, says the caller, the table is its own, and the
                // states belong to their world: 'access' on the type.
                unsafe { D::set_archetype(data, self.data, archetype, table) };
                // SAFETY: as above.
                unsafe { F::set_archetype(filter, self.filter, archetype, table) };
                *at = At::Archetype(archetype.entities(), table.entities());
            }
        }
        Some(())
    }
}

/// What it takes to visit rows of one storage.
pub(crate) struct StorageFetch<'w, D: IterQueryData, F: QueryFilter> {
    pub(crate) data: D::Fetch<'w>,
    pub(super) filter: F::Fetch<'w>,
    pub(super) at: At<'w>,
}

/// The entities of a storage.
#[derive(Clone, Copy)]
pub(super) enum At<'w> {
    Table(&'w [Entity]),
    /// With the entities of its table.
    Archetype(&'w [ArchetypeEntity], &'w [Entity]),
}

impl<'w> At<'w> {
    /// An archetype that is all of its table as that table: the same rows, in the order in which
    /// they lie in memory.
    #[inline]
    pub(super) fn in_order_of_table(self) -> Self {
        match self {
            Self::Archetype(members, entities) if members.len() == entities.len() => Self::Table(entities),
            at => at,
        }
    }

    /// An archetype's `rows`.
    #[inline]
    pub(super) fn members(self, rows: Range<u32>) -> &'w [ArchetypeEntity] {
        match self {
            Self::Table(_) => unreachable!("a query with something in a sparse set visits archetypes"),
            Self::Archetype(members, _) => &members[rows.start as usize..rows.end as usize],
        }
    }

    /// The entities of `rows` that stand one after another in their table, and the first one's row
    /// there: all of a table's rows at once, an archetype's as far as they do.
    #[inline]
    pub(super) fn runs(self, rows: Range<u32>) -> impl Iterator<Item = (&'w [Entity], u32)> {
        let range = rows.start as usize..rows.end as usize;
        let (whole, scattered): (_, &[ArchetypeEntity]) = match self {
            Self::Table(entities) => (Some((&entities[range], rows.start)), &[]),
            Self::Archetype(members, _) => (None, &members[range]),
        };
        let row = |member: &ArchetypeEntity| member.table_row().index_u32();
        let together = move |members: &[ArchetypeEntity]| {
            let first = row(&members[0]);
            let entities = if let Self::Archetype(_, entities) = self { entities } else { &[] };
            (&entities[first as usize..][..members.len()], first)
        };
        whole.into_iter().chain(scattered.chunk_by(move |member, next| row(member) + 1 == row(next)).map(together))
    }
}

#[inline(always)]
pub(super) fn table_row(row: u32) -> TableRow {
    // SAFETY: a row is less than the number of rows of its table, which is a `u32`.
    TableRow::new(unsafe { NonMaxU32::new_unchecked(row) })
}
