//! What a user sets of the overlay.

use std::{path::PathBuf, time::Duration};

use bevy_ecs::{prelude::Resource, reflect::ReflectResource};
use bevy_input::keyboard::KeyCode;
use bevy_math::Vec2;
use bevy_reflect::{Reflect, std_traits::ReflectDefault};

/// Settings of the [overlay](super::AffinityOverlayPlugin). Insert the resource before the plugin
/// or change it while the app runs.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// App::new()
///     .insert_resource(OverlaySettings { key: KeyCode::F9, visible: true, ..default() })
///     .add_plugins(AffinityParallelPlugin);
/// ```
#[derive(Resource, Clone, Debug, PartialEq, Reflect)]
#[reflect(Resource, Default)]
#[type_path = "bevy_affinity"]
pub struct OverlaySettings {
    /// Shows and hides the panel. The game's `ButtonInput` does not have this key. Default: F3.
    pub key: KeyCode,
    /// Whether the panel is on show. Default: no.
    pub visible: bool,
    /// Where the panel's top left corner is at first, in logical pixels right of and below the
    /// window's. Default: 12, 12.
    pub position: Vec2,
    /// How often numbers and bars are brought up to date, in times a second; no more than 10, which
    /// is as fast as one can read. Default: 5.
    pub refresh_rate: f32,
    /// How long a frame may take: a line in the timeline and in the history of frames. Default:
    /// 16.7 ms, 60 frames a second.
    pub budget: Duration,
    /// Whether clicks, scrolling, and keys typed into the panel are kept from the game while the
    /// panel is on show. This holds for all of egui: other windows of it keep their input too.
    /// Default: yes.
    pub absorb_input: bool,
    /// Where 'Save trace' puts its files. Default: the folder that the program was started in.
    pub trace_folder: PathBuf,
}

impl Default for OverlaySettings {
    fn default() -> Self {
        Self {
            key: KeyCode::F3,
            visible: false,
            position: Vec2::splat(12.0),
            refresh_rate: 5.0,
            budget: Duration::from_secs(1) / 60,
            absorb_input: true,
            trace_folder: PathBuf::new(),
        }
    }
}

impl OverlaySettings {
    /// The time from one refresh to the next.
    pub(super) fn interval(&self) -> Duration {
        let rate = if self.refresh_rate.is_nan() { Self::default().refresh_rate } else { self.refresh_rate };
        Duration::from_secs_f32(1.0 / rate.clamp(0.1, 10.0))
    }
}
