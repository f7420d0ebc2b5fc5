//! Payloads that panic while they are dropped, with payloads of which the same holds: the process
//! aborts, with a line on stderr. No thread leaves a round that others are in, none is waited for
//! that is gone.

use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use bevy_affinity::prelude::*;

use crate::{Count, child, common::Scheduling, spawn_many};

const DROPPED: &str = "the payload of a panic panicked while it was dropped";

/// A payload that panics so many times over.
struct Bomb(u32);

impl Drop for Bomb {
    fn drop(&mut self) {
        if self.0 > 0 {
            panic_any(Bomb(self.0 - 1));
        }
    }
}

fn pool(workers: usize) -> AffinityPool {
    AffinityPool::new(&AffinitySettings {
        workers: WorkerCount::Exactly(workers),
        avoid_busy_cores: false,
        spin: Duration::from_millis(20),
        ..Default::default()
    })
}

/// Long waits end: a child that goes on shows what is wrong.
fn wait_for(condition: impl Fn() -> bool) {
    let began = Instant::now();
    while !condition() && began.elapsed() < Duration::from_secs(20) {
        thread::yield_now();
    }
}

/// Panics with a payload that must not be dropped. In silence: a backtrace would take longer than
/// threads here wait for each other.
fn explode() -> ! {
    resume_unwind(Box::new(Bomb(2)))
}

/// Runs `f`, whose panics are nobody's.
fn run_and_forget(f: impl FnOnce()) {
    mem::forget(catch_unwind(AssertUnwindSafe(f)));
}

/// The leader panics, then a worker, whose payload nobody will see. (Should it be the other way
/// round, it is the leader's.)
fn a_worker_panics_second() {
    let pool = pool(2);
    let (leader, worker) = (AtomicBool::new(false), AtomicBool::new(false));
    run_and_forget(|| {
        pool.run(|who| {
            if who.index() == 0 {
                wait_for(|| worker.load(Ordering::SeqCst));
                leader.store(true, Ordering::SeqCst);
                explode();
            }
            worker.store(true, Ordering::SeqCst);
            wait_for(|| leader.load(Ordering::SeqCst));
            thread::sleep(Duration::from_millis(200));
            explode();
        });
    });
}

#[test]
fn of_a_worker() {
    let Some(ended) = child::run("aborts::of_a_worker") else { return a_worker_panics_second() };
    ended.assert_aborted_with(DROPPED);
}

#[test]
fn of_a_worker_that_cannot_say_so() {
    let Some(ended) = child::run_without_stderr("aborts::of_a_worker_that_cannot_say_so") else {
        return a_worker_panics_second();
    };
    ended.assert_aborted();
}

/// A worker panics, then the leader, whose payload nobody will see, while another worker uses what
/// the round borrows.
#[test]
fn of_the_leader() {
    fn body() {
        let pool = pool(3);
        let (started, seen) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let round = || {
            let local = vec![1_u64; 512];
            pool.run(|worker| {
                started.fetch_add(1, Ordering::SeqCst);
                match worker.index() {
                    0 => {
                        wait_for(|| started.load(Ordering::SeqCst) == 3);
                        thread::sleep(Duration::from_millis(200));
                        explode();
                    }
                    1 => explode(),
                    _ => {
                        thread::sleep(Duration::from_secs(2));
                        seen.lock().unwrap().push(local[300]);
                    }
                }
            });
        };
        run_and_forget(round);
        // Not reached: the frame that the worker reads is gone.
        let junk: Vec<_> = (0..64).map(|_| vec![2_u64; 512]).collect();
        thread::sleep(Duration::from_secs(3));
        assert_eq!(*seen.lock().unwrap(), [1], "read from memory that was freed; {}", junk.len());
    }
    let Some(ended) = child::run("aborts::of_the_leader") else { return body() };
    ended.assert_aborted_with(DROPPED);
}

#[test]
fn of_a_round_in_a_round() {
    fn body() {
        let pool = pool(2);
        // One thread only: others would write to stderr too.
        run_and_forget(|| {
            pool.run(|outer| {
                if outer.index() == 0 {
                    pool.run(|_| explode());
                }
            });
        });
    }
    let Some(ended) = child::run("aborts::of_a_round_in_a_round") else { return body() };
    ended.assert_aborted_with(DROPPED);
}

/// Both halves of a join panic; the second one's payload is nobody's.
#[test]
fn of_a_second_half() {
    fn body() {
        let pool = pool(2);
        let began = AtomicBool::new(false);
        let first = |_: &mut Scope| {
            wait_for(|| began.load(Ordering::SeqCst));
            resume_unwind(Box::new("first"));
        };
        let second = |_: &mut Scope| {
            began.store(true, Ordering::SeqCst);
            explode();
        };
        run_and_forget(|| pool.heartbeat(|scope| _ = scope.join(first, second)));
    }
    let Some(ended) = child::run("aborts::of_a_second_half") else { return body() };
    ended.assert_aborted_with("panicked while it was dropped");
}

#[test]
fn of_rows() {
    fn body() {
        let mut app = Scheduling::lock_step(2).app();
        spawn_many(&mut app);
        app.add_systems(
            bevy::prelude::Update,
            (|counts: AffineQuery<&Count>| counts.par_iter().for_each(|_| explode())).affine(),
        );
        run_and_forget(|| app.update());
    }
    let Some(ended) = child::run("aborts::of_rows") else { return body() };
    ended.assert_aborted_with(DROPPED);
}

/// A payload that somebody gets is left to that one, whatever it does when it is dropped.
#[test]
fn a_lone_payload_is_the_callers() {
    let pool = pool(3);
    for culprit in 0..3 {
        let round = || {
            pool.run(|worker| {
                if worker.index() == culprit {
                    resume_unwind(Box::new(Bomb(7)))
                }
            })
        };
        let payload = catch_unwind(AssertUnwindSafe(round)).expect_err("one call panics");
        let bomb = payload.downcast::<Bomb>().unwrap_or_else(|_| panic!("another payload"));
        assert_eq!(bomb.0, 7);
        mem::forget(bomb);
    }
}
