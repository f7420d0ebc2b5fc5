//! What holds after a visit has panicked: no row is lost, and none is visited twice.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::due::Now;
use crate::{common::Scheduling, mix::mix_slowly};

#[derive(Component)]
struct Row {
    number: u64,
    visits: u32,
}

/// Rows that panic when they are visited.
#[derive(Resource)]
struct Bad(Vec<u64>);

fn visit(mut rows: AffineQuery<&mut Row>, mut agenda: Agenda, now: Res<Now>, bad: Res<Bad>) {
    let call = || {
        rows.par_iter_mut().due(&mut agenda, now.0).for_each(|mut row| {
            std::hint::black_box(mix_slowly(row.number));
            assert!(!bad.0.contains(&row.number), "row {} is bad", row.number);
            row.visits += 1;
            None
        });
    };
    let panic = catch_unwind(AssertUnwindSafe(call)).err();
    let message = panic.map(|panic| panic.downcast_ref::<String>().cloned().unwrap_or_default());
    assert_eq!(message.is_some_and(|message| message.contains("is bad")), !bad.0.is_empty());
}

/// `count` rows, of which those that `is_due` are due at 100, after a while in which nothing is.
fn app(scheduling: Scheduling, count: u64, is_due: fn(u64) -> bool) -> App {
    let mut app = scheduling.app();
    app.init_resource::<Now>().insert_resource(Bad(Vec::new())).add_systems(Update, visit.affine());
    let row = move |number| {
        let time = if is_due(number) { 100 } else { 1_000 };
        (Row { number, visits: 0 }, Due::<()>::at(time))
    };
    app.world_mut().spawn_batch((0..count).map(row)).for_each(drop);
    (0..10).for_each(|_| app.update());
    app
}

fn after_a_panic(scheduling: Scheduling, count: u64, is_due: fn(u64) -> bool) {
    let mut app = app(scheduling, count, is_due);
    app.world_mut().resource_mut::<Now>().0 = 100;
    app.world_mut().resource_mut::<Bad>().0 = vec![count / 2, count / 2 + 100];
    app.update();
    app.world_mut().resource_mut::<Bad>().0.clear();
    (0..3).for_each(|_| app.update());
    let mut rows = app.world_mut().query::<(&Row, &Due)>();
    for (row, due) in rows.iter(app.world()) {
        let expected = u32::from(is_due(row.number));
        assert_eq!(row.visits, expected, "row {}, {scheduling:?}", row.number);
        assert_eq!(due.time(), if expected == 1 { Due::<()>::NEVER } else { 1_000 }, "row {}", row.number);
    }
}

#[test]
fn few_rows_are_due() {
    Scheduling::all().for_each(|scheduling| after_a_panic(scheduling, 20_000, |row| row.is_multiple_of(400)));
}

#[test]
fn many_rows_are_due() {
    Scheduling::all().for_each(|scheduling| after_a_panic(scheduling, 2_000, |_| true));
}
