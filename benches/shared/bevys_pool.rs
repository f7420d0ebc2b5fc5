//! Bevy's compute pool with as many threads as our gang, or as it makes it by itself.

use bevy::app::TaskPoolOptions;
use bevy::tasks::{ComputeTaskPool, TaskPoolBuilder};

/// Bevy's compute pool is one per process, so it is made once, before anything can start it with
/// another size.
pub fn start(workers: usize) {
    ComputeTaskPool::get_or_init(|| TaskPoolBuilder::new().num_threads(workers).build());
}

/// As an app does that says nothing of pools: one compute thread on two cores, eight on sixteen.
pub fn start_by_default() {
    TaskPoolOptions::default().create_default_pools();
}
