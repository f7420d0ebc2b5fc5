//! Panics in closures: the caller gets the payload after all rows that could be visited were, and
//! the next call works.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, panic_any},
    sync::atomic::{AtomicUsize, Ordering},
};

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::{
    Count, MANY, assert_counted,
    common::{Scheduling, swept_rows},
    count_up, spawn_many,
};

/// A payload of the test's own: the row that panicked.
#[derive(Debug, PartialEq)]
struct Failed(usize);

/// The number of a row.
#[derive(Component)]
struct Number(usize);

/// The rows that panic in this frame.
#[derive(Resource, Default)]
struct Faulty(Vec<usize>);

fn app(scheduling: Scheduling) -> App {
    let mut app = scheduling.app();
    app.world_mut().spawn_batch((0..MANY).map(|number| (Count(0), Number(number))));
    app.init_resource::<Faulty>();
    app
}

/// Sweeps with panics; each must come out of the call that it happened in.
fn count_up_with_panics(mut rows: AffineQuery<(&mut Count, &Number)>, faulty: Res<Faulty>) {
    let visited = AtomicUsize::new(0);
    let sweep = || {
        rows.par_iter_mut().for_each(|(mut count, number)| {
            if faulty.0.contains(&number.0) {
                panic_any(Failed(number.0));
            }
            count.0 += 1;
            visited.fetch_add(1, Ordering::Relaxed);
        });
    };
    match catch_unwind(AssertUnwindSafe(sweep)) {
        Ok(()) => assert!(faulty.0.is_empty()),
        Err(payload) => {
            let failed = payload.downcast_ref::<Failed>();
            assert!(failed.is_some_and(|failed| faulty.0.contains(&failed.0)), "{failed:?}");
        }
    }
    assert_eq!(faulty.0.is_empty(), visited.into_inner() == MANY);
}

#[test]
fn a_payload_reaches_the_system_and_the_next_call_works() {
    for scheduling in Scheduling::all() {
        let mut app = app(scheduling);
        app.add_systems(Update, count_up_with_panics.affine());
        // The leader's first row, a row of the last worker, one in each quarter, all rows.
        for faulty in [vec![0], vec![MANY - 1], vec![600, 1900, 3100, 4400], (0..MANY).collect()] {
            app.insert_resource(Faulty(faulty)).update();
            app.insert_resource(Faulty::default()).update();
        }
        // In the four frames without a panic every row was swept by a worker, whichever it was.
        let swept: u64 = swept_rows(&app).iter().sum();
        assert!(!scheduling.is_parallel() || swept >= 4 * MANY as u64, "{scheduling:?}: {swept}");
    }
}

/// The gang's promise goes further than Bevy's: all other workers visit all of their rows.
#[test]
fn other_workers_finish_their_rows() {
    let mut app = app(Scheduling::lock_step(4));
    app.add_systems(Update, count_up_with_panics.affine()).insert_resource(Faulty(vec![0])).update();
    let mut counts = app.world_mut().query::<&Count>();
    let visited = counts.iter(app.world()).filter(|count| count.0 == 1).count();
    assert!(visited > MANY / 2, "{visited} of {MANY} rows");
}

#[test]
fn a_payload_leaves_the_app_and_other_apps_go_on() {
    for scheduling in Scheduling::all() {
        let mut failing = app(scheduling);
        let fail = |rows: AffineQuery<&Number>| {
            rows.par_iter().for_each(|number| {
                if number.0 == MANY / 2 {
                    panic_any(Failed(number.0));
                }
            });
        };
        failing.add_systems(Update, fail.affine());
        let payload = catch_unwind(AssertUnwindSafe(|| failing.update())).expect_err("a row panics");
        assert_eq!(payload.downcast_ref(), Some(&Failed(MANY / 2)), "{scheduling:?}");
        drop(failing);

        let mut next = scheduling.app();
        spawn_many(&mut next);
        next.add_systems(Update, count_up.affine()).update();
        assert_counted(&mut next, 1);
    }
}

#[test]
fn panics_in_chunks_and_in_init() {
    fn fail_in_a_chunk(mut counts: AffineQuery<&mut Count>) {
        let sweep = || counts.par_iter_mut().for_each_chunk(|_| panic_any(Failed(1)));
        let payload = catch_unwind(AssertUnwindSafe(sweep)).expect_err("each chunk panics");
        assert_eq!(payload.downcast_ref(), Some(&Failed(1)));
    }

    fn fail_in_init(mut counts: AffineQuery<&mut Count>) {
        let sweep = || counts.par_iter_mut().for_each_init(|| panic_any(Failed(2)), |(), _| {});
        let payload = catch_unwind(AssertUnwindSafe(sweep)).expect_err("each init panics");
        assert_eq!(payload.downcast_ref(), Some(&Failed(2)));
    }

    for scheduling in Scheduling::all() {
        let mut app = scheduling.app();
        spawn_many(&mut app);
        app.add_systems(Update, (fail_in_a_chunk, fail_in_init, count_up).affine().chain());
        (0..3).for_each(|_| app.update());
        assert_counted(&mut app, 3);
    }
}

#[test]
fn a_failed_system_does_not_leave_its_context_behind() {
    let mut app = app(Scheduling::lock_step(3));
    let fail = |_: AffineQuery<&Number>| panic_any(Failed(0));
    app.add_systems(Update, fail.affine());
    assert!(catch_unwind(AssertUnwindSafe(|| app.update())).is_err());
    let swept = |app: &mut App| {
        app.world_mut().run_schedule(Last);
        swept_rows(app)
    };
    let before = swept(&mut app);
    // Untagged, so not for the gang of the system that failed.
    app.world_mut().run_system_cached(count_up).expect("valid");
    assert_eq!(swept(&mut app), before);
    assert_counted(&mut app, 1);
}
