//! A parallel sweep has no `reduce` of rayon's, and is not collected.

use bevy::prelude::*;
use bevy_affinity::prelude::*;

#[derive(Component)]
struct Health(u32);

fn healths_are_added(healths: AffineQuery<&Health>) {
    let _ = healths.par_iter().reduce(|| 0, |a, b| a + b);
}

fn healths_are_numbered(healths: AffineQuery<&Health>) {
    healths.par_iter().enumerate().for_each(|(number, health)| assert!(number as u32 <= health.0));
}

fn healths_are_collected(healths: AffineQuery<&Health>) {
    let _: Vec<_> = healths.par_iter().collect();
}

fn main() {}
