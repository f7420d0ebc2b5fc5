//! Several threads that use one gang: one of them leads, the others run on the spot and touch
//! nothing of its round.

use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::{Count, child, common::Scheduling};

/// Long waits end: the test fails then.
fn wait_for(flag: &AtomicBool) {
    let began = Instant::now();
    while !flag.load(Ordering::SeqCst) {
        assert!(began.elapsed() < Duration::from_secs(60), "waited in vain");
        thread::yield_now();
    }
}

/// A heartbeat that begins while another thread leads stays on its thread, also when that thread
/// forks and joins next.
#[test]
fn a_heartbeat_beside_a_round_runs_on_the_spot() {
    fn body() {
        let pool = AffinityPool::new(&Scheduling::heartbeat(3).settings());
        let [leads, began, over] = [(); 3].map(|()| AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                pool.run(|worker| {
                    if worker.index() == 0 {
                        leads.store(true, Ordering::SeqCst);
                        wait_for(&began);
                    }
                });
                // Its workers look for jobs as long as this runs.
                pool.heartbeat(|_| thread::sleep(Duration::from_millis(200)));
                over.store(true, Ordering::SeqCst);
            });
            scope.spawn(|| {
                wait_for(&leads);
                let here = thread::current().id();
                let first = |_: &mut Scope| {
                    began.store(true, Ordering::SeqCst);
                    wait_for(&over);
                };
                let ((), second) = pool.heartbeat(|scope| scope.join(first, |_| thread::current().id()));
                assert_eq!(second, here, "the second half ran on a worker of the other thread's");
            });
        });
    }
    let Some(ended) = child::run("leads::a_heartbeat_beside_a_round_runs_on_the_spot") else { return body() };
    ended.assert_passed();
}

/// What a round took is learned from that round, not from what another thread's is writing
/// meanwhile.
#[test]
fn apps_in_several_threads_learn_from_their_own_rounds() {
    const ROWS: usize = 20_000;
    const FRAMES: u64 = 300;

    fn count_up_slowly(mut counts: AffineQuery<&mut Count>) {
        counts.par_iter_mut().for_each(|mut count| {
            // The rows get dearer towards the end.
            (0..count.0 % 7).for_each(|turn| _ = std::hint::black_box(turn));
            count.0 += 1;
        });
    }

    fn frames(scheduling: Scheduling) {
        let mut app = scheduling.app();
        app.world_mut().spawn_batch((0..ROWS).map(|_| Count(0)));
        app.add_systems(Update, count_up_slowly.affine());
        (0..FRAMES).for_each(|_| app.update());
        let mut counts = app.world_mut().query::<&Count>();
        assert!(counts.iter(app.world()).all(|count| count.0 == FRAMES));
    }

    thread::scope(|scope| {
        for scheduling in [Scheduling::lock_step(3), Scheduling::auto(3), Scheduling::lock_step(4)] {
            scope.spawn(move || frames(scheduling));
        }
    });
}

/// Clones of one pool in several threads: each index of each round once, and no count is lost or
/// goes back.
#[test]
fn clones_of_a_pool_count_every_call() {
    const ROUNDS: usize = 2_000;
    let pool = AffinityPool::new(&Scheduling::lock_step(3).settings());
    let workers = pool.workers();
    let called = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| (0..ROUNDS).for_each(|_| pool.run(|_| _ = called.fetch_add(1, Ordering::Relaxed))));
        }
    });
    assert_eq!(called.into_inner(), 3 * ROUNDS * workers);
    let counted: u64 = pool.worker_stats().map(|worker| worker.rounds).sum();
    assert_eq!(counted, (3 * ROUNDS * workers) as u64);
}
