//! Where messages go: the row of an entity, and the part that owns it.

use bevy_ecs::prelude::Entity;

use crate::{
    placement::Storage,
    sweep::{Division, Missing, Owners, Rows},
};

/// A row that a message is for.
pub(crate) type Destination = (Storage, u32);

/// A [`Destination`] as a letter has it. Of one call's receivers all are in tables or all in
/// archetypes, and letters are as short as can be: they are written once and read once, by another
/// core maybe.
#[derive(Clone, Copy)]
pub(super) struct Address {
    storage: u32,
    row: u32,
}

impl Address {
    pub(super) fn of((storage, row): Destination) -> Self {
        Self { storage: storage.index() as u32, row }
    }

    #[inline]
    pub(super) fn destination(self, receivers: &Rows<'_, '_>) -> Destination {
        (receivers.storage_with(self.storage), self.row)
    }
}

/// Finds the part that owns an entity.
pub(super) struct Addresses<'a> {
    rows: Rows<'a, 'a>,
    division: Division<'a>,
    /// Whose the rows of the storage are in which an entity was found last: mostly the next one is
    /// in it too.
    last: Option<(Storage, Owners<'a>)>,
    /// Whether one part owns all rows, so that none of that is asked: where rows are in many tables
    /// a processor often guesses wrong whether the next is where the last was, and waits.
    has_one_owner: bool,
}

impl<'a> Addresses<'a> {
    pub(super) fn new(rows: Rows<'a, 'a>, division: Division<'a>) -> Self {
        Self { rows, division, last: None, has_one_owner: matches!(division, Division::Even { parts: 1 }) }
    }

    /// Where `entity` is, and the part that owns it.
    #[inline]
    pub(super) fn find(&mut self, entity: Entity) -> Result<(Destination, usize), Missing> {
        if self.has_one_owner {
            return self.rows.find(entity).map(|destination| (destination, 0));
        }
        let (storage, row) = self.rows.locate(entity).ok_or(Missing::Despawned)?;
        let owner = match &self.last {
            // All storages of a query are of one kind.
            Some((last, owners)) if last.index() == storage.index() => owners.of(row),
            _ => self.find_elsewhere(storage, row)?,
        };
        Ok(((storage, row), owner))
    }

    #[cold]
    fn find_elsewhere(&mut self, storage: Storage, row: u32) -> Result<usize, Missing> {
        if !self.rows.matched.contains(storage) {
            return Err(Missing::Unmatched);
        }
        let owners = self.division.owners(storage, || self.rows.count(storage));
        Ok(self.last.insert((storage, owners)).1.of(row))
    }
}
