//! The fork/join protocol under loom: every schedule (within the stated number of preemptions) of a leader and its helpers.
//!
//! `RUSTFLAGS=--cfg=affinity_loom cargo test --release --test loom_heartbeat`
#![cfg(affinity_loom)]
#![allow(dead_code, reason = "the protocol's files are taken from the crate as they are, and each test uses a part")]

#[path = "../src/pool/clock.rs"]
mod clock;
#[path = "../src/pool/heartbeat/mod.rs"]
mod heartbeat;
#[path = "loom/model.rs"]
mod model;
#[path = "../src/pool/parker.rs"]
mod parker;
#[path = "../src/pool/spin.rs"]
mod spin;
#[path = "../src/sync.rs"]
mod sync;
#[path = "../src/pool/unwind.rs"]
mod unwind;

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    time::Duration,
};

use crossbeam_utils::CachePadded;
use loom::{
    cell::UnsafeCell,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering, fence},
    },
    thread,
};

use crate::{
    heartbeat::{Desk, Scope, Session},
    model::model,
    parker::Parker,
};

/// A cell that loom watches for overlapping access.
struct Row(UnsafeCell<u32>);
// SAFETY: loom itself reports every overlapping access to the cell.
unsafe impl Sync for Row {}

impl Row {
    fn new() -> Self {
        Self(UnsafeCell::new(0))
    }

    fn add(&self) {
        // SAFETY: loom checks it.
        self.0.with_mut(|row| unsafe { *row += 1 });
    }

    fn get(&self) -> u32 {
        // SAFETY: loom checks it.
        self.0.with(|row| unsafe { *row })
    }
}

/// One session of `workers` workers; the helpers end when the leader's closure has returned.
fn session<R>(workers: usize, root: impl FnOnce(&mut Scope) -> R) -> R {
    let desks: Box<[_]> = (0..workers).map(|_| CachePadded::new(Desk::new())).collect();
    // Loom's threads cannot borrow, and the session cannot own: what is leaked is freed after all threads have ended.
    let desks = Box::into_raw(desks);
    // SAFETY: freed below, when no thread uses it any more.
    let session = Arc::new(Session::new(unsafe { &*desks }, Duration::ZERO, Duration::ZERO));
    let helpers: Vec<_> = (1..workers)
        .map(|index| {
            let session = session.clone();
            thread::spawn(move || session.follow(index))
        })
        .collect();
    let (result, _idle) = session.lead(root);
    for helper in helpers {
        helper.join().expect("helpers do not panic");
    }
    drop(session);
    // SAFETY: made by `into_raw` above, and nothing borrows it any more.
    drop(unsafe { Box::from_raw(desks) });
    result.unwrap_or_else(|payload| resume_unwind(payload))
}

#[test]
fn one_join_of_two() {
    model(3, || {
        let rows = [Row::new(), Row::new()];
        session(2, |s| s.join(|_| rows[0].add(), |_| rows[1].add()));
        assert!(rows.iter().all(|row| row.get() == 1));
    });
}

#[test]
fn a_join_in_each_half() {
    model(2, || {
        let rows = [(); 4].map(|()| Row::new());
        let sums = session(2, |s| {
            s.join(|s| s.join(|_| rows[0].add(), |_| rows[1].add()), |s| s.join(|_| rows[2].add(), |_| rows[3].add()))
        });
        assert_eq!(sums, (((), ()), ((), ())));
        assert!(rows.iter().all(|row| row.get() == 1));
    });
}

#[test]
fn one_join_of_three() {
    model(1, || {
        let rows = [(); 3].map(|()| Row::new());
        session(3, |s| s.join(|s| s.join(|_| rows[0].add(), |_| rows[1].add()), |_| rows[2].add()));
        assert!(rows.iter().all(|row| row.get() == 1));
    });
}

#[test]
fn two_joins_one_after_the_other() {
    model(2, || {
        let row = Row::new();
        let other = Row::new();
        session(2, |s| {
            s.join(|_| row.add(), |_| other.add());
            s.join(|_| other.add(), |_| row.add());
        });
        assert_eq!((row.get(), other.get()), (2, 2));
    });
}

/// The half that did not panic has finished or was never started when the panic arrives, and what it borrows is whole.
fn a_half_panics(first: bool, second: bool) {
    let (begun, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let half = |panics: bool, name: &'static str| {
        begun.fetch_add(1, Ordering::Relaxed);
        if panics {
            resume_unwind(Box::new(name));
        }
        ended.fetch_add(1, Ordering::Relaxed);
    };
    let result =
        catch_unwind(AssertUnwindSafe(|| session(2, |s| s.join(|_| half(first, "first"), |_| half(second, "second")))));
    let payload = result.expect_err("a half panicked");
    assert_eq!(payload.downcast_ref(), Some(if first { &"first" } else { &"second" }));
    let both = usize::from(first) + usize::from(second);
    let unfinished = begun.load(Ordering::Relaxed) - ended.load(Ordering::Relaxed);
    assert!(unfinished >= 1 && unfinished <= both);
}

#[test]
fn the_first_half_panics() {
    model(2, || a_half_panics(true, false));
}

#[test]
fn the_second_half_panics() {
    model(2, || a_half_panics(false, true));
}

#[test]
fn both_halves_panic() {
    model(2, || a_half_panics(true, true));
}

#[test]
fn nothing_to_share() {
    model(2, || assert_eq!(session(3, |_| 7), 7));
}

/// Nothing but the parker's own handshake wakes a sleeper here: loom's waits have no time limit.
#[test]
fn a_sleeper_is_woken_each_time() {
    model(3, || {
        let (parker, count) = (Arc::new(Parker::new()), Arc::new(AtomicUsize::new(0)));
        let waker = thread::spawn({
            let (parker, count) = (parker.clone(), count.clone());
            move || {
                for reached in 1..=2 {
                    count.store(reached, Ordering::Relaxed);
                    fence(Ordering::SeqCst);
                    parker.unpark_after_fence();
                }
            }
        });
        for wanted in 1..=2 {
            let is_reached = || (count.load(Ordering::Relaxed) >= wanted).then_some(());
            while parker.park_for(Duration::ZERO, is_reached).is_none() {}
        }
        waker.join().expect("the waker does not panic");
    });
}

#[test]
fn each_index_once() {
    model(2, || {
        let rows = [(); 3].map(|()| Row::new());
        session(2, |s| s.for_each(0..3, |_, index| rows[index].add()));
        assert!(rows.iter().all(|row| row.get() == 1));
    });
}
