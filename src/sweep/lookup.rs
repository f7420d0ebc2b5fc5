//! Visiting single rows, in any order.

use bevy_ecs::{
    prelude::Entity,
    query::{IterQueryData, QueryFilter},
    storage::TableRow,
};

use super::fetch::{At, StorageFetch, Sweep, table_row};
use crate::placement::Storage;

impl<'w, 's, D: IterQueryData, F: QueryFilter> Sweep<'w, 's, D, F> {
    /// One thread's means to visit single rows.
    pub(crate) fn lookup(&self) -> RowLookup<'w, 's, D, F> {
        RowLookup { sweep: *self, fetch: self.fetch_nothing(), entered: None }
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
        // SAFETY: the caller's promise.
        let (entity, row, item) = unsafe { self.row(storage, row) }?;
        Some((item?, entity, row))
    }

    /// The entity of one row, its row in the table, and its item if it passes the filters; nothing
    /// if there is no such storage.
    ///
    /// # Safety
    /// As for [`item`](Self::item).
    #[inline(always)]
    pub(crate) unsafe fn row(
        &mut self,
        storage: Storage,
        row: u32,
    ) -> Option<(Entity, TableRow, Option<D::Item<'w, 's>>)> {
        if self.entered != Some(storage.index()) {
            // SAFETY: the storage matches: the caller's promise.
            unsafe { self.enter(storage) }?;
        }
        let StorageFetch { data, filter, at } = &mut self.fetch;
        let (entity, row) = match *at {
            At::Table(entities) => (entities[row as usize], table_row(row)),
            At::Archetype(members, _) => (members[row as usize].id(), members[row as usize].table_row()),
        };
        // SAFETY: the storage was entered and the row is in it: indexing checked. No other item of
        // this row is alive, says the caller.
        Some((entity, row, unsafe { self.sweep.item(data, filter, entity, row) }))
    }

    /// # Safety
    /// `storage` matches the query.
    #[inline(never)]
    unsafe fn enter(&mut self, storage: Storage) -> Option<()> {
        self.entered = None;
        // SAFETY: the caller's promise.
        unsafe { self.sweep.enter(&mut self.fetch, storage) }?;
        self.entered = Some(storage.index());
        Some(())
    }
}
