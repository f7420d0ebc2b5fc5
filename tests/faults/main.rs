//! What goes wrong in a game, or comes at the wrong moment: results stay right and the app goes on.

mod aborts;
mod apps;
mod child;
#[path = "../common/mod.rs"]
mod common;
mod extremes;
mod leads;
mod locks;
#[path = "../common/mix.rs"]
mod mix;
mod nested;
mod panics;
mod settings;
mod shapes;
#[path = "../common/tables.rs"]
mod tables;
mod thread_ends;
mod waits;

use bevy::prelude::*;
use bevy_affinity::prelude::*;

/// A component whose rows are counted up.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
struct Count(u64);

/// Enough rows for a first sweep, whose cost is not known yet, to go parallel.
const MANY: usize = 5000;

fn spawn_many(app: &mut App) {
    app.world_mut().spawn_batch((0..MANY).map(|_| Count(0)));
}

fn count_up(mut counts: AffineQuery<&mut Count>) {
    counts.par_iter_mut().for_each(|mut count| count.0 += 1);
}

/// Asserts that each of the many rows was counted up so many times.
fn assert_counted(app: &mut App, times: u64) {
    let mut counts = app.world_mut().query::<&Count>();
    assert_eq!(counts.iter(app.world()).filter(|count| count.0 == times).count(), MANY);
}
