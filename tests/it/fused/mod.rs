//! Fused kernels are what chained systems are: the same values, the same change ticks, the same
//! place in the schedule.

mod access;
mod differential;
mod faults;
mod kernels;
mod schedules;
mod ticks;

use bevy::prelude::*;

/// How often a row was visited.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
struct Count(u64);

/// The number of a row.
#[derive(Component, Clone, Copy)]
struct Number(usize);

/// Enough rows of any cost for all workers.
const MANY: usize = 10_000;

fn spawn_many(app: &mut App) {
    app.world_mut().spawn_batch((0..MANY).map(|number| (Count(0), Number(number))));
}

/// Asserts that each row was visited so often.
fn assert_counted(app: &mut App, times: u64) {
    let mut counts = app.world_mut().query::<&Count>();
    assert_eq!(counts.iter(app.world()).count(), MANY);
    assert!(counts.iter(app.world()).all(|count| count.0 == times), "not all rows were visited {times} times");
}
