//! The times of all rows of an agenda: where `Due` stands in the tables.

use std::marker::PhantomData;

use bevy_ecs::{
    component::ComponentId,
    prelude::Entity,
    storage::{Table, TableId, TableRow},
    world::unsafe_world_cell::UnsafeWorldCell,
};

use super::component::Due;
use crate::{placement::Storage, sweep::Rows};

/// One thread's means to look at times of single rows: of those of the storage that it was last
/// asked for it knows where they are.
pub(super) struct TimesLookup<'w, A: Send + Sync + 'static> {
    times: Times<'w, A>,
    /// That storage, by its number; at first none.
    entered: usize,
    column: Option<&'w [Due<A>]>,
}

impl<'w, A: Send + Sync + 'static> TimesLookup<'w, A> {
    /// The time of the row of a table that `storage` is in, or is.
    #[inline]
    pub(super) fn of_row(&mut self, rows: Rows<'_, '_>, storage: Storage, row: TableRow) -> Option<&'w Due<A>> {
        if self.entered != storage.index() {
            (self.entered, self.column) = (storage.index(), self.times.of_storage(rows, storage));
        }
        self.column.map(|column| &column[row.index()])
    }
}

/// The columns of `Due<A>`.
///
/// # Invariant (times)
/// Made only for an [`Agenda`](super::Agenda), whose `init_access` registered write access to
/// `Due<A>` in `world`, where `component` is its id. Times are only read and written as the atomics
/// that they are, through shared references, while the world's structure stays as it is.
pub(crate) struct Times<'w, A> {
    pub(super) world: UnsafeWorldCell<'w>,
    pub(super) component: ComponentId,
    pub(super) agenda: PhantomData<fn() -> A>,
}

impl<A> Clone for Times<'_, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for Times<'_, A> {}

impl<'w, A: Send + Sync + 'static> Times<'w, A> {
    pub(super) fn lookup(self) -> TimesLookup<'w, A> {
        TimesLookup { times: self, entered: usize::MAX, column: None }
    }

    /// The times of the rows of a table; `None` if they have none.
    #[inline]
    pub(super) fn of_table(&self, table: TableId) -> Option<&'w [Due<A>]> {
        // SAFETY: 'times' on the type: of a table only this column is looked at.
        self.column(unsafe { self.world.storages() }.tables.get(table)?)
    }

    #[inline]
    fn column(&self, table: &'w Table) -> Option<&'w [Due<A>]> {
        // SAFETY: 'times' on the type: the component is `Due<A>`.
        let cells = unsafe { table.get_data_slice_for::<Due<A>>(self.component) }?;
        // SAFETY: 'times' on the type: there are shared references only, and `UnsafeCell<T>` has
        // the layout of `T`.
        Some(unsafe { std::slice::from_raw_parts(cells.as_ptr().cast::<Due<A>>(), cells.len()) })
    }

    /// The time of an entity; `None` if it has none, or does not exist.
    pub(super) fn of_entity(&self, entity: Entity) -> Option<&'w Due<A>> {
        let location = self.world.entities().get_spawned(entity).ok()?;
        self.of_table(location.table_id)?.get(location.table_row.index())
    }

    /// The times of the rows of the table that those of `storage` are in; `None` if they have none.
    #[inline]
    pub(super) fn of_storage(&self, rows: Rows<'_, '_>, storage: Storage) -> Option<&'w [Due<A>]> {
        self.of_table(rows.table_of(storage)?)
    }

    /// How many rows have times.
    pub(super) fn count(&self) -> u64 {
        self.tables().map(|(entities, _)| entities.len() as u64).sum()
    }

    /// All tables whose rows have times: their entities, and the times of those.
    pub(super) fn tables(&self) -> impl Iterator<Item = (&'w [Entity], &'w [Due<A>])> + use<'w, A> {
        let times = *self;
        // SAFETY: as for `of_table`.
        let tables = unsafe { self.world.storages() }.tables.iter();
        tables.filter_map(move |table| Some((table.entities(), times.column(table)?)))
    }
}
