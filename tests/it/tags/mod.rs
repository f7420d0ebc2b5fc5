//! What `.affine()` promises: tagged systems are ordinary systems to the rest of the schedule, on
//! the main thread and on the gang.

mod access;
mod added;
mod ambiguities;
mod configured;
mod deferred;
mod late;
mod one_shot;
mod removed;
mod skipped;
mod threads;

use bevy::prelude::*;

/// What has run, in order.
#[derive(Resource, Default)]
struct Trace(Vec<&'static str>);

fn first(mut trace: ResMut<Trace>) {
    trace.0.push("first");
}

fn second(mut trace: ResMut<Trace>) {
    trace.0.push("second");
}

fn third(mut trace: ResMut<Trace>) {
    trace.0.push("third");
}

fn fourth(mut trace: ResMut<Trace>) {
    trace.0.push("fourth");
}

/// Runs a frame and returns what was traced in it.
fn traced_frame(app: &mut App) -> Vec<&'static str> {
    app.init_resource::<Trace>().update();
    std::mem::take(&mut app.world_mut().resource_mut::<Trace>().0)
}

/// A component whose rows are counted up.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
struct Count(u64);

/// Enough rows for a first sweep, whose cost is not known yet, to go parallel.
const MANY: usize = 5000;

fn spawn_many(app: &mut App) {
    app.world_mut().spawn_batch((0..MANY).map(|_| Count(0)));
}

fn count_up(mut counts: bevy_affinity::AffineQuery<&mut Count>) {
    counts.par_iter_mut().for_each(|mut count| count.0 += 1);
}

/// Asserts that each of the many rows was counted up so many times.
fn assert_counted(app: &mut App, times: u64) {
    let mut counts = app.world_mut().query::<&Count>();
    assert_eq!(counts.iter(app.world()).filter(|count| count.0 == times).count(), MANY);
}
