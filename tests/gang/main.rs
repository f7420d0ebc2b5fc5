//! Tests that need the gang, of which a process has one: some of their closures wait until another
//! worker takes part. So they take turns, as those of `it` do not.

mod batched;
mod batched_panics;
#[path = "../common/mod.rs"]
#[allow(dead_code, reason = "each test crate uses a part of it")]
mod common;
mod heartbeat;
mod heartbeat_mode;
mod joins_that_panic;
mod participants;
mod short_calls;
#[path = "../common/tables.rs"]
mod tables;

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bevy_affinity::prelude::*;

/// How long closures wait for each other before a test fails: other tests may have the cores for a
/// while.
const PATIENCE: Duration = Duration::from_secs(30);

/// All pools and apps of a process share one gang, and who does not get it runs on the spot.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn pool(workers: usize) -> AffinityPool {
    AffinityPool::new(&AffinitySettings {
        workers: WorkerCount::Exactly(workers),
        avoid_busy_cores: false,
        ..Default::default()
    })
}
