//! Rows that are woken by all workers at a time: the earliest time counts, in any order of wakes.

use std::hint::black_box;

use bevy::{ecs::system::RunSystemOnce, prelude::*};
use bevy_affinity::prelude::*;

use crate::due::{Now, chain};
use crate::{common::Scheduling, mix::mix_slowly};

/// Enough for a first call, whose cost is not known yet, to go parallel.
const ROWS: u64 = 5_000;

/// The number of rows that half of all wakes go to, where they meet.
const CROWDED: u64 = 64;

/// The latest time that rows are woken for.
const LAST: u64 = 1_000;

/// Frames after which all times are noted, if nothing is due in them.
const QUIET: u32 = 10;

#[derive(Component)]
struct Number(u64);

/// All rows, by number.
#[derive(Resource)]
struct Sleepers(Vec<Entity>);

/// Tells which rows are woken; without it none is.
#[derive(Resource)]
struct Seed(Option<u64>);

/// The rows that a row wakes, and their times.
fn wakes(number: u64, seed: u64) -> [(usize, u64); 4] {
    [0, 1, 2, 3].map(|wake| {
        let hash = mix_slowly(chain(number, 4 * seed + wake));
        let among = if wake % 2 == 0 { CROWDED } else { ROWS };
        ((hash % among) as usize, 1 + (hash >> 32) % LAST)
    })
}

fn wake(rows: AffineQuery<&Number>, agenda: Agenda, sleepers: Res<Sleepers>, seed: Res<Seed>) {
    let Some(seed) = seed.0 else { return };
    rows.par_iter().for_each(|number| {
        for (sleeper, time) in wakes(number.0, seed) {
            assert!(agenda.wake(sleepers.0[sleeper], time));
        }
    });
}

fn visit(rows: AffineQuery<&Number>, mut agenda: Agenda, now: Res<Now>) {
    rows.par_iter().due(&mut agenda, now.0).for_each(|number| {
        black_box(mix_slowly(number.0));
        None
    });
}

fn app(scheduling: Scheduling) -> App {
    let mut app = scheduling.app();
    let rows = (0..ROWS).map(|number| (Number(number), Due::<()>::never()));
    let sleepers: Vec<_> = app.world_mut().spawn_batch(rows).collect();
    app.insert_resource(Sleepers(sleepers)).add_systems(Update, (wake, visit).affine().chain());
    app
}

/// A frame of both: rows wake others, then what is due by `now` is visited.
fn frame(app: &mut App, times: &mut [u64], seed: Option<u64>, now: u64) {
    app.insert_resource(Seed(seed)).insert_resource(Now(now)).update();
    let all = seed.into_iter().flat_map(|seed| (0..ROWS).flat_map(move |number| wakes(number, seed)));
    all.for_each(|(sleeper, time)| times[sleeper] = time.min(times[sleeper]));
    times.iter_mut().filter(|time| **time <= now).for_each(|time| *time = Due::<()>::NEVER);
}

/// Asserts that the rows of `app` are due at these times, and that its agenda knows the first.
fn compare(app: &mut App, times: &[u64], scheduling: Scheduling) {
    let next = app.world_mut().run_system_once(|mut agenda: Agenda| agenda.next_time()).expect("it has what it needs");
    let first = times.iter().copied().min().filter(|&time| time < Due::<()>::NEVER);
    assert_eq!(next, first, "{scheduling:?}");
    let sleepers = &app.world().resource::<Sleepers>().0;
    let ours: Vec<_> = sleepers.iter().filter_map(|&row| app.world().get::<Due>(row).map(Due::time)).collect();
    assert!(ours == times, "{scheduling:?}");
}

#[test]
fn the_earliest_of_all_wakes_counts() {
    for scheduling in Scheduling::all() {
        let (mut app, mut times) = (app(scheduling), vec![Due::<()>::NEVER; ROWS as usize]);
        let mut frame = |seed, now| {
            frame(&mut app, &mut times, seed, now);
            compare(&mut app, &times, scheduling);
        };
        frame(Some(0), 0);
        (0..QUIET).for_each(|_| frame(None, 0));
        frame(Some(1), 0);
        // Most rows are due: all are looked at, and what is known of times is gone.
        frame(None, LAST / 2);
        frame(Some(2), 0);
        (0..QUIET).for_each(|_| frame(None, 0));
        frame(Some(3), 0);
        // Few are due, and found.
        frame(None, 1);
        frame(Some(4), 0);
        frame(None, LAST);
    }
}
