//! The order of rows: by where they lie. Bevy's own queries visit tables in an order that nobody
//! promises, and that differs between worlds.

use bevy::{
    ecs::entity::{Entities, EntityLocation},
    prelude::Entity,
};

/// Table by table, as queries are swept whose components are all in tables.
pub fn by_table<T>(entities: &Entities, rows: impl IntoIterator<Item = (Entity, T)>) -> Vec<(Entity, T)> {
    sorted(entities, rows, |place| (place.table_id.as_usize(), place.table_row.index()))
}

/// Archetype by archetype, as all other queries are swept.
pub fn by_archetype<T>(entities: &Entities, rows: impl IntoIterator<Item = (Entity, T)>) -> Vec<(Entity, T)> {
    sorted(entities, rows, |place| (place.archetype_id.index(), place.archetype_row.index()))
}

fn sorted<T>(
    entities: &Entities,
    rows: impl IntoIterator<Item = (Entity, T)>,
    key: impl Fn(EntityLocation) -> (usize, usize),
) -> Vec<(Entity, T)> {
    let place = |entity| key(entities.get_spawned(entity).expect("a row's entity exists"));
    let mut rows: Vec<_> = rows.into_iter().map(|(entity, row)| (place(entity), (entity, row))).collect();
    rows.sort_by_key(|&(place, _)| place);
    rows.into_iter().map(|(_, row)| row).collect()
}
