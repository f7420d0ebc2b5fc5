//! Bevy's compute pool with as many threads as our gang.

use bevy::tasks::{ComputeTaskPool, TaskPoolBuilder};

/// Bevy's compute pool is one per process, so it is made once, before anything can start it with
/// another size.
pub fn start(workers: usize) {
    ComputeTaskPool::get_or_init(|| TaskPoolBuilder::new().num_threads(workers).build());
}
