//! Sweeps in heartbeat mode: rows go to workers that have nothing to do, however they are spread
//! over tables and however much they cost.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind, panic_any},
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicUsize, Ordering},
    },
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

use bevy::{prelude::*, utils::Parallel};
use bevy_affinity::prelude::*;

use crate::{PATIENCE, tables::move_to_table, turn};

/// Enough rows for a first sweep, whose cost is not known yet, to go parallel.
const MANY: usize = 5000;

#[derive(Component)]
struct Number(usize);

/// An app in which rows change hands one by one, as often as asked, and the turn of this test.
fn eager(workers: usize) -> (App, MutexGuard<'static, ()>) {
    let turn = turn();
    let workers = WorkerCount::Exactly(workers);
    let mut app = App::new();
    app.insert_resource(AffinitySettings {
        workers,
        chunk_rows: 1,
        heartbeat: Duration::ZERO,
        avoid_busy_cores: false,
        ..default()
    })
    .insert_resource(SchedulerMode::Heartbeat)
    .add_plugins(AffinityParallelPlugin);
    (app, turn)
}

/// How many rows each worker swept, by worker index.
fn swept_rows(app: &App) -> Vec<u64> {
    app.world().resource::<AffinityDiagnostics>().workers.iter().map(|worker| worker.swept_rows).collect()
}

fn spawn_many(app: &mut App) {
    app.world_mut().spawn_batch((0..MANY).map(Number));
}

fn wait_until(what: &str, met: impl Fn() -> bool) {
    let start = Instant::now();
    while !met() {
        assert!(start.elapsed() < PATIENCE, "nobody came: {what}");
        thread::yield_now();
    }
}

/// Counts visits, and can wait for others.
#[derive(Default)]
struct Visits(AtomicUsize);

impl Visits {
    fn add(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn wait_for(&self, visits: usize) {
        wait_until("other rows", || self.0.load(Ordering::SeqCst) >= visits);
    }
}

#[test]
fn a_slow_row_holds_up_no_other() {
    let swept = || {
        let (mut app, _turn) = eager(2);
        spawn_many(&mut app);
        let sweep = |rows: AffineQuery<&Number>| {
            let visits = Visits::default();
            rows.par_iter().for_each(|number| {
                if number.0 == 0 {
                    visits.wait_for(MANY - 1);
                }
                visits.add();
            });
        };
        app.add_systems(Update, sweep.affine()).update();
        swept_rows(&app)
    };
    // Where the leader begins late its worker has all rows by then.
    assert!((0..200).any(|_| swept() == [1, MANY as u64 - 1]));
}

#[test]
fn the_tables_are_one_range() {
    const TABLES: usize = 1 << 13;
    let (mut app, _turn) = eager(2);
    for table in 0..TABLES {
        move_to_table(&mut app.world_mut().spawn(Number(table)), table);
    }
    let sweep = |rows: AffineQuery<&Number>| {
        let visits = Visits::default();
        rows.par_iter().for_each(|number| {
            if number.0 == 0 || number.0 == TABLES - 1 {
                visits.add();
                visits.wait_for(2);
            }
        });
    };
    app.add_systems(Update, sweep.affine()).update();
    assert_eq!(swept_rows(&app).iter().sum::<u64>(), TABLES as u64);
}

#[test]
fn values_are_combined_in_the_order_of_rows() {
    let (mut app, _turn) = eager(3);
    spawn_many(&mut app);
    let collect = |rows: AffineQuery<&Number>| {
        let append = |mut left: Vec<usize>, right: Vec<usize>| {
            left.extend(right);
            left
        };
        let numbers = rows.par_iter().map_reduce(Vec::new, |number| vec![number.0], append);
        assert!(numbers.into_iter().eq(0..MANY));
    };
    app.add_systems(Update, collect.affine());
    (0..20).for_each(|_| app.update());
}

#[test]
fn a_panic_in_rows_that_were_taken_reaches_the_system() {
    let (mut app, _turn) = eager(2);
    spawn_many(&mut app);
    let sweep = |rows: AffineQuery<&Number>, mut frame: Local<usize>| {
        *frame += 1;
        let (visits, panics) = (Visits::default(), *frame % 2 == 1);
        let result = catch_unwind(AssertUnwindSafe(|| {
            rows.par_iter().for_each(|number| match number.0 {
                0 => visits.wait_for(1),
                number if number == MANY - 1 => {
                    visits.add();
                    if panics {
                        panic_any(number);
                    }
                }
                _ => {}
            });
        }));
        let payload = result.err().and_then(|payload| payload.downcast_ref().copied());
        assert_eq!(payload, panics.then_some(MANY - 1));
    };
    app.add_systems(Update, sweep.affine());
    (0..20).for_each(|_| app.update());
}

#[test]
fn scratch_values_stay_with_their_thread() {
    let (mut app, _turn) = eager(3);
    spawn_many(&mut app);
    let sweep = |rows: AffineQuery<&Number>| {
        let (made, users) = (AtomicUsize::new(0), Mutex::new(HashMap::<usize, ThreadId>::new()));
        let make = || made.fetch_add(1, Ordering::Relaxed);
        rows.par_iter().for_each_init(make, |value, _| {
            let mut users = users.lock().expect("no closure panicked");
            assert_eq!(*users.entry(*value).or_insert(thread::current().id()), thread::current().id());
        });
        assert!(made.into_inner() >= users.into_inner().expect("no closure panicked").len());
    };
    app.add_systems(Update, sweep.affine());
    (0..20).for_each(|_| app.update());
}

#[test]
fn few_rows_stay_on_the_leader_at_first() {
    let (mut app, _turn) = eager(2);
    app.world_mut().spawn_batch((0..10).map(Number));
    app.add_systems(Update, (|rows: AffineQuery<&Number>| rows.par_iter().for_each(|_| ())).affine());
    // Once: after that it depends on how long they took.
    app.update();
    let rounds: u64 = app.world().resource::<AffinityPool>().worker_stats().map(|worker| worker.rounds).sum();
    assert_eq!(rounds, 0);
}

/// What Bevy's documentation shows for `for_each_init`: each thread lends its value to one sweep at
/// a time.
#[test]
fn threads_lend_their_own_values() {
    for mode in [SchedulerMode::Heartbeat, SchedulerMode::Auto, SchedulerMode::LockStep] {
        let (mut app, _turn) = eager(3);
        app.insert_resource(mode);
        spawn_many(&mut app);
        let sweep = |rows: AffineQuery<&Number>, mut found: Local<Parallel<Vec<usize>>>| {
            rows.par_iter().for_each_init(
                || found.borrow_local_mut(),
                |found, number| {
                    if number.0 % 64 == 0 {
                        thread::sleep(Duration::from_micros(20));
                    }
                    found.push(number.0);
                },
            );
            assert_eq!(found.iter_mut().map(|found| std::mem::take(found).len()).sum::<usize>(), MANY);
        };
        app.add_systems(Update, sweep.affine());
        (0..20).for_each(|_| app.update());
    }
}
