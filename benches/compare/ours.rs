//! The contenders of this crate: all that the comparison calls of it stands here.

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::shared;
pub use crate::shared::ours::{pool, run_on_one_thread, settings};

/// An app in which tagged systems run on a gang of so many workers, in lock step: what a mode that
/// chooses makes of it is not compared here.
pub fn app(workers: usize) -> App {
    let mut app = shared::ours::app(workers);
    app.insert_resource(SchedulerMode::LockStep);
    app
}

/// An app whose timeline records the rounds of its pool, for as long as it is there.
pub fn recorded_app(workers: usize) -> App {
    let mut app = app(workers);
    app.world_mut().resource_mut::<AffinityTimeline>().record(true);
    app
}
