//! Commands of due rows: in the order of rows, whatever the mode, and none after a panic.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::due::Now;
use crate::{common::Scheduling, mix::mix_slowly};

#[derive(Component)]
struct Row(u64);

/// Of a second table.
#[derive(Component)]
struct Elsewhere;

/// The rows whose commands were applied, in that order.
#[derive(Resource, Default)]
struct Applied(Vec<u64>);

/// A row that panics.
#[derive(Resource, Default)]
struct Bad(Option<u64>);

fn visit(
    mut rows: AffineQuery<(Entity, &mut Row)>,
    mut agenda: Agenda,
    mut commands: AffineCommands,
    now: Res<Now>,
    bad: Res<Bad>,
) {
    let call = || {
        rows.par_iter_mut().due(&mut agenda, now.0).for_each_with_commands(&mut commands, |commands, (entity, row)| {
            let number = row.0;
            std::hint::black_box(mix_slowly(number));
            assert!(bad.0 != Some(number), "row {number} is bad");
            match number % 4 {
                0 => {}
                1 => commands.entity(entity).despawn(),
                _ => commands.queue(move |world: &mut World| world.resource_mut::<Applied>().0.push(number)),
            }
            Some(now.0 + 1 + number % 3)
        });
    };
    assert_eq!(catch_unwind(AssertUnwindSafe(call)).is_err(), bad.0.is_some());
}

/// `count` rows in two tables, one in `sleepers` of them due at each of the next times.
fn app(scheduling: Scheduling, count: u64, sleepers: u64) -> App {
    let mut app = scheduling.app();
    app.init_resource::<Now>().init_resource::<Applied>().init_resource::<Bad>();
    app.add_systems(Update, visit.affine());
    let due = move |row: u64| if row.is_multiple_of(sleepers) { Due::<()>::at(row % 5) } else { Due::never() };
    let (here, there): (Vec<_>, Vec<_>) = (0..count).partition(|row| row % 10 < 7);
    app.world_mut().spawn_batch(here.into_iter().map(move |row| (Row(row / sleepers), due(row)))).for_each(drop);
    app.world_mut()
        .spawn_batch(there.into_iter().map(move |row| (Row(row / sleepers), Elsewhere, due(row))))
        .for_each(drop);
    app
}

/// What was applied in some steps, and which rows are left with which times.
fn run(scheduling: Scheduling, count: u64, sleepers: u64) -> (Vec<u64>, Vec<(u64, u64)>) {
    let mut app = app(scheduling, count, sleepers);
    for now in 0..12 {
        app.world_mut().resource_mut::<Now>().0 = now;
        app.update();
    }
    let mut rows = app.world_mut().query::<(&Row, &Due)>();
    let rows = rows.iter(app.world()).map(|(row, due)| (row.0, due.time())).collect();
    (std::mem::take(&mut app.world_mut().resource_mut::<Applied>().0), rows)
}

#[test]
fn applied_in_the_order_of_rows_in_every_mode() {
    for (count, sleepers) in [(20_000, 400), (3_000, 1)] {
        let expected = run(Scheduling::SERIAL, count, sleepers);
        assert!(expected.0.len() as u64 > count / sleepers, "rows were visited several times");
        assert_eq!(expected.1.iter().filter(|(row, time)| row % 4 == 1 && *time < u64::MAX).count(), 0);
        for scheduling in Scheduling::all() {
            assert_eq!(run(scheduling, count, sleepers), expected, "{scheduling:?}");
        }
    }
}

#[test]
fn none_is_applied_after_a_panic_and_the_row_stays_due() {
    for scheduling in Scheduling::all() {
        let mut app = app(scheduling, 2_000, 1);
        app.world_mut().resource_mut::<Now>().0 = 4;
        app.world_mut().resource_mut::<Bad>().0 = Some(1_500);
        app.update();
        assert!(app.world().resource::<Applied>().0.is_empty(), "{scheduling:?}");
        app.world_mut().resource_mut::<Bad>().0 = None;
        let mut rows = app.world_mut().query::<(&Row, &Due)>();
        let bad = rows.iter(app.world()).find(|(row, _)| row.0 == 1_500).map(|(_, due)| due.time());
        assert_eq!(bad, Some(0), "{scheduling:?}");
        app.update();
        assert!(app.world().resource::<Applied>().0.iter().all(|row| row % 4 >= 2));
    }
}
