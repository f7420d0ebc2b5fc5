//! The ticker's role, which nobody outside of a session sees: who sleeps without it is woken when
//! it is free.

use std::time::Duration;

use crossbeam_utils::CachePadded;
use loom::{sync::Arc, thread};

use super::{JobQueue, session::Session};
use crate::model::model;

/// Idle workers sleep until they have the role, and pass it on at once, as if they had found a job.
/// Each has to have it once: who is not woken sleeps for ever here, where no time passes.
fn pass_on(workers: usize) {
    let queues: Box<[_]> = (0..workers).map(|_| CachePadded::new(JobQueue::new())).collect();
    // Loom's threads cannot borrow, and the session cannot own: what is leaked is freed after all
    // threads have ended.
    let queues = Box::into_raw(queues);
    // SAFETY: freed below, when no thread uses it any more.
    let session = Arc::new(Session::new(unsafe { &*queues }, Duration::ZERO, Duration::ZERO));
    let idle = |index: usize| {
        let session = session.clone();
        move || drop(session.queue(index).bench.park(|| session.try_tick()))
    };
    let threads: Vec<_> = (1..workers).map(|index| thread::spawn(idle(index))).collect();
    idle(0)();
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    drop(session);
    // SAFETY: made by `into_raw` above, and nothing borrows it any more.
    drop(unsafe { Box::from_raw(queues) });
}

#[test]
fn two_idle_workers_have_the_role_in_turn() {
    model(3, || pass_on(2));
}

#[test]
fn three_idle_workers_have_the_role_in_turn() {
    model(2, || pass_on(3));
}
