//! Closures that panic while chunks are claimed, by their owner or by a thief: no row is swept
//! twice, nothing is lost, and the next call is as if nothing had been.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, panic_any},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use bevy::{
    ecs::{
        schedule::{ScheduleConfigs, SingleThreadedExecutor},
        system::ScheduleSystem,
    },
    prelude::*,
};
use bevy_affinity::{Row as KernelRow, prelude::*};

use crate::{Row, Scheduling, Swept, app, until_stolen};

const ROWS: u32 = 300;

fn in_the_last_third(number: u32) -> bool {
    number >= 200
}

type Systems = ScheduleConfigs<ScheduleSystem>;

/// The row that panics, if one does.
#[derive(Clone, Default)]
struct Faulty(Arc<AtomicU32>);

/// A payload of the test's own: the row that panicked.
#[derive(Debug, PartialEq)]
struct Failed(u32);

impl Faulty {
    const NONE: u32 = u32::MAX;

    fn set(&self, number: u32) {
        self.0.store(number, Ordering::Relaxed);
    }

    fn check(&self, row: Row) {
        if row.number == self.0.load(Ordering::Relaxed) {
            panic_any(Failed(row.number));
        }
    }
}

/// A row of the leader's, the first and the last of another worker's and one in between: the last
/// is the first to be stolen.
const FAULTY: [u32; 5] = [10, 100, 200, 250, ROWS - 1];

fn swept(app: &mut App) -> Vec<u32> {
    let mut rows = app.world_mut().query::<&Swept>();
    rows.iter(app.world()).map(|swept| swept.0).collect()
}

/// Runs a system with and without a panic; `check` gets what was swept before, after the run with a
/// panic, and after the next one.
fn fail_in_turn(system: impl Fn(Faulty) -> Systems, check: impl Fn(&[u32], &[u32], &[u32])) {
    let check_with = |scheduling: Scheduling| {
        let workers = scheduling.workers;
        let mut app = app(scheduling, ROWS, in_the_last_third);
        let faulty = Faulty::default();
        faulty.set(Faulty::NONE);
        // Not in the app, whose schedule would be gone after a panic.
        let mut schedule = Schedule::default();
        schedule.add_systems(system(faulty.clone()));
        let mut run = |app: &mut App| {
            // A new executor: the last one may have stopped half-way.
            schedule.set_executor(SingleThreadedExecutor::new());
            let outcome = catch_unwind(AssertUnwindSafe(|| schedule.run(app.world_mut())));
            app.update();
            outcome
        };
        (0..3).for_each(|_| run(&mut app).expect("no row fails"));
        for number in FAULTY {
            let before = swept(&mut app);
            faulty.set(number);
            let payload = run(&mut app).expect_err("a row fails");
            assert_eq!(payload.downcast_ref(), Some(&Failed(number)), "{workers} workers");
            let failed = swept(&mut app);
            faulty.set(Faulty::NONE);
            run(&mut app).expect("no row fails");
            check(&before, &failed, &swept(&mut app));
        }
        app
    };
    (2..=3).for_each(|workers| until_stolen(workers, check_with));
}

/// Each row at most once in a frame with a panic, and once in the next.
fn at_most_once_then_once(before: &[u32], failed: &[u32], after: &[u32]) {
    let risen = |from: &[u32], to: &[u32]| from.iter().zip(to).map(|(from, to)| to - from).collect::<Vec<_>>();
    assert!(risen(before, failed).iter().all(|&times| times <= 1), "{:?}", risen(before, failed));
    assert!(risen(failed, after).iter().all(|&times| times == 1), "{:?}", risen(failed, after));
}

#[test]
fn in_sweeps() {
    let system = |faulty: Faulty| {
        (move |mut rows: AffineQuery<(&Row, &mut Swept)>| {
            rows.par_iter_mut().for_each(|(&row, mut swept)| {
                row.work();
                faulty.check(row);
                swept.0 += 1;
            });
        })
        .affine()
    };
    fail_in_turn(system, at_most_once_then_once);
}

#[test]
fn in_kernels() {
    let system = |faulty: Faulty| {
        let first = |KernelRow((row, mut swept)): KernelRow<(&Row, &mut Swept)>| {
            row.work();
            swept.0 += 1;
        };
        fused((first, move |KernelRow(&row): KernelRow<&Row>| faulty.check(row))).affine()
    };
    fail_in_turn(system, at_most_once_then_once);
}

/// A message that counts how many there are.
struct Message(Arc<AtomicU32>);

impl Message {
    fn new(alive: &Arc<AtomicU32>) -> Self {
        alive.fetch_add(1, Ordering::Relaxed);
        Self(alive.clone())
    }
}

impl Drop for Message {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A system whose rows send a message to themselves; one of them fails as a receiver, or else as a
/// sender.
fn sending(alive: &Arc<AtomicU32>, faulty: Faulty, checks_receivers: bool) -> Systems {
    let alive = alive.clone();
    (move |mut rows: AffineQuery<(Entity, &Row, &mut Swept)>| {
        let check = |row, receives| {
            if receives == checks_receivers {
                faulty.check(row);
            }
        };
        rows.par_iter_mut().scatter_within(
            |outbox, (entity, &row, _)| {
                row.work();
                outbox.send(entity, Message::new(&alive));
                check(row, false);
            },
            |(_, &row, mut swept), _message| {
                check(row, true);
                swept.0 += 1;
            },
        );
    })
    .affine()
}

#[test]
fn in_those_who_send() {
    let alive = Arc::new(AtomicU32::new(0));
    let system = |faulty| sending(&alive, faulty, false);
    // Nothing is delivered if somebody failed to send.
    fail_in_turn(system, |before, failed, after| {
        assert_eq!(before, failed);
        at_most_once_then_once(before, failed, after);
    });
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

#[test]
fn in_those_who_receive() {
    let alive = Arc::new(AtomicU32::new(0));
    fail_in_turn(|faulty| sending(&alive, faulty, true), at_most_once_then_once);
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}
