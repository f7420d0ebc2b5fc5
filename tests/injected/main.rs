//! Faults of the machine, injected for real: threads and places that the system refuses, cores that
//! come and go, processes that are stopped, panics that abort. Each test runs in a process of its
//! own, and looks at it from outside too.
//!
//! What needs a privilege that is not there is skipped, and says so.
#![cfg(target_os = "linux")]

mod aborts;
mod alone;
#[path = "../../benches/never_slower/cgroup.rs"]
mod cgroup;
#[path = "../common/mod.rs"]
#[allow(dead_code, reason = "each test crate uses a part of it")]
mod common;
mod cores;
mod cpuset;
mod ends;
mod filter;
mod gang;
mod log;
mod neighbour;
mod quota;
mod refused;
mod said_once;
mod stopped;

use bevy::prelude::*;
use bevy_affinity::prelude::*;

/// A component whose rows are counted up.
#[derive(Component)]
struct Count(u64);

/// Enough rows for a first sweep, whose cost is not known yet, to go parallel.
const ROWS: usize = 5000;

fn count_up(mut counts: AffineQuery<&mut Count>) {
    counts.par_iter_mut().for_each(|mut count| count.0 += 1);
}

/// An app that counts its rows up once a frame.
fn counting(mut app: App) -> App {
    app.world_mut().spawn_batch((0..ROWS).map(|_| Count(0)));
    app.add_systems(Update, count_up.affine());
    app
}

/// Runs `frames` more frames, of which each must reach every row once.
fn assert_frames(app: &mut App, frames: u64) {
    let counts = |app: &mut App| {
        let mut counts = app.world_mut().query::<&Count>();
        counts.iter(app.world()).map(|count| count.0).collect::<Vec<_>>()
    };
    let expected: Vec<_> = counts(app).into_iter().map(|count| count + frames).collect();
    (0..frames).for_each(|_| app.update());
    assert_eq!(expected.len(), ROWS);
    assert!(counts(app) == expected, "a frame left rows out, or reached some twice");
}

/// How many workers the app's pool has.
fn workers(app: &App) -> usize {
    app.world().resource::<AffinityPool>().workers()
}
