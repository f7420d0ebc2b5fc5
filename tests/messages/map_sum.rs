//! A parallel sweep is no iterator.

use bevy::prelude::*;
use bevy_affinity::prelude::*;

#[derive(Component)]
struct Health(u32);

fn add_up(healths: AffineQuery<&Health>) -> u32 {
    healths.par_iter().map(|health| health.0).sum()
}

fn main() {}
