//! A round calls only the workers that have something to do.
//!
//! Rows sleep: that takes as long on a busy machine as on a quiet one, and does not need cores.

use std::{collections::BTreeSet, sync::MutexGuard, thread, time::Duration};

use bevy::prelude::*;
use bevy_affinity::{SpanKind, prelude::*};

use crate::{common::Scheduling, turn};

const WORKERS: usize = 4;
const FRAMES: u64 = 20;

/// A row, with how often it was swept.
#[derive(Component, Default)]
struct Dear(u64);

/// Gets the sum of what is sent to it.
#[derive(Component, Default)]
struct Sum(u64);

/// Sends a number to an entity.
#[derive(Component)]
struct Number(Entity, u64);

fn work() {
    thread::sleep(Duration::from_micros(50));
}

fn sweep(mut rows: AffineQuery<&mut Dear>) {
    rows.par_iter_mut().for_each(|mut row| {
        work();
        row.0 += 1;
    });
}

fn reduce(rows: AffineQuery<&Dear>, mut reduced: Local<u64>) {
    let map = |row: &Dear| {
        work();
        row.0
    };
    *reduced += 1;
    assert_eq!(rows.par_iter().map_reduce(|| 0, map, |a, b| a + b), 2 * *reduced);
}

fn send(numbers: AffineQuery<&Number>, mut sums: AffineQuery<&mut Sum>) {
    let send = |outbox: &mut Outbox<'_, u64>, number: &Number| outbox.send(number.0, number.1);
    numbers.par_iter().scatter(&mut sums, send, |mut sum, number| sum.0 += number);
}

/// An app that records its rounds, and the turn of this test.
fn app() -> (App, MutexGuard<'static, ()>) {
    let turn = turn();
    let mut app = Scheduling::lock_step(WORKERS).app();
    app.world_mut().resource_mut::<AffinityTimeline>().record(true);
    (app, turn)
}

fn run(app: &mut App) {
    (0..FRAMES).for_each(|_| app.update());
}

/// The workers whose indices were run in each round, by whomever.
fn called(app: &App) -> Vec<BTreeSet<usize>> {
    let mut shares: Vec<_> = app.world().resource::<AffinityTimeline>().spans().copied().collect();
    shares.retain(|span| span.kind == SpanKind::Share);
    shares.sort_by_key(|span| span.called);
    let rounds = shares.chunk_by(|a, b| a.called == b.called);
    rounds.map(|round| round.iter().map(|span| span.share_of).collect()).collect()
}

/// What each worker did, its own index or another's.
fn rounds(app: &App) -> Vec<u64> {
    app.world().resource::<AffinityDiagnostics>().workers.iter().map(|worker| worker.rounds).collect()
}

#[test]
fn two_rows_call_two_workers() {
    let (mut app, _turn) = app();
    app.world_mut().spawn_batch([Dear(0), Dear(0)]);
    app.add_systems(Update, (sweep, reduce).affine().chain());
    run(&mut app);
    let called = called(&app);
    // The first call of each place is the leader's: it learns what rows cost.
    assert_eq!(called.len() as u64, 2 * (FRAMES - 1));
    assert!(called.iter().all(|called| *called == BTreeSet::from([0, 1])), "{called:?}");
    let diagnostics = app.world().resource::<AffinityDiagnostics>();
    for worker in &diagnostics.workers[2..] {
        assert_eq!((worker.rounds, worker.busy, worker.wait), (0, Duration::ZERO, Duration::ZERO), "{worker:?}");
        assert_eq!((worker.rounds_left_out, worker.recent.busy, worker.recent.wait), (0, 0.0, 0.0), "{worker:?}");
    }
    assert_eq!(rounds(&app).iter().sum::<u64>(), 4 * (FRAMES - 1));
}

#[test]
fn rows_in_several_tables_call_all_their_owners() {
    #[derive(Component)]
    struct Mark<const N: usize>;

    let (mut app, _turn) = app();
    app.world_mut().spawn_batch([(Dear(0), Mark::<0>)]);
    app.world_mut().spawn_batch([(Dear(0), Mark::<1>)]);
    app.world_mut().spawn_batch([(Dear(0), Mark::<2>)]);
    app.add_systems(Update, sweep.affine());
    run(&mut app);
    let called = called(&app);
    assert_eq!(called.len() as u64, FRAMES - 1);
    assert!(called.iter().all(|called| *called == BTreeSet::from([0, 1, 2])), "{called:?}");
    let swept: Vec<_> = app.world_mut().query::<&Dear>().iter(app.world()).map(|row| row.0).collect();
    assert_eq!(swept, [FRAMES; 3]);
}

#[test]
fn enough_rows_call_everybody() {
    let (mut app, _turn) = app();
    app.world_mut().spawn_batch((0..64).map(|_| Dear(0)));
    app.add_systems(Update, sweep.affine());
    run(&mut app);
    assert!(called(&app).iter().all(|called| called.len() == WORKERS));
}

#[test]
fn messages_to_one_entity_call_its_owner() {
    let (mut app, _turn) = app();
    let target = app.world_mut().spawn(Sum(0)).id();
    // So many that the first call goes parallel, before anything is known.
    let numbers = 5_000;
    app.world_mut().spawn_batch((0..numbers).map(move |number| Number(target, number)));
    app.add_systems(Update, send.affine());
    app.update();
    let called = called(&app);
    assert_eq!(
        called.iter().map(BTreeSet::len).collect::<Vec<_>>(),
        [WORKERS, 1],
        "the senders, then the owner of the target"
    );
    run(&mut app);
    assert_eq!(app.world().get::<Sum>(target).map(|sum| sum.0), Some((FRAMES + 1) * numbers * (numbers - 1) / 2));
}
