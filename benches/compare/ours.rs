//! The contenders of this crate: all that the comparison calls of it stands here.

use bevy::prelude::*;
use bevy_affinity::prelude::*;

/// Settings that give the gang exactly so many workers, the caller included.
pub fn settings(workers: usize) -> AffinitySettings {
    AffinitySettings { workers: WorkerCount::Exactly(workers), ..default() }
}

pub fn pool(workers: usize) -> AffinityPool {
    AffinityPool::new(&settings(workers))
}

/// A pool whose rounds are recorded in the timeline of an app.
pub fn recorded_pool(workers: usize) -> AffinityPool {
    let mut app = app(workers);
    app.world_mut().resource_mut::<AffinityTimeline>().record(true);
    app.world().resource::<AffinityPool>().clone()
}

/// An app in which tagged systems run on a gang of so many workers.
pub fn app(workers: usize) -> App {
    let mut app = App::new();
    app.insert_resource(settings(workers));
    app.add_plugins(AffinityParallelPlugin);
    app.finish();
    app
}
