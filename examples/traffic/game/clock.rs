//! Steps the city: how many seconds of its time pass in a frame.

use std::time::Instant;

use bevy::prelude::*;

use super::shared::{Clock, Frame, FrameParts};
use crate::simulation::Step;

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Clock>().add_systems(Update, advance.in_set(Frame::Simulate));
}

/// One step for each second of the player's time, times the speed.
fn advance(world: &mut World) {
    let seconds = world.resource::<Time>().delta_secs();
    let mut clock = *world.resource::<Clock>();
    if clock.paused {
        return;
    }
    let start = Instant::now();
    clock.alpha += seconds * clock.speed as f32;
    let steps = (clock.alpha.floor() as u32).min(clock.speed);
    (0..steps).for_each(|_| world.run_schedule(Step));
    clock.alpha = clock.alpha.fract();
    *world.resource_mut::<Clock>() = clock;
    world.resource_mut::<FrameParts>().simulate = start.elapsed();
}
