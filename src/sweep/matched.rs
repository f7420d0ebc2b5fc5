//! Which tables or archetypes a query visits, kept in a form that is quick to walk and to ask.

use bevy_ecs::{
    archetype::{ArchetypeGeneration, Archetypes},
    component::ComponentId,
    query::{QueryData, QueryFilter, QueryState},
};

use crate::placement::Storage;

/// The storages of one query, in ascending order.
pub struct Matched {
    generation: ArchetypeGeneration,
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
        Self {
            generation: ArchetypeGeneration::initial(),
            dense,
            storages: Vec::new(),
            components: Vec::new(),
            contains: Vec::new(),
        }
    }

    /// Takes over what `query`, which is up to date, matches now. Storages only ever come: one look
    /// suffices while no archetype is new.
    pub(crate) fn update<D: QueryData, F: QueryFilter>(&mut self, query: &QueryState<D, F>, archetypes: &Archetypes) {
        if self.generation == archetypes.generation() && !self.storages.is_empty() {
            return;
        }
        self.generation = archetypes.generation();
        let access = query.component_access().access().try_iter_access();
        self.components.clear();
        self.components.extend(access.into_iter().flatten().map(|access| *access.index()));
        self.storages.clear();
        if self.dense {
            self.storages.extend(query.matched_tables().map(|table| Storage::Table(table.as_u32())));
        } else {
            let archetypes = query.matched_archetypes().map(|archetype| archetype.index() as u32);
            self.storages.extend(archetypes.map(Storage::Archetype));
        }
        self.note_contained();
    }

    /// Takes over what any of `parts`, which are up to date and visit the same kind of storages,
    /// contains now.
    pub(crate) fn unite<'a>(&mut self, parts: impl Iterator<Item = &'a Self>, archetypes: &Archetypes) {
        if self.generation == archetypes.generation() && !self.storages.is_empty() {
            return;
        }
        self.generation = archetypes.generation();
        self.storages.clear();
        parts.for_each(|part| self.storages.extend(&part.storages));
        self.storages.sort_unstable_by_key(|storage| storage.index());
        self.storages.dedup();
        self.note_contained();
    }

    fn note_contained(&mut self) {
        for storage in &self.storages {
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
