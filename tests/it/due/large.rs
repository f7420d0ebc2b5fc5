//! Tables of large rows that no cache holds, which are looked at some rows before they are visited,
//! against a model in plain Bevy: the same visits, messages and times.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bevy::prelude::*;
use bevy_affinity::prelude::*;
use proptest::{collection::vec, prelude::*};

use crate::due::{
    Now, chain,
    visitors::{Visitors, rehearse},
};
use crate::{common::Scheduling, mix::mix_slowly};

/// 8 KiB a row: from 128 rows on a table is large enough to be asked for.
const BALLAST: usize = 1_024;

/// What a row has gone through, in the last of its lines.
#[derive(Component, Clone, Debug, PartialEq)]
struct Large {
    ballast: [u64; BALLAST],
    state: u64,
}

#[derive(Component)]
struct Targets(Vec<Entity>);

/// The time of a row, in the model.
#[derive(Component)]
struct At(u64);

/// The row that panics when it is visited.
#[derive(Resource, Default)]
struct Bad(Option<u64>);

fn visit(row: &mut Large, now: u64) -> Option<u64> {
    row.state = chain(mix_slowly(row.state), now);
    (!row.state.is_multiple_of(5)).then_some(now + 1 + row.state % 4)
}

fn receive(row: &mut Large, message: u64, now: u64) -> Option<u64> {
    row.state = chain(row.state, message);
    message.is_multiple_of(2).then_some(now + message % 3)
}

fn on_gang(
    mut rows: AffineQuery<(&mut Large, &Targets)>,
    mut agenda: Agenda,
    now: Res<Now>,
    bad: Res<Bad>,
    visitors: Option<Res<Visitors>>,
) {
    let now = now.0;
    let call = || {
        rows.par_iter_mut().due(&mut agenda, now).scatter_within(
            |outbox, (mut row, targets)| {
                if visitors.as_ref().is_some_and(|visitors| visitors.meet(row.ballast[0])) {
                    return Some(now);
                }
                assert!(bad.0 != Some(row.ballast[0]), "a bad row");
                let next = visit(&mut row, now);
                targets.0.iter().for_each(|&target| outbox.send(target, row.state));
                next
            },
            |(mut row, _), message| receive(&mut row, message, now),
        )
    };
    assert_eq!(catch_unwind(AssertUnwindSafe(call)).is_err(), bad.0.is_some());
}

fn plain(mut rows: Query<(&mut Large, &Targets, &mut At)>, now: Res<Now>) {
    let now = now.0;
    let mut sent = Vec::new();
    for (mut row, targets, mut at) in rows.iter_mut().filter(|(_, _, at)| at.0 <= now) {
        at.0 = visit(&mut row, now).unwrap_or(u64::MAX);
        sent.extend(targets.0.iter().map(|&target| (target, row.state)));
    }
    for (target, message) in sent {
        let (mut row, _, mut at) = rows.get_mut(target).expect("no row is despawned");
        at.0 = at.0.min(receive(&mut row, message, now).unwrap_or(u64::MAX));
    }
}

/// First times, and whom the rows write to.
fn app(scheduling: Option<Scheduling>, rows: &[(u64, Vec<usize>)]) -> (App, Vec<Entity>) {
    let mut app = scheduling.map_or_else(App::new, Scheduling::app);
    app.init_resource::<Now>().init_resource::<Bad>();
    match scheduling {
        Some(_) => app.add_systems(Update, on_gang.affine()),
        None => app.add_systems(Update, plain),
    };
    let world = app.world_mut();
    let row = |number| Large { ballast: [number; BALLAST], state: number };
    let spawned: Vec<_> = (0..).zip(rows).map(|(number, _)| world.spawn(row(number)).id()).collect();
    for (&entity, (time, targets)) in spawned.iter().zip(rows) {
        let targets = Targets(targets.iter().map(|target| spawned[target % spawned.len()]).collect());
        world.entity_mut(entity).insert((targets, At(*time), Due::<()>::at(*time)));
    }
    (app, spawned)
}

fn step(app: &mut App, now: u64) {
    app.world_mut().resource_mut::<Now>().0 = now;
    app.update();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn rows_are_those_of_the_model(rows in vec((0..6_u64, vec(0..300_usize, 0..3)), 1..300)) {
        let (mut model, expected) = app(None, &rows);
        (0..8).for_each(|now| step(&mut model, now));
        for scheduling in Scheduling::all() {
            let (mut app, spawned) = app(Some(scheduling), &rows);
            (0..8).for_each(|now| step(&mut app, now));
            for (&row, &twin) in spawned.iter().zip(&expected) {
                prop_assert_eq!(app.world().get::<Large>(row), model.world().get::<Large>(twin), "{:?}", scheduling);
                let at = model.world().get::<At>(twin).map(|at| at.0);
                prop_assert_eq!(app.world().get::<Due>(row).map(Due::time), at, "{:?}", scheduling);
            }
        }
    }
}

#[test]
fn no_row_is_lost_in_a_panic() {
    let rows: Vec<_> = (0..500).map(|row| (if row % 3 == 0 { 9 } else { 1 }, vec![])).collect();
    for scheduling in Scheduling::all() {
        let (mut app, spawned) = app(Some(scheduling), &rows);
        app.init_resource::<Visitors>();
        app.world_mut().resource_mut::<Now>().0 = 1;
        rehearse(&mut app, scheduling);
        app.world_mut().resource_mut::<Bad>().0 = Some(250);
        step(&mut app, 1);
        app.world_mut().resource_mut::<Bad>().0 = None;
        step(&mut app, 1);
        for (number, &row) in (0..).zip(&spawned) {
            let mut expected = Large { ballast: [number; BALLAST], state: number };
            let due = if number % 3 == 0 { Some(9) } else { visit(&mut expected, 1) };
            assert_eq!(app.world().get::<Large>(row), Some(&expected), "row {number}, {scheduling:?}");
            assert_eq!(app.world().get::<Due>(row).map(Due::time), Some(due.unwrap_or(u64::MAX)), "row {number}");
        }
    }
}
