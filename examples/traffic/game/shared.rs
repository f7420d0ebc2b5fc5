//! What the parts of the game tell each other.

use std::time::Duration;

use bevy::math::Rect;
use bevy::prelude::*;

/// What the game is doing.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GameState {
    #[default]
    Loading,
    Playing,
}

/// The order of things in one frame, in `Update` while playing.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Frame {
    /// Keys and the mouse are heard, the camera moves.
    Input,
    /// The city moves on.
    Simulate,
    /// What is in view is made ready for drawing.
    Pack,
}

/// How fast the city's time goes.
#[derive(Resource, Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    pub paused: bool,
    /// Seconds of the city's time in one of the player's.
    pub speed: u32,
    /// Where the picture is between the last step but one (0) and the last (1).
    pub alpha: f32,
}

impl Default for Clock {
    fn default() -> Self {
        Self { paused: false, speed: 1, alpha: 1.0 }
    }
}

/// What the player has clicked, by its number.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    #[default]
    None,
    Intersection(u32),
    Road(u32),
    Car(u32),
}

/// The car that the camera goes with.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Follow(pub Option<u32>);

/// Where the camera is to go, in metres east and north of the map's centre.
#[derive(Resource, Clone, Copy, Debug, Default)]
pub struct Destination(pub Option<Vec2>);

/// Where the mouse points at on the map.
#[derive(Resource, Clone, Copy, Debug, Default)]
pub struct Cursor {
    /// Metres east and north of the map's centre; none over a panel or outside the window.
    pub world: Option<Vec2>,
}

/// What the camera sees.
#[derive(Resource, Clone, Copy, Debug)]
pub struct CameraView {
    /// Metres east and north of the map's centre.
    pub centre: Vec2,
    /// For logical pixels, as the window counts them.
    pub metres_per_pixel: f32,
    /// The part of the map in the window, in metres.
    pub visible: Rect,
}

impl CameraView {
    /// Logical pixels from the window's upper left corner.
    pub fn window_position(&self, place: Vec2) -> Vec2 {
        let corner = Vec2::new(self.visible.min.x, self.visible.max.y);
        (place - corner) * Vec2::new(1.0, -1.0) / self.metres_per_pixel
    }
}

impl Default for CameraView {
    fn default() -> Self {
        Self { centre: Vec2::ZERO, metres_per_pixel: 1.0, visible: Rect::EMPTY }
    }
}

/// Where the car is that is selected or followed, as drawn.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq)]
pub struct Tracked(pub Option<TrackedCar>);

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrackedCar {
    pub car: u32,
    /// The road it is on.
    pub road: u32,
    /// Metres east and north of the map's centre.
    pub position: Vec2,
}

/// How long the parts of the last frame took.
#[derive(Resource, Clone, Copy, Debug, Default)]
pub struct FrameParts {
    /// All steps of the frame.
    pub simulate: Duration,
    /// Finding what is in view and packing it for the GPU, on all workers.
    pub pack: Duration,
    /// Recording and submitting what is drawn, on the CPU; on a software rasteriser the drawing
    /// itself too.
    pub draw: Duration,
    /// The whole frame, from one to the next.
    pub frame: Duration,
    /// Cars and signals in the picture.
    pub drawn: u32,
}
