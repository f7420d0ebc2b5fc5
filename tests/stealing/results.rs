//! Whoever sweeps a row, the result is the same.

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::{Row, Scheduling, Swept, app, sweep, until_stolen};

/// In the rows of the last worker: they are late.
fn in_the_last_third(number: u32) -> bool {
    number >= 200
}

const ROWS: u32 = 300;

#[test]
fn rows_of_a_late_worker_are_swept_by_others_once() {
    for workers in 2..=4 {
        until_stolen(workers, |scheduling| {
            let mut app = app(scheduling, ROWS, in_the_last_third);
            app.add_systems(Update, sweep.affine());
            (0..6).for_each(|_| app.update());
            let mut swept = app.world_mut().query::<&Swept>();
            assert!(swept.iter(app.world()).all(|&swept| swept == Swept(6)), "{workers} workers");
            let counted: u64 = crate::diagnostics(&app).workers.iter().map(|worker| worker.swept_rows).sum();
            assert_eq!(counted + on_the_leader_alone(&app), u64::from(6 * ROWS), "{workers} workers");
            app
        });
    }
}

/// Rows of calls before anything was known of their cost, which no worker counts.
fn on_the_leader_alone(app: &App) -> u64 {
    let rounds = crate::diagnostics(app).workers[0].rounds - crate::diagnostics(app).workers[0].taken_over;
    u64::from(ROWS) * (6 - rounds)
}

/// An app after some frames in a mode.
fn run(scheduling: Scheduling, add: impl Fn(&mut App)) -> App {
    let mut app = app(scheduling, ROWS, in_the_last_third);
    add(&mut app);
    (0..6).for_each(|_| app.update());
    app
}

fn assert_same<T: PartialEq + std::fmt::Debug>(add: impl Fn(&mut App), read: impl Fn(&mut App) -> T) {
    let expected = read(&mut run(Scheduling::SERIAL, &add));
    for workers in 2..=3 {
        until_stolen(workers, |scheduling| {
            let mut app = run(scheduling, &add);
            assert_eq!(read(&mut app), expected, "{workers} workers");
            app
        });
    }
}

#[derive(Resource, Default)]
struct Total(f32);

#[test]
fn reductions_have_the_same_bits() {
    fn reduce(rows: AffineQuery<&Row>, mut total: ResMut<Total>) {
        let weigh = |row: &Row| {
            row.work();
            1.0 / (row.number as f32 + 0.3)
        };
        total.0 += rows.par_iter().map_reduce(|| 0.0, weigh, |left, right| left + right);
    }
    // One row in three is dear: blocks are longer than shares here, so whole tables are one block;
    // several make several.
    let spread = |app: &mut App| {
        app.init_resource::<Total>().add_systems(Update, (sweep, reduce).affine().chain());
        app.world_mut().spawn_batch((0..9_000).map(|number| (Row { number, dear: number % 64 == 63 }, Swept(0))));
    };
    assert_same(spread, |app| app.world().resource::<Total>().0.to_bits());
}

/// What one entity heard, folded so that the order of messages matters.
#[derive(Component, Default)]
struct Heard(u64);

#[test]
fn messages_arrive_in_the_order_of_the_senders_rows() {
    #[derive(Resource)]
    struct Listeners(Vec<Entity>);

    fn tell(
        rows: AffineQuery<&Row>,
        mut heard: AffineQuery<&mut Heard>,
        listeners: Res<Listeners>,
        mut delivered: Local<u64>,
    ) {
        let report = rows.par_iter().scatter(
            &mut heard,
            |outbox, row| {
                row.work();
                let listener = listeners.0[row.number as usize % listeners.0.len()];
                outbox.send(listener, u64::from(row.number));
            },
            |mut heard, number| heard.0 = heard.0.wrapping_mul(31).wrapping_add(number),
        );
        *delivered += report.delivered;
        assert_eq!(report.delivered, u64::from(ROWS));
    }
    let add = |app: &mut App| {
        let listeners = (0..5).map(|_| app.world_mut().spawn(Heard::default()).id()).collect();
        app.insert_resource(Listeners(listeners)).add_systems(Update, tell.affine());
    };
    assert_same(add, |app| {
        app.world_mut().query::<&Heard>().iter(app.world()).map(|heard| heard.0).collect::<Vec<_>>()
    });
}

#[test]
fn commands_are_applied_in_the_order_of_rows() {
    #[derive(Resource, Default)]
    struct Log(Vec<u32>);

    fn speak(rows: AffineQuery<&Row>, mut commands: AffineCommands) {
        rows.par_iter().for_each_with_commands(&mut commands, |commands, row| {
            row.work();
            let number = row.number;
            commands.queue(move |world: &mut World| world.resource_mut::<Log>().0.push(number));
        });
    }
    let add = |app: &mut App| {
        app.init_resource::<Log>().add_systems(Update, speak.affine());
    };
    assert_same(add, |app| app.world().resource::<Log>().0.clone());
}

#[test]
fn a_panic_in_a_stolen_chunk_comes_out_once_and_the_others_are_swept() {
    fn fail(mut rows: AffineQuery<(&Row, &mut Swept)>) {
        rows.par_iter_mut().for_each(|(row, mut swept)| {
            row.work();
            swept.0 += 1;
            assert!(row.number != ROWS - 1 || swept.0 != 4, "the last row fails in its fourth sweep");
        });
    }
    let mut app = app(Scheduling::lock_step(2), ROWS, in_the_last_third);
    app.add_systems(Update, fail.affine());
    (0..3).for_each(|_| app.update());
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| app.update()));
    let payload = panic.expect_err("the last row fails");
    assert_eq!(payload.downcast_ref(), Some(&"the last row fails in its fourth sweep"));
}
