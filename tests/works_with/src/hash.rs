//! A hash of the bits of a state, in the order of [`Id`]s.

use std::hash::{DefaultHasher, Hash, Hasher};

use bevy::{
    ecs::query::{QueryData, ReadOnlyQueryData},
    prelude::*,
};

use crate::Id;

/// The hash of what `bits` tells of each entity that has `D`.
pub fn of_entities<D: ReadOnlyQueryData + 'static, const N: usize>(
    app: &mut App,
    bits: impl Fn(<D as QueryData>::Item<'_, '_>) -> [u32; N],
) -> u64 {
    let mut query = app.world_mut().query::<(&Id, D)>();
    of_rows(query.iter(app.world()).map(|(id, row)| (*id, bits(row))))
}

/// The hash of `rows`, in whatever order they come.
pub fn of_rows<B: Hash + Ord>(rows: impl Iterator<Item = (Id, B)>) -> u64 {
    let mut rows: Vec<_> = rows.collect();
    rows.sort_unstable();
    let mut hasher = DefaultHasher::new();
    rows.hash(&mut hasher);
    hasher.finish()
}

/// The bits of two floats.
pub fn bits(vector: Vec2) -> [u32; 2] {
    vector.to_array().map(f32::to_bits)
}
