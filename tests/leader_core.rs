//! The leader is on no worker's core when a round begins. A process of its own, since the gangs of
//! all pools of a process are one.
#![cfg(target_os = "linux")]

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use bevy_affinity::{
    AffinityPool, AffinitySettings, WorkerCount,
    topology::{
        Core, PinError, Topology, current_core, move_current_thread_to, pin_current_thread, unpin_current_thread,
    },
};

#[path = "common/skip.rs"]
mod skip;

use skip::skip;

const ROUNDS: usize = 20;

fn pool(avoid_busy_cores: bool) -> AffinityPool {
    AffinityPool::new(&AffinitySettings { workers: WorkerCount::Exactly(2), avoid_busy_cores, ..Default::default() })
}

/// One test: all parts say something of the one gang.
#[test]
fn a_leader_and_a_worker_do_not_share_a_core() {
    let topology = Topology::get();
    let [_, workers_core, ..] = &*topology.cores else { return skip("needs two cores") };
    if topology.parallelism() < 2 {
        // Workers that take turns on a core are not left out.
        return skip("needs leave to keep two cores busy");
    }
    if !may_pin_to(workers_core) {
        return skip("needs leave to pin threads");
    }
    leaves_the_core_of_a_worker(workers_core);
    who_does_not_lead_leaves_nobody_out(workers_core);
    // On a crowded machine all are called back now and then.
    assert!((0..5).any(|_| does_without_a_worker_whose_core_it_is_kept_to(workers_core)));
}

/// Whether the system lets threads be pinned: containers may forbid it.
fn may_pin_to(core: &Core) -> bool {
    let pinned = thread::scope(|scope| scope.spawn(|| pin_current_thread(core.id)).join());
    !matches!(pinned, Ok(Err(PinError::Refused(_))))
}

fn leaves_the_core_of_a_worker(workers_core: &Core) {
    let pool = pool(false);
    let led_there = |_: &usize| {
        // Longer than a leader is left where it is.
        thread::sleep(Duration::from_millis(2));
        move_current_thread_to(workers_core.id).expect("a core of ours");
        let there = AtomicBool::new(false);
        pool.run(|worker| {
            if worker.index() == 0 {
                there.store(current_core() == Some(workers_core.id), Ordering::Relaxed);
            }
        });
        there.into_inner()
    };
    let there = (0..ROUNDS).filter(led_there).count();
    // The system may bring it back at any time: on a crowded machine it does so in half of the
    // rounds.
    assert!(there < ROUNDS, "all rounds were led from the worker's core");
}

/// A thread that runs a round by itself, because another one leads, has no say in who takes part:
/// also where it is kept to a worker's core, which costs that worker its place when such a thread
/// leads.
fn who_does_not_lead_leaves_nobody_out(workers_core: &Core) {
    // On a crowded machine a worker may lose its place for another reason, but not each time.
    assert!((0..5).any(|_| nobody_is_left_out_after_rounds_beside_another(workers_core)));
}

fn nobody_is_left_out_after_rounds_beside_another(workers_core: &Core) -> bool {
    let pool = pool(true);
    let [leads, over] = [(); 2].map(|()| AtomicBool::new(false));
    let wait_for = |flag: &AtomicBool| {
        while !flag.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_micros(100));
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            pool.run(|worker| {
                if worker.index() == 0 {
                    leads.store(true, Ordering::SeqCst);
                    wait_for(&over);
                }
            });
        });
        wait_for(&leads);
        pin_current_thread(workers_core.id).expect("a core of ours");
        // Longer than a leader is left where it is.
        thread::sleep(Duration::from_millis(2));
        (0..ROUNDS).for_each(|_| pool.run(|_| ()));
        unpin_current_thread().expect("what was allowed before");
        over.store(true, Ordering::SeqCst);
    });
    pool.run(|_| ());
    pool.worker_stats().all(|worker| worker.rounds_left_out == 0)
}

fn does_without_a_worker_whose_core_it_is_kept_to(workers_core: &Core) -> bool {
    let pool = pool(true);
    pin_current_thread(workers_core.id).expect("a core of ours");
    thread::sleep(Duration::from_millis(2));
    (0..ROUNDS).for_each(|_| pool.run(|_| ()));
    unpin_current_thread().expect("what was allowed before");
    pool.worker_stats().map(|worker| worker.rounds_left_out).eq([0, ROUNDS as u64])
}
