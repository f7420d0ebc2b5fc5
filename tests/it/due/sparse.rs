//! Worlds in which first all rows are due, then few, then all again: what is found and what is
//! swept are the same rows, and workers share them.

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::due::{Now, chain};
use crate::{
    common::{Scheduling, swept_rows},
    mix::mix_slowly,
};

#[derive(Component)]
struct Row {
    number: u64,
    state: u64,
}

#[derive(Component)]
struct Odd;

/// When a row is due next: seldom at first and in the end, all the time in between.
fn next(number: u64, state: u64, now: u64) -> u64 {
    let period = if (40..60).contains(&now) { 1 } else { 1_500 };
    now + period + (number * 77 + state % 7) % period
}

fn visit(mut rows: AffineQuery<&mut Row>, mut agenda: Agenda, now: Res<Now>) {
    let now = now.0;
    rows.par_iter_mut().due(&mut agenda, now).for_each(|mut row| {
        row.state = chain(mix_slowly(row.state), now);
        Some(next(row.number, row.state, now))
    });
}

fn model(count: u64, steps: u64) -> Vec<u64> {
    let mut rows: Vec<_> = (0..count).map(|number| (number, number, 0)).collect();
    for now in 0..steps {
        for (number, state, time) in rows.iter_mut().filter(|(_, _, time)| *time <= now) {
            *state = chain(mix_slowly(*state), now);
            *time = next(*number, *state, now);
        }
    }
    rows.into_iter().map(|(_, state, _)| state).collect()
}

const ROWS: u64 = 30_000;
const STEPS: u64 = 90;

#[test]
fn few_rows_and_all() {
    let expected = model(ROWS, STEPS);
    for scheduling in Scheduling::all() {
        let mut app = scheduling.app();
        app.init_resource::<Now>().add_systems(Update, visit.affine());
        for number in 0..ROWS {
            let mut row = app.world_mut().spawn((Row { number, state: number }, Due::<()>::default()));
            (!number.is_multiple_of(2)).then(|| row.insert(Odd));
        }
        for now in 0..STEPS {
            app.world_mut().resource_mut::<Now>().0 = now;
            app.update();
        }
        let swept = swept_rows(&app);
        assert!(!scheduling.is_parallel() || swept.iter().all(|&rows| rows > 1_000), "{scheduling:?}: {swept:?}");
        let mut states = vec![0; ROWS as usize];
        let mut rows = app.world_mut().query::<&Row>();
        rows.iter(app.world()).for_each(|row| states[row.number as usize] = row.state);
        assert!(states == expected, "{scheduling:?}");
    }
}

/// The rows that are found go to their owners.
#[test]
fn all_workers_take_part() {
    let mut app = Scheduling::lock_step(3).app();
    app.init_resource::<Now>().add_systems(Update, visit.affine());
    app.world_mut()
        .spawn_batch((0..ROWS).map(|number| (Row { number, state: 0 }, Due::<()>::at(1 + number % 1_500))))
        .for_each(drop);
    (0..20).for_each(|_| app.update());
    let before = swept_rows(&app);
    for now in 1..150 {
        app.world_mut().resource_mut::<Now>().0 = now;
        app.update();
    }
    let swept: Vec<_> = swept_rows(&app).iter().zip(before).map(|(after, before)| after - before).collect();
    // All rows in the twenty steps in the middle, a few in the others.
    assert!(swept.iter().all(|&rows| rows > 1_000) && swept.iter().sum::<u64>() < 50 * ROWS, "{swept:?}");
}
