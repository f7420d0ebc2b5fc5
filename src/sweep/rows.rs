//! Which rows a sweep visits, one storage after another: all that its query matches, or some of
//! them.

use bevy_ecs::{
    archetype::{Archetype, ArchetypeGeneration, ArchetypeId, Archetypes},
    change_detection::Tick,
    component::{ComponentId, Components},
    prelude::Entity,
    query::{ComponentAccessKind, QueryData, QueryFilter, QueryState},
    storage::{Table, TableId},
    world::unsafe_world_cell::UnsafeWorldCell,
};

use super::selection::Selection;
use crate::placement::Storage;

/// Where the rows of a query are, without what they hold.
#[derive(Clone, Copy)]
pub struct Rows<'w, 's> {
    pub(crate) world: UnsafeWorldCell<'w>,
    pub(crate) matched: &'s Matched,
    /// Those that a sweep visits, if not all.
    pub(crate) selection: Option<&'s Selection>,
}

impl<'w, 's> Rows<'w, 's> {
    pub(crate) fn new(world: UnsafeWorldCell<'w>, matched: &'s Matched) -> Self {
        Self { world, matched, selection: None }
    }

    /// The tables or archetypes that match, in ascending order.
    pub(crate) fn storages(&self) -> impl Iterator<Item = Storage> + Clone + use<'s> {
        self.matched.storages.iter().copied()
    }

    /// The storage with this number, which matches, and its place in the order of storages.
    pub(crate) fn storage_of(&self, number: usize) -> (u32, Storage) {
        let storages = &self.matched.storages;
        let place = storages.binary_search_by_key(&number, |storage| storage.index());
        let place = place.expect("storages that match are in ascending order");
        (place as u32, storages[place])
    }

    /// The storage with this number, of the kind that the query visits.
    #[inline]
    pub(crate) fn storage_with(&self, number: u32) -> Storage {
        if self.matched.dense { Storage::Table(number) } else { Storage::Archetype(number) }
    }

    /// How many rows `storage` has.
    #[inline]
    pub(crate) fn count(&self, storage: Storage) -> u32 {
        match storage {
            Storage::Table(table) => self.table(TableId::from_u32(table)).map_or(0, Table::entity_count),
            Storage::Archetype(archetype) => self.archetype(archetype).map_or(0, Archetype::len),
        }
    }

    /// All rows that a sweep visits, those that a filter on rows will skip included.
    #[inline]
    pub(crate) fn total(&self) -> u64 {
        if let Some(selection) = self.selection {
            return selection.rows();
        }
        self.all()
    }

    /// All rows of the storages that match.
    #[inline]
    pub(crate) fn all(&self) -> u64 {
        self.storages().map(|storage| u64::from(self.count(storage))).sum()
    }

    /// Where `entity` is visited, if it exists and its archetype matches.
    #[inline]
    pub(crate) fn find(&self, entity: Entity) -> Result<(Storage, u32), Missing> {
        let (storage, row) = self.locate(entity).ok_or(Missing::Despawned)?;
        self.matched.contains(storage).then_some((storage, row)).ok_or(Missing::Unmatched)
    }

    /// Where `entity` is, if it exists: in a storage of the kind that the query visits, whether or
    /// not that matches.
    #[inline]
    pub(crate) fn locate(&self, entity: Entity) -> Option<(Storage, u32)> {
        let location = self.world.entities().get_spawned(entity).ok()?;
        let (storage, row) = match self.matched.dense {
            true => (Storage::Table(location.table_id.as_u32()), location.table_row.index()),
            false => (Storage::Archetype(location.archetype_id.index() as u32), location.archetype_row.index()),
        };
        Some((storage, row as u32))
    }

    #[inline]
    pub(crate) fn table(&self, table: TableId) -> Option<&'w Table> {
        // SAFETY: 'access' on `Sweep`: of a table only its entities, and the columns of the query,
        // are read or written.
        unsafe { self.world.storages() }.tables.get(table)
    }

    /// The table that the rows of `storage` are in.
    #[inline]
    pub(crate) fn table_of(&self, storage: Storage) -> Option<TableId> {
        match storage {
            Storage::Table(table) => Some(TableId::from_u32(table)),
            Storage::Archetype(archetype) => self.archetype(archetype).map(Archetype::table_id),
        }
    }

    #[inline]
    pub(super) fn archetype(&self, archetype: u32) -> Option<&'w Archetype> {
        self.world.archetypes().get(ArchetypeId::new(archetype as usize))
    }
}

