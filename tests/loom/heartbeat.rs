//! The fork/join protocol under loom: every schedule (within the stated number of preemptions) of a
//! leader and its helpers.
//!
//! `cargo test --release --manifest-path tests/loom/Cargo.toml --test heartbeat`
#![cfg(affinity_loom)]
#![allow(dead_code, reason = "the protocol's files are taken from the crate as they are, and each test uses a part")]

#[path = "../../src/pool/clock.rs"]
mod clock;
#[path = "../../src/pool/handed.rs"]
mod handed;
/// As in `heartbeat/mod.rs`, with models of what is seen inside of it only.
#[path = "."]
mod heartbeat {
    #[path = "../../src/pool/heartbeat/alone.rs"]
    mod alone;
    #[path = "../../src/pool/heartbeat/idle.rs"]
    mod idle;
    #[path = "../../src/pool/heartbeat/job.rs"]
    mod job;
    #[path = "../../src/pool/heartbeat/job_queue.rs"]
    mod job_queue;
    #[path = "../../src/pool/heartbeat/levels.rs"]
    mod levels;
    #[path = "../../src/pool/heartbeat/scope.rs"]
    mod scope;
    #[path = "../../src/pool/heartbeat/session.rs"]
    mod session;
    mod ticker;

    pub(crate) use job_queue::JobQueue;
    pub(crate) use scope::{Scope, on_the_spot};
    pub(crate) use session::Session;
}
#[path = "model.rs"]
mod model;
#[path = "../../src/pool/parker.rs"]
mod parker;
#[path = "../../src/pool/spin.rs"]
mod spin;
#[path = "../../src/sync.rs"]
mod sync;
#[path = "../../src/pool/unwind.rs"]
mod unwind;

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    time::Duration,
};

use crossbeam_utils::CachePadded;
use loom::{
    cell::UnsafeCell,
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicUsize, Ordering, fence},
    },
    thread,
};

use crate::{
    heartbeat::{JobQueue, Scope, Session},
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

/// Something that happens once, and that any number of threads may wait for.
struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn new() -> Arc<Self> {
        Arc::new(Self { open: Mutex::new(false), opened: Condvar::new() })
    }

    fn opened() -> Arc<Self> {
        Arc::new(Self { open: Mutex::new(true), opened: Condvar::new() })
    }

    fn open(&self) {
        *self.open.lock().unwrap() = true;
        self.opened.notify_all();
    }

    fn wait(&self) {
        let mut open = self.open.lock().unwrap();
        while !*open {
            open = self.opened.wait(open).unwrap();
        }
    }
}

/// One session of `workers` workers; the helpers end when the leader's closure has returned.
fn session<R>(workers: usize, root: impl FnOnce(&mut Scope) -> R) -> R {
    session_with(&vec![Gate::opened(); workers], root)
}

/// A session with a worker for each gate, who looks for jobs when its gate is open. The leader does
/// not look at its own.
fn session_with<R>(gates: &[Arc<Gate>], root: impl FnOnce(&mut Scope) -> R) -> R {
    let workers = gates.len();
    let queues: Box<[_]> = (0..workers).map(|_| CachePadded::new(JobQueue::new())).collect();
    // Loom's threads cannot borrow, and the session cannot own: what is leaked is freed after all
    // threads have ended.
    let queues = Box::into_raw(queues);
    // SAFETY: freed below, when no thread uses it any more.
    let session = Arc::new(Session::new(unsafe { &*queues }, Duration::ZERO, Duration::ZERO));
    let helpers: Vec<_> = (1..workers)
        .map(|index| {
            let (session, gate) = (session.clone(), gates[index].clone());
            thread::spawn(move || {
                gate.wait();
                session.follow(index)
            })
        })
        .collect();
    let (result, _idle) = session.lead(root);
    for helper in helpers {
        helper.join().expect("helpers do not panic");
    }
    drop(session);
    // SAFETY: made by `into_raw` above, and nothing borrows it any more.
    drop(unsafe { Box::from_raw(queues) });
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

/// The half that did not panic has finished or was never started when the panic arrives, and what
/// it borrows is whole.
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

/// Looks at what its maker wrote, when it is dropped.
struct Witness<'a>(&'a Row);

impl Drop for Witness<'_> {
    fn drop(&mut self) {
        assert_eq!(self.0.get(), 1);
    }
}

/// A result that nobody takes is dropped by the join that panicked: no lock orders that, only the
/// job's end.
#[test]
fn the_result_of_a_second_half_is_dropped_after_it_is_done() {
    model(2, || {
        let row = Row::new();
        let second = |_: &mut Scope| {
            row.add();
            Witness(&row)
        };
        let first = |_: &mut Scope| resume_unwind(Box::new("first"));
        let result = catch_unwind(AssertUnwindSafe(|| session(2, |s| s.join::<(), _>(first, second))));
        assert!(result.is_err_and(|payload| payload.downcast_ref() == Some(&"first")));
    });
}

#[test]
fn nothing_to_share() {
    model(2, || assert_eq!(session(3, |_| 7), 7));
}

/// Nothing but the parker's own handshake wakes a sleeper here: loom's waits have no time limit.
#[test]
fn a_sleeper_is_woken_each_time() {
    model(3, || {
        let (parker, count) = (Arc::new(Parker::default()), Arc::new(AtomicUsize::new(0)));
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

/// The leader waits for the second half of its inner join, which worker 2 runs, while worker 1 has
/// laid out a part of the outer one's. To take that would put a frame onto the leader's stack that
/// serial recursion never has there: the bound of the stack rests on it.
#[test]
fn a_joiner_that_waits_takes_parts_of_its_job_only() {
    model(1, || {
        // Gates make the schedule that matters likely: they bring each job to its worker.
        let gates = [Gate::opened(), Gate::new(), Gate::new()];
        let (part_laid_out, inner_begun, inner_ended) = (Gate::new(), Gate::new(), Gate::new());
        let waits = std::sync::atomic::AtomicBool::new(false);
        session_with(&gates, |s| {
            s.join(
                |s| {
                    gates[1].open();
                    part_laid_out.wait();
                    waits.store(true, Ordering::Relaxed);
                    s.join(
                        |_| {
                            gates[2].open();
                            inner_begun.wait();
                        },
                        |_| {
                            inner_begun.open();
                            inner_ended.open();
                        },
                    );
                    waits.store(false, Ordering::Relaxed);
                },
                |s| {
                    s.join(
                        |_| {
                            part_laid_out.open();
                            inner_ended.wait();
                        },
                        |s| assert!(s.worker() != 0 || !waits.load(Ordering::Relaxed), "a job of another's join"),
                    )
                },
            )
        });
    });
}
