//! Batched calls where the worker is left out of rounds: nothing waits for it. A process of its
//! own, since who is left out is known to all pools.
#![cfg(target_os = "linux")]

use std::{sync::mpsc, thread, time::Duration};

use bevy_affinity::{
    AffinityPool, AffinitySettings, WorkerCount,
    topology::{Topology, pin_current_thread},
};

#[test]
fn a_worker_that_is_left_out_keeps_no_call_waiting() {
    let topology = Topology::get();
    let [_, workers_core, ..] = &*topology.cores else { return };
    let settings = AffinitySettings { workers: WorkerCount::Exactly(2), ..Default::default() };
    let pool = AffinityPool::new(&settings);
    // A leader that is kept to the worker's core does without the worker.
    pin_current_thread(workers_core.id).expect("a core of ours");
    // Longer than a leader is left where it is.
    thread::sleep(Duration::from_millis(2));
    for asked in 0..5_u64 {
        pool.batched(
            |(number, answer): (u64, mpsc::Sender<u64>)| _ = answer.send(number),
            |calls| {
                for number in 0..20 {
                    let (sender, answer) = mpsc::channel();
                    calls.call(number, (number + asked, sender));
                    calls.flush();
                    let answer = answer.recv_timeout(Duration::from_secs(30));
                    assert_eq!(answer, Ok(number + asked), "the call waits for the caller to return");
                }
            },
        );
    }
}
