//! Not all data has slices.

use bevy::prelude::*;
use bevy_affinity::prelude::*;

#[derive(Component)]
struct Health;

fn look(healths: AffineQuery<Has<Health>>) {
    healths.par_iter().for_each_chunk(|_| {});
}

fn main() {}