/// Why an entity is not visited.
pub(crate) enum Missing {
    Despawned,
    Unmatched,
}

/// The storages of one query, in ascending order.
pub struct Matched {
    /// Of the archetypes that were looked at; `None` before the first look.
    generation: Option<ArchetypeGeneration>,
    /// Whether whole tables match, so that tables are visited and not archetypes.
    pub(crate) dense: bool,
    pub(crate) storages: Vec<Storage>,
    /// What a visit may read or write.
    pub(super) components: Vec<ComponentId>,
    /// By number of the table or archetype.
    contains: Vec<bool>,
}

impl Matched {
    pub(crate) fn new(dense: bool) -> Self {
        Self { generation: None, dense, storages: Vec::new(), components: Vec::new(), contains: Vec::new() }
    }

    /// Takes over what `query`, which is up to date, matches now. Storages only ever come: one look
    /// suffices while no archetype is new.
    pub(crate) fn update<D: QueryData, F: QueryFilter>(&mut self, query: &QueryState<D, F>, archetypes: &Archetypes) {
        let generation = Some(archetypes.generation());
        if self.generation == generation {
            return;
        }
        if self.generation.is_none() {
            let access = query.component_access().access().try_iter_access();
            self.components.extend(access.into_iter().flatten().filter_map(|access| match access {
                ComponentAccessKind::Shared(component) | ComponentAccessKind::Exclusive(component) => Some(component),
                ComponentAccessKind::Archetypal(_) => None,
            }));
        }
        self.generation = generation;
        let (known, contains) = (self.storages.len(), &self.contains);
        let is_new = |storage: &Storage| !contains.get(storage.index()).copied().unwrap_or(false);
        if self.dense {
            let tables = query.matched_tables().map(|table| Storage::Table(table.as_u32()));
            self.storages.extend(tables.filter(is_new));
        } else {
            let archetypes = query.matched_archetypes().map(|archetype| Storage::Archetype(archetype.index() as u32));
            self.storages.extend(archetypes.filter(is_new));
        }
        self.note_contained(known);
        // New ones have the highest numbers, but Bevy does not promise it.
        if !self.storages[known.saturating_sub(1)..].is_sorted_by_key(|storage| storage.index()) {
            self.storages.sort_unstable_by_key(|storage| storage.index());
        }
    }

    /// Takes over what any of `parts`, which are up to date and visit the same kind of storages,
    /// contains now. False if that is as before.
    pub(crate) fn unite<'a>(&mut self, parts: impl Iterator<Item = &'a Self>, archetypes: &Archetypes) -> bool {
        let generation = Some(archetypes.generation());
        if self.generation == generation {
            return false;
        }
        self.generation = generation;
        self.storages.clear();
        self.components.clear();
        for part in parts {
            self.storages.extend(&part.storages);
            self.components.extend(&part.components);
        }
        self.storages.sort_unstable_by_key(|storage| storage.index());
        self.storages.dedup();
        self.components.sort_unstable();
        self.components.dedup();
        self.note_contained(0);
        true
    }

    /// Bytes of a row, with a change tick for each component.
    pub(crate) fn row_bytes(&self, components: &Components) -> usize {
        let sizes = self.components.iter().filter_map(|&component| components.get_info(component));
        sizes.map(|info| info.layout().size() + size_of::<Tick>()).sum()
    }

    /// Notes the storages from the first one that is `new` on.
    fn note_contained(&mut self, new: usize) {
        for storage in &self.storages[new..] {
            let index = storage.index();
            if self.contains.len() <= index {
                self.contains.resize(index + 1, false);
            }
            self.contains[index] = true;
        }
    }

    #[inline]
    pub(crate) fn contains(&self, storage: Storage) -> bool {
        self.contains.get(storage.index()).copied().unwrap_or(false)
    }
}
