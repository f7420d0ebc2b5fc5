//! Batched calls under loom: every schedule (within the stated number of preemptions) of a caller and the workers that run its calls.
//!
//! `RUSTFLAGS=--cfg=affinity_loom cargo test --release --test loom_batch`
#![cfg(affinity_loom)]
#![allow(
    dead_code,
    unused_imports,
    reason = "the protocol's files are taken from the crate as they are, and each test uses a part"
)]

#[path = "../src/pool/batch.rs"]
mod batch;
#[path = "../src/pool/clock.rs"]
mod clock;
#[path = "../src/pool/parker.rs"]
mod parker;
#[path = "../src/pool/spin.rs"]
mod spin;
#[path = "../src/sync.rs"]
mod sync;

use std::time::Duration;

use loom::{
    cell::UnsafeCell,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering, fence},
    },
    thread,
};

use crate::{
    batch::{BatchedCalls, Exchange},
    parker::Parker,
};

/// What a call writes and the caller reads afterwards; loom watches for a missing order between the two.
struct Row(UnsafeCell<u32>);
// SAFETY: loom itself reports every overlapping access to the cell.
unsafe impl Sync for Row {}

/// Runs the calls of `caller` on `workers - 1` threads, and returns their arguments by thread, in the order in which they ran.
fn exchange(workers: usize, caller: impl FnOnce(&mut BatchedCalls<Arc<Row>>)) -> Vec<Vec<usize>> {
    let exchange = Arc::new(Exchange::new(workers, Duration::ZERO));
    let ran = Arc::new(Mutex::new(vec![Vec::new(); workers - 1]));
    let followers: Vec<_> = (0..workers - 1)
        .map(|inbox| {
            let (exchange, ran) = (exchange.clone(), ran.clone());
            thread::spawn(move || {
                exchange.follow(inbox, |number, row: Arc<Row>| {
                    // SAFETY: loom checks it.
                    row.0.with_mut(|row| unsafe { *row += 1 });
                    ran.lock().unwrap()[inbox].push(number);
                });
            })
        })
        .collect();
    let outcome = exchange.lead(caller);
    followers.into_iter().for_each(|follower| follower.join().expect("followers do not panic"));
    drop(outcome);
    let ran = ran.lock().unwrap();
    ran.clone()
}

fn model(preemptions: usize, test: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(test);
}

fn row() -> Arc<Row> {
    Arc::new(Row(UnsafeCell::new(0)))
}

#[test]
fn no_call_is_lost_and_their_order_stays() {
    model(3, || {
        let rows = [row(), row(), row()];
        let ran = exchange(2, |calls| {
            calls.call(0, rows[0].clone());
            calls.flush();
            calls.call(0, rows[1].clone());
            calls.flush();
            calls.call(0, rows[2].clone());
        });
        assert_eq!(ran, [[0, 1, 2]]);
        // SAFETY: loom checks it.
        assert!(rows.iter().all(|row| row.0.with(|row| unsafe { *row }) == 1));
    });
}

/// A wake-up that is missed when a batch is sent would be made up for at the end: so this caller waits before that.
#[test]
fn a_caller_that_waits_for_a_call_is_not_left_waiting() {
    model(3, || {
        let exchange = Arc::new(Exchange::new(2, Duration::ZERO));
        let (done, caller) = (Arc::new(AtomicBool::new(false)), Arc::new(Parker::new()));
        let follower = {
            let (exchange, done, caller) = (exchange.clone(), done.clone(), caller.clone());
            thread::spawn(move || {
                exchange.follow(0, |_, ()| {
                    done.store(true, Ordering::Relaxed);
                    fence(Ordering::SeqCst);
                    caller.unpark_after_fence();
                });
            })
        };
        let outcome = exchange.lead(|calls| {
            calls.call(0, ());
            calls.flush();
            caller.park(|| done.load(Ordering::Relaxed).then_some(()));
        });
        assert!(outcome.is_ok());
        follower.join().expect("followers do not panic");
    });
}

#[test]
fn two_workers_share_keys() {
    model(2, || {
        let ran = exchange(3, |calls| {
            (0..3).for_each(|key| _ = calls.call(key, row()));
            calls.flush();
            (0..2).for_each(|key| _ = calls.call(key, row()));
        });
        assert_eq!(ran.iter().map(Vec::len).sum::<usize>(), 5);
        assert!(ran.iter().all(|numbers| numbers.is_sorted()));
    });
}

#[test]
fn a_caller_that_panics_lets_its_workers_go() {
    model(3, || {
        let ran = exchange(2, |calls| {
            calls.call(0, row());
            calls.flush();
            calls.call(0, row());
            // Without the message of a panic in every schedule.
            std::panic::resume_unwind(Box::new("planted"));
        });
        assert_eq!(ran, [[0]], "what was sent has run, the rest is dropped");
    });
}
