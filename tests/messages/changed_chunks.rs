//! Slices of rows that changed would have holes.

use bevy::prelude::*;
use bevy_affinity::prelude::*;

#[derive(Component)]
struct Health(u32);

fn heal(mut healths: AffineQuery<&mut Health, Changed<Health>>) {
    healths.par_iter_mut().for_each_chunk(|healths| healths.iter_mut().for_each(|health| health.0 += 1));
}

fn main() {}
