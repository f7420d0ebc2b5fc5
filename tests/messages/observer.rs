//! Nor can an observer.

use bevy::prelude::*;
use bevy_affinity::prelude::*;

#[derive(Event)]
struct Hit;

fn on_hit(_: On<Hit>) {}

fn main() {
    App::new().add_systems(Update, on_hit.affine());
}
