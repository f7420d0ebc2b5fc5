//! The contract with the ECS: visiting ranges of rows from several threads at once.

use std::ops::Range;

use bevy::ecs::{
    archetype::{Archetype, ArchetypeEntity, ArchetypeId},
    change_detection::Tick,
    query::{IterQueryData, QueryFilter},
    storage::{Table, TableId, TableRow},
    world::unsafe_world_cell::UnsafeWorldCell,
};
use bevy::prelude::Entity;
use nonmax::NonMaxU32;

use super::matched::Matched;
use crate::placement::Storage;

/// Where the rows of a query are, without what they hold.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'w, 's> {
    pub(crate) world: UnsafeWorldCell<'w>,
    pub(crate) matched: &'s Matched,
}

impl<'w, 's> Rows<'w, 's> {
    /// The tables or archetypes that match, in ascending order.
    pub(crate) fn storages(&self) -> impl Iterator<Item = Storage> + Clone + use<'s> {
        self.matched.storages.iter().copied()
    }

    /// Whether tables are visited, in which rows are contiguous.
    pub(crate) fn is_contiguous(&self) -> bool {
        self.matched.dense
    }

    /// How many rows `storage` has.
    #[inline]
    pub(crate) fn count(&self, storage: Storage) -> u32 {
        match storage {
            Storage::Table(table) => self.table(TableId::from_u32(table)).map_or(0, Table::entity_count),
            Storage::Archetype(archetype) => self.archetype(archetype).map_or(0, Archetype::len),
        }
    }

    /// All rows of the storages that match, those that a filter on rows will skip included.
    pub(crate) fn total(&self) -> u64 {
        self.storages().map(|storage| u64::from(self.count(storage))).sum()
    }

    /// Where `entity` is visited, if it exists and its archetype matches.
    #[inline]
    pub(crate) fn find(&self, entity: Entity) -> Result<(Storage, u32), Missing> {
        let location = self.world.entities().get_spawned(entity).map_err(|_| Missing::Despawned)?;
        let (storage, row) = match self.matched.dense {
            true => (Storage::Table(location.table_id.as_u32()), location.table_row.index()),
            false => (Storage::Archetype(location.archetype_id.index() as u32), location.archetype_row.index()),
        };
        self.matched.contains(storage).then_some((storage, row as u32)).ok_or(Missing::Unmatched)
    }

    #[inline]
    pub(crate) fn table(&self, table: TableId) -> Option<&'w Table> {
        // SAFETY: 'access' on `Sweep`: of a table only its entities, and the columns of the query, are read or written.
        unsafe { self.world.storages() }.tables.get(table)
    }

    #[inline]
    fn archetype(&self, archetype: u32) -> Option<&'w Archetype> {
        self.world.archetypes().get(ArchetypeId::new(archetype as usize))
    }
}

/// Why an entity is not visited.
pub(crate) enum Missing {
    Despawned,
    Unmatched,
}

/// A query's rows, ready to be visited in ranges from any thread.
///
/// # Invariant (access)
/// Made only by `AffineQuery`, whose `SystemParam` registered the access of `D` and `F` with the scheduler, in the world that all the
/// states belong to. For as long as it is used nobody else touches that data, and the world's structure stays as it is; for data that is not
/// read-only its user borrows the `AffineQuery` mutably. Whoever visits rows takes care that no row is visited by two
/// threads, or twice while an item of it is still alive.
pub(crate) struct Sweep<'w, 's, D: IterQueryData, F: QueryFilter> {
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
    /// One thread's means to visit rows.
    pub(crate) fn cursor(&self) -> Cursor<'w, 's, D, F> {
        // SAFETY: 'access' on the type: the state belongs to the world, and access is registered.
        let data = unsafe { D::init_fetch(self.rows.world, self.data, self.last_run, self.this_run) };
        // SAFETY: as above.
        let filter = unsafe { F::init_fetch(self.rows.world, self.filter, self.last_run, self.this_run) };
        Cursor { sweep: *self, data, filter, at: At::Nowhere }
    }
}

/// One thread's position in a [`Sweep`].
pub struct Cursor<'w, 's, D: IterQueryData, F: QueryFilter> {
    sweep: Sweep<'w, 's, D, F>,
    data: D::Fetch<'w>,
    filter: F::Fetch<'w>,
    at: At<'w>,
}

/// The storage that the fetches of a [`Cursor`] were set to.
#[derive(Clone, Copy)]
enum At<'w> {
    Nowhere,
    Table(u32, &'w [Entity]),
    /// With the entities of its table.
    Archetype(u32, &'w [ArchetypeEntity], &'w [Entity]),
}

