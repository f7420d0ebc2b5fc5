//! The contenders of this crate: how a comparison gets a pool or an app of it.

use bevy::ecs::schedule::{ScheduleLabel, SingleThreadedExecutor};
use bevy::prelude::*;
use bevy_affinity::prelude::*;

/// Settings that give the gang exactly so many workers, the caller included.
pub fn settings(workers: usize) -> AffinitySettings {
    AffinitySettings { workers: WorkerCount::Exactly(workers), ..default() }
}

pub fn pool(workers: usize) -> AffinityPool {
    AffinityPool::new(&settings(workers))
}

/// An app in which tagged systems run on a gang of so many workers.
pub fn app(workers: usize) -> App {
    app_with(settings(workers))
}

pub fn app_with(settings: AffinitySettings) -> App {
    let mut app = App::new();
    app.insert_resource(settings);
    app.add_plugins(AffinityParallelPlugin);
    app.finish();
    app
}

/// Has a schedule keep the executor that it has: Bevy's default, unless it was given another.
pub fn leave_alone(app: &mut App, label: impl ScheduleLabel) {
    if let Some(mut schedules) = app.world_mut().get_resource_mut::<AffinitySchedules>() {
        schedules.set(label, false);
    }
}

/// Runs the systems of a schedule one after another on the calling thread.
pub fn run_on_one_thread(app: &mut App, label: impl ScheduleLabel) {
    let label = label.intern();
    leave_alone(app, label);
    app.edit_schedule(label, |schedule| {
        schedule.set_executor(SingleThreadedExecutor::new());
    });
}
