//! Batched calls where the worker is left out of rounds: nothing waits for it. A process of its
//! own, since who is left out is known to all pools.
#![cfg(target_os = "linux")]

use std::{sync::mpsc, thread, time::Duration};

use bevy_affinity::{
    AffinityPool, AffinitySettings, WorkerCount,
    topology::{Core, PinError, Topology, pin_current_thread, unpin_current_thread},
};

#[path = "common/skip.rs"]
mod skip;

use skip::skip;

#[test]
fn a_worker_that_is_left_out_keeps_no_call_waiting() {
    let topology = Topology::get();
    let [_, workers_core, ..] = &*topology.cores else { return skip("needs two cores") };
    if topology.parallelism() < 2 {
        // Workers that take turns on a core are not left out.
        return skip("needs leave to keep two cores busy");
    }
    // On a crowded machine all are called back now and then.
    for _ in 0..5 {
        match is_left_out(workers_core) {
            Ok(true) => return,
            Ok(false) => {}
            Err(PinError::Refused(_)) => return skip("needs leave to pin threads"),
            Err(error) => panic!("{error}"),
        }
    }
    panic!("the worker was called each time");
}

/// Makes some batched calls, the leader of which is kept to the worker's core. Whether the worker
/// was left out.
fn is_left_out(workers_core: &Core) -> Result<bool, PinError> {
    let settings = AffinitySettings { workers: WorkerCount::Exactly(2), ..Default::default() };
    let pool = AffinityPool::new(&settings);
    // Such a leader does without the worker.
    pin_current_thread(workers_core.id)?;
    // Longer than a leader is left where it is.
    thread::sleep(Duration::from_millis(2));
    (0..5).for_each(|asked| call(&pool, asked));
    unpin_current_thread()?;
    Ok(pool.worker_stats().nth(1).is_some_and(|worker| worker.rounds_left_out > 0))
}

/// A batched call whose caller waits for one answer after the other.
fn call(pool: &AffinityPool, asked: u64) {
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