impl<'w> At<'w> {
    /// The entities of `rows` that stand one after another in their table, and the first one's row there: all of a table's rows at once, an archetype's
    /// one by one.
    #[inline]
    fn runs(self, rows: Range<u32>) -> impl Iterator<Item = (&'w [Entity], u32)> {
        let range = rows.start as usize..rows.end as usize;
        let (whole, scattered): (_, &[ArchetypeEntity]) = match self {
            Self::Nowhere => (None, &[]),
            Self::Table(_, entities) => (Some((&entities[range], rows.start)), &[]),
            Self::Archetype(_, members, _) => (None, &members[range]),
        };
        let single = move |member: &ArchetypeEntity| {
            let row = member.table_row().index();
            let entities = if let Self::Archetype(_, _, entities) = self { entities } else { &[] };
            (&entities[row..=row], row as u32)
        };
        whole.into_iter().chain(scattered.iter().map(single))
    }
}

impl<'w, 's, D: IterQueryData, F: QueryFilter> Cursor<'w, 's, D, F> {
    /// Calls `visit` with the item of each of `rows` that passes the filters, in order.
    ///
    /// # Safety
    /// `storage` matches the query. No other thread visits these rows meanwhile, and no item of them that was handed out before is
    /// still alive.
    #[inline]
    pub(crate) unsafe fn visit(&mut self, storage: Storage, rows: Range<u32>, mut visit: impl FnMut(D::Item<'w, 's>)) {
        let at = self.enter(storage);
        // Copies on the stack: the compiler sees that what `visit` writes is not the column's address, and vectorises.
        let (mut data, mut filter) = (self.data.clone(), self.filter.clone());
        let Sweep { data: data_state, filter: filter_state, .. } = self.sweep;
        // One loop for tables and archetypes alike: `visit` is called in one place only, so that it is inlined however long it is.
        for (entities, first) in at.runs(rows) {
            for (&entity, row) in entities.iter().zip(first..) {
                let row = table_row(row);
                // SAFETY: the storage was entered and the row is in it: the caller's promise.
                if !unsafe { F::filter_fetch(filter_state, &mut filter, entity, row) } {
                    continue;
                }
                // SAFETY: as above; no other item of this row is alive, says the caller.
                if let Some(item) = unsafe { D::fetch(data_state, &mut data, entity, row) } {
                    visit(item);
                }
            }
        }
    }

    /// The item of one row, if it passes the filters.
    ///
    /// Always inlined: an item is a dozen words, which are written one by one and would be read back in pairs. A processor
    /// cannot forward several writes to one read: it waits until they are in the cache, in each row.
    ///
    /// # Safety
    /// As for [`Self::visit`], for as long as the item lives.
    #[inline(always)]
    pub(crate) unsafe fn item(&mut self, storage: Storage, row: u32) -> Option<D::Item<'w, 's>> {
        let (entity, row) = match self.enter(storage) {
            At::Table(_, entities) => (entities[row as usize], table_row(row)),
            At::Archetype(_, entities, _) => (entities[row as usize].id(), entities[row as usize].table_row()),
            At::Nowhere => return None,
        };
        // SAFETY: the storage was entered and the row is in it: indexing checked.
        if !unsafe { F::filter_fetch(self.sweep.filter, &mut self.filter, entity, row) } {
            return None;
        }
        // SAFETY: as above; no other item of this row is alive, says the caller.
        unsafe { D::fetch(self.sweep.data, &mut self.data, entity, row) }
    }

    #[inline]
    fn enter(&mut self, storage: Storage) -> At<'w> {
        match (storage, self.at) {
            (Storage::Table(table), At::Table(entered, _)) if table == entered => {}
            (Storage::Archetype(archetype), At::Archetype(entered, _, _)) if archetype == entered => {}
            _ => self.at = self.set(storage).unwrap_or(At::Nowhere),
        }
        self.at
    }

    #[inline(never)]
    fn set(&mut self, storage: Storage) -> Option<At<'w>> {
        let Sweep { rows, data, filter, .. } = self.sweep;
        match storage {
            Storage::Table(index) => {
                let table = rows.table(TableId::from_u32(index))?;
                // SAFETY: the table matches, and the states belong to its world: 'access' on `Sweep`.
                unsafe { D::set_table(&mut self.data, data, table) };
                // SAFETY: as above.
                unsafe { F::set_table(&mut self.filter, filter, table) };
                Some(At::Table(index, table.entities()))
            }
            Storage::Archetype(index) => {
                let archetype = rows.archetype(index)?;
                let table = rows.table(archetype.table_id())?;
                // SAFETY: the archetype matches, the table is its own, and the states belong to their world: 'access' on `Sweep`.
                unsafe { D::set_archetype(&mut self.data, data, archetype, table) };
                // SAFETY: as above.
                unsafe { F::set_archetype(&mut self.filter, filter, archetype, table) };
                Some(At::Archetype(index, archetype.entities(), table.entities()))
            }
        }
    }
}

#[inline(always)]
fn table_row(row: u32) -> TableRow {
    // SAFETY: a row is less than the number of rows of its table, which is a `u32`.
    TableRow::new(unsafe { NonMaxU32::new_unchecked(row) })
}
