//! The camera.

use bevy::prelude::*;

use super::shared::{CameraView, Cursor};

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<CameraView>().init_resource::<Cursor>().add_systems(Startup, spawn);
}

fn spawn(mut commands: Commands) {
    commands.spawn((Camera2d, Msaa::Off));
}
