//! The contenders of this crate: how a comparison gets a pool or an app of it.

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
