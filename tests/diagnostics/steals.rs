//! Rows that a worker swept for others, in the numbers of the worker and in its spans; and rounds
//! that workers had no part in.

use std::{thread, time::Duration};

use super::*;

/// Rows of which the last third, which are the last worker's, take long: they sleep.
const UNEVEN_ROWS: u32 = 300;

#[derive(Component)]
struct Uneven(u32);

fn sleep(rows: AffineQuery<&Uneven>) {
    rows.par_iter().for_each(|row| {
        if row.0 >= UNEVEN_ROWS * 2 / 3 {
            thread::sleep(Duration::from_micros(200));
        }
    });
}

fn uneven(workers: usize) -> App {
    let mut app = Scheduling::lock_step(workers).app();
    app.add_systems(Update, sleep.affine());
    app.world_mut().spawn_batch((0..UNEVEN_ROWS).map(Uneven));
    timeline_mut(&mut app).record(true);
    (0..6).for_each(|_| app.update());
    app
}

#[test]
fn stolen_rows_are_in_the_spans_of_who_swept_them() {
    // Where the machine is busy a worker may begin so late that its whole share is taken over.
    const ATTEMPTS: u32 = 200;
    let check = |workers| {
        let app = uneven(workers);
        let shares = spans_of(&app, SpanKind::Share);
        assert!(shares.iter().all(|span| span.stolen_rows <= span.rows), "{shares:#?}");
        for worker in &diagnostics(&app).workers {
            let own = shares.iter().filter(|span| span.share_of == worker.index);
            assert_eq!(own.map(|span| span.stolen_rows).sum::<u64>(), worker.stolen_rows, "{worker:?}");
        }
        shares.iter().map(|span| span.stolen_rows).sum::<u64>()
    };
    for workers in 2..=3 {
        assert!((0..ATTEMPTS).any(|_| check(workers) > 0), "{workers} workers: nothing was stolen");
    }
}

#[test]
fn whoever_sweeps_alone_steals_nothing() {
    let app = uneven(1);
    assert!(timeline(&app).spans().all(|span| span.stolen_rows == 0));
    assert_eq!(diagnostics(&app).workers[0].stolen_rows, 0);
}

#[test]
fn no_worker_is_left_out_of_a_quiet_pool() {
    // Systems that sweep nothing: no core is found to be taken by others.
    fn rest(_: AffineQuery<&Uneven>) {}

    let mut app = Scheduling::lock_step(3).app();
    app.add_systems(Update, rest.affine());
    (0..20).for_each(|_| app.update());
    assert_eq!(diagnostics(&app).workers.len(), 3);
    assert!(diagnostics(&app).workers.iter().all(|worker| worker.rounds_left_out == 0 && worker.stolen_rows == 0));
}
