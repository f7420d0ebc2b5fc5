//! Commands of due rows: in the order of rows, whatever the mode, and none after a panic.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::due::{
    Now,
    visitors::{Visitors, rehearse},
};
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
    visitors: Option<Res<Visitors>>,
) {
    let call = || {
        rows.par_iter_mut().due(&mut agenda, now.0).for_each_with_commands(&mut commands, |commands, (entity, row)| {
            let number = row.0;
            if visitors.as_ref().is_some_and(|visitors| visitors.meet(number)) {
                return Some(number % 5);
            }
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
        app.init_resource::<Visitors>();
        app.world_mut().resource_mut::<Now>().0 = 4;
        rehearse(&mut app, scheduling);
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

/// A parcel that arrives adds its weight to a depot, and is no more.
#[derive(Component)]
struct Parcel {
    depot: Entity,
    weight: u64,
    /// Stops before the last one.
    stops: u64,
}

#[derive(Component, Default)]
struct Depot(u64);

fn arrive(
    mut parcels: AffineQuery<(Entity, &mut Parcel)>,
    mut depots: AffineQuery<&mut Depot>,
    mut agenda: Agenda,
    mut commands: AffineCommands,
    now: Res<Now>,
) {
    let now = now.0;
    parcels.par_iter_mut().due(&mut agenda, now).scatter(
        &mut depots,
        |outbox, (_, mut parcel)| {
            if parcel.stops > 0 {
                parcel.stops -= 1;
                return Some(now + 1);
            }
            outbox.send(parcel.depot, parcel.weight);
            Some(now)
        },
        |mut depot, weight| {
            depot.0 += weight;
            None
        },
    );
    let arrived = parcels.par_iter_mut().due(&mut agenda, now);
    arrived.for_each_with_commands(&mut commands, |commands, (parcel, _)| {
        commands.entity(parcel).despawn();
        None
    });
}

#[test]
fn rows_that_have_sent_are_despawned_by_a_second_call() {
    for scheduling in Scheduling::all() {
        for count in [20, 5_000] {
            let mut app = scheduling.app();
            app.init_resource::<Now>().add_systems(Update, arrive.affine());
            let depot = app.world_mut().spawn(Depot::default()).id();
            let parcel = |weight| (Parcel { depot, weight, stops: weight % 3 }, Due::<()>::at(0));
            app.world_mut().spawn_batch((0..count).map(parcel)).for_each(drop);
            for now in 0..4 {
                app.insert_resource(Now(now));
                app.update();
                let arrived = (0..count).filter(|weight| weight % 3 <= now);
                let weight: u64 = arrived.clone().sum();
                assert_eq!(app.world().get::<Depot>(depot).unwrap().0, weight, "{scheduling:?} at {now}");
                let left = app.world_mut().query::<&Parcel>().iter(app.world()).count() as u64;
                assert_eq!(left, count - arrived.count() as u64, "{scheduling:?} at {now}");
            }
        }
    }
}
