//! Nor a run condition.

use bevy::prelude::*;
use bevy_affinity::prelude::*;

#[derive(Component)]
struct Health(u32);

fn anybody_alive(healths: AffineQuery<&Health>) -> bool {
    healths.iter().any(|health| health.0 > 0)
}

fn fight() {}

fn main() {
    App::new().add_systems(Update, fight.run_if(anybody_alive.affine()));
}
