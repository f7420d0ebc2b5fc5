//! What holds after a visit has panicked: no row is lost, and none is visited twice.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
};

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::due::{
    Now,
    visitors::{Visitors, rehearse},
};
use crate::{common::Scheduling, mix::mix_slowly};

#[derive(Component)]
struct Row {
    number: u64,
    visits: u32,
}

/// Marks the row that is not due until it is woken.
#[derive(Component)]
struct Sleeper;

/// Rows that panic when they are visited.
#[derive(Resource, Default)]
struct Bad(Vec<u64>);

type Rows<'w, 's> = AffineQuery<'w, 's, &'static mut Row>;

fn visit_due(rows: &mut Rows, agenda: &mut Agenda, now: u64, bad: &Bad, visitors: &Visitors) {
    rows.par_iter_mut().due(agenda, now).for_each(|mut row| {
        if visitors.meet(row.number) {
            return Some(now);
        }
        std::hint::black_box(mix_slowly(row.number));
        assert!(!bad.0.contains(&row.number), "row {} is bad", row.number);
        row.visits += 1;
        None
    });
}

/// `call` panics because of a bad row if there is one.
fn check(bad: &Bad, call: impl FnOnce()) {
    let panic = catch_unwind(AssertUnwindSafe(call)).err();
    let message = panic.map(|panic| panic.downcast_ref::<String>().cloned().unwrap_or_default());
    assert_eq!(message.is_some_and(|message| message.contains("is bad")), !bad.0.is_empty());
}

fn visit(mut rows: Rows, mut agenda: Agenda, now: Res<Now>, bad: Res<Bad>, visitors: Res<Visitors>) {
    check(&bad, || visit_due(&mut rows, &mut agenda, now.0, &bad, &visitors));
}

/// How often the next time is asked for while a call unwinds.
#[derive(Resource, Default)]
struct Asks(u32);

/// Uses the agenda as it is dropped by a panic.
struct LookBack<'a, 'w> {
    agenda: &'a mut Agenda<'w>,
    sleeper: Entity,
    asks: u32,
    next: &'a mut Option<u64>,
}

impl Drop for LookBack<'_, '_> {
    fn drop(&mut self) {
        // Nothing is asserted here: a second panic would end the process.
        if thread::panicking() {
            self.agenda.wake(self.sleeper, 100);
            (0..self.asks).for_each(|_| *self.next = self.agenda.next_time());
        }
    }
}

fn visit_and_look_back(
    mut rows: Rows,
    mut agenda: Agenda,
    (now, bad, visitors): (Res<Now>, Res<Bad>, Res<Visitors>),
    sleeper: Single<Entity, With<Sleeper>>,
    asks: Res<Asks>,
) {
    let mut next = None;
    check(&bad, || {
        let last = LookBack { agenda: &mut agenda, sleeper: *sleeper, asks: asks.0, next: &mut next };
        visit_due(&mut rows, last.agenda, now.0, &bad, &visitors);
    });
    assert_eq!(next, (!bad.0.is_empty()).then_some(100), "the bad rows stay due");
}

/// `count` rows, of which those that `is_due` are due at 100, and one that sleeps, after a while in
/// which nothing is due.
fn app<M>(scheduling: Scheduling, count: u64, is_due: fn(u64) -> bool, system: impl IntoAffine<M>) -> App {
    let mut app = scheduling.app();
    app.init_resource::<Now>().init_resource::<Bad>().init_resource::<Visitors>().init_resource::<Asks>();
    app.add_systems(Update, system.affine());
    let row = move |number| {
        let time = if is_due(number) { 100 } else { 1_000 };
        (Row { number, visits: 0 }, Due::<()>::at(time))
    };
    app.world_mut().spawn_batch((0..count).map(row)).for_each(drop);
    app.world_mut().spawn((Row { number: count, visits: 0 }, Due::<()>::never(), Sleeper));
    (0..10).for_each(|_| app.update());
    app
}

/// Has two rows panic in one call, and makes some more calls. The rows of `app` as in [`app`].
fn after_a_panic(app: &mut App, scheduling: Scheduling, count: u64, is_due: fn(u64) -> bool) {
    app.world_mut().resource_mut::<Now>().0 = 100;
    rehearse(app, scheduling);
    app.world_mut().resource_mut::<Bad>().0 = vec![count / 2, count / 2 + 100];
    app.update();
    app.world_mut().resource_mut::<Bad>().0.clear();
    (0..3).for_each(|_| app.update());
    let mut rows = app.world_mut().query_filtered::<(&Row, &Due), Without<Sleeper>>();
    for (row, due) in rows.iter(app.world()) {
        let expected = u32::from(is_due(row.number));
        assert_eq!(row.visits, expected, "row {}, {scheduling:?}", row.number);
        assert_eq!(due.time(), if expected == 1 { Due::<()>::NEVER } else { 1_000 }, "row {}", row.number);
    }
}

/// How often the row that sleeps was visited.
fn visits_of_sleeper(app: &mut App) -> u32 {
    let mut sleepers = app.world_mut().query_filtered::<&Row, With<Sleeper>>();
    sleepers.iter(app.world()).map(|row| row.visits).sum()
}

fn one_in_400(row: u64) -> bool {
    row.is_multiple_of(400)
}

fn all(_: u64) -> bool {
    true
}

#[test]
fn few_rows_are_due() {
    for scheduling in Scheduling::all() {
        let mut app = app(scheduling, 20_000, one_in_400, visit);
        after_a_panic(&mut app, scheduling, 20_000, one_in_400);
        assert_eq!(visits_of_sleeper(&mut app), 0, "{scheduling:?}");
    }
}

#[test]
fn many_rows_are_due() {
    for scheduling in Scheduling::all() {
        let mut app = app(scheduling, 2_000, all, visit);
        after_a_panic(&mut app, scheduling, 2_000, all);
        assert_eq!(visits_of_sleeper(&mut app), 0, "{scheduling:?}");
    }
}

/// What is known of times is gone by then. Asked often enough, all are noted anew, before the
/// calls that visit what stayed due.
#[test]
fn an_agenda_is_used_while_a_call_unwinds() {
    for scheduling in Scheduling::all() {
        for asks in [1, 10] {
            let mut app = app(scheduling, 20_000, one_in_400, visit_and_look_back);
            app.insert_resource(Asks(asks));
            after_a_panic(&mut app, scheduling, 20_000, one_in_400);
            assert_eq!(visits_of_sleeper(&mut app), 1, "{scheduling:?}");
        }
        let mut app = app(scheduling, 2_000, all, visit_and_look_back);
        app.insert_resource(Asks(10));
        after_a_panic(&mut app, scheduling, 2_000, all);
        assert_eq!(visits_of_sleeper(&mut app), 1, "{scheduling:?}");
    }
}
