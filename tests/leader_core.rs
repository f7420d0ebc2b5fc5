//! The leader is on no worker's core when a round begins. A process of its own, since the gangs of all pools of a process are one.
#![cfg(target_os = "linux")]

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use bevy_affinity::{
    AffinityPool, AffinitySettings, WorkerCount,
    topology::{Topology, current_core, move_current_thread_to},
};

const ROUNDS: usize = 20;

#[test]
fn a_leader_leaves_the_core_of_a_worker_that_it_calls() {
    let topology = Topology::get();
    let [_, workers_core, ..] = &*topology.cores else { return };
    let pool = AffinityPool::new(&AffinitySettings {
        workers: WorkerCount::Exactly(2),
        avoid_busy_cores: false,
        ..Default::default()
    });
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
    // The system may bring it back at any time: on a crowded machine it does so in half of the rounds.
    assert!(there < ROUNDS, "all rounds were led from the worker's core");
}
