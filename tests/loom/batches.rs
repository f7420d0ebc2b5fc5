//! Batched calls under loom: every schedule (within the stated number of preemptions) of a caller
//! and the workers that run its calls.
//!
//! `cargo test --release --manifest-path tests/loom/Cargo.toml --test batches`
#![cfg(affinity_loom)]
#![allow(
    dead_code,
    unused_imports,
    reason = "the protocol's files are taken from the crate as they are, and each test uses a part"
)]

#[path = "../../src/pool/batch/mod.rs"]
mod batch;
#[path = "../../src/pool/clock.rs"]
mod clock;
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

use std::{panic::resume_unwind, time::Duration};

use loom::{
    cell::UnsafeCell,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering, fence},
    },
    thread,
};

use crate::{
    batch::{BatchExchange, BatchedCalls},
    model::model,
    parker::Parker,
};

/// Keys whose calls are the first and the second worker's, and one of the caller's own.
const FIRST: u64 = 1;
const SECOND: u64 = 3;
const CALLERS: u64 = 0;

/// What a call does.
#[derive(Clone, Copy, PartialEq)]
enum Deed {
    Count,
    Panic,
}

/// What calls write and the caller reads afterwards: loom watches for a missing order between the
/// two.
struct Row(UnsafeCell<u32>);
// SAFETY: loom itself reports every overlapping access to the cell.
unsafe impl Sync for Row {}

impl Row {
    fn add(&self) {
        // SAFETY: loom checks it.
        self.0.with_mut(|row| unsafe { *row += 1 });
    }

    fn get(&self) -> u32 {
        // SAFETY: loom checks it.
        self.0.with(|row| unsafe { *row })
    }
}

/// How many calls are done with, and where the caller sleeps until enough are.
struct Gone {
    count: AtomicUsize,
    caller: Parker,
}

impl Gone {
    fn new() -> Arc<Self> {
        Arc::new(Self { count: AtomicUsize::new(0), caller: Parker::default() })
    }

    /// Nothing but calls that are done with wakes the caller.
    fn wait_for(&self, count: usize) {
        self.caller.park(|| (self.count.load(Ordering::Acquire) >= count).then_some(()));
    }
}

/// The argument of a call: says when it is gone, whether or not the call ran.
struct Argument {
    number: usize,
    deed: Deed,
    row: Arc<Row>,
    gone: Arc<Gone>,
}

impl Drop for Argument {
    fn drop(&mut self) {
        self.gone.count.fetch_add(1, Ordering::Release);
        fence(Ordering::SeqCst);
        self.gone.caller.unpark_after_fence();
    }
}

/// An exchange whose caller is the model's main thread.
struct Game {
    exchange: Arc<BatchExchange<Argument>>,
    gone: Arc<Gone>,
    rows: Vec<Arc<Row>>,
    /// Numbers of the calls that ran, by thread, in their order; the caller is the last.
    ran: Arc<Mutex<Vec<Vec<usize>>>>,
}

impl Game {
    fn new(workers: usize) -> Self {
        Self {
            exchange: Arc::new(BatchExchange::new(workers, Duration::ZERO)),
            gone: Gone::new(),
            rows: (0..4).map(|_| Arc::new(Row(UnsafeCell::new(0)))).collect(),
            ran: Arc::new(Mutex::new(vec![Vec::new(); workers])),
        }
    }

    fn argument(&self, number: usize, deed: Deed) -> Argument {
        Argument { number, deed, row: self.rows[number].clone(), gone: self.gone.clone() }
    }

    fn run(&self, thread: usize) -> impl Fn(usize, &mut std::vec::Drain<'_, Argument>) + Sync + 'static {
        let ran = self.ran.clone();
        move |_, calls| {
            for argument in calls {
                argument.row.add();
                ran.lock().unwrap()[thread].push(argument.number);
                let deed = argument.deed;
                // Before the panic: loom's locks must not be taken while a thread unwinds.
                drop(argument);
                if deed == Deed::Panic {
                    // Without the message of a panic in every schedule.
                    resume_unwind(Box::new("planted"));
                }
            }
        }
    }

    /// Runs the calls of `caller`, with a thread for each worker that `takes_part`. Returns what
    /// came of it, and which calls ran, by thread.
    fn play<R>(
        self,
        takes_part: &[bool],
        caller: impl FnOnce(&Self, &mut BatchedCalls<Argument>) -> R,
    ) -> (std::thread::Result<R>, Vec<Vec<usize>>) {
        let workers = takes_part.len();
        let followers: Vec<_> = (0..workers)
            .filter(|&inbox| takes_part[inbox])
            .map(|inbox| {
                let (exchange, run) = (self.exchange.clone(), self.run(inbox));
                thread::spawn(move || _ = exchange.follow(inbox, &run))
            })
            .collect();
        let run = self.run(workers);
        let result = self.exchange.lead(|inbox| takes_part[inbox], &run, |calls| caller(&self, calls));
        // As in a round: the leader runs the indices of workers that do not come.
        (0..workers).filter(|&inbox| !takes_part[inbox]).for_each(|inbox| _ = self.exchange.follow(inbox, &run));
        followers.into_iter().for_each(|follower| follower.join().expect("followers do not panic"));
        drop(run);
        let exchange = Arc::try_unwrap(self.exchange).unwrap_or_else(|_| panic!("all threads have ended"));
        let ran = self.ran.lock().unwrap().clone();
        for (number, row) in self.rows.iter().enumerate() {
            let runs = ran.iter().flatten().filter(|&&ran| ran == number).count();
            assert_eq!(row.get(), runs as u32);
            assert!(runs <= 1, "call {number} ran twice");
        }
        (batch::first_panic(exchange, result.map(|(result, _)| result)), ran)
    }
}

/// What panicked: nothing that a model is about.
fn is_planted<R>(result: std::thread::Result<R>) -> bool {
    match result {
        Ok(_) => false,
        Err(payload) if payload.downcast_ref() == Some(&"planted") => true,
        Err(payload) => resume_unwind(payload),
    }
}

#[test]
fn no_call_is_lost_and_their_order_stays() {
    model(3, || {
        let (result, ran) = Game::new(2).play(&[true], |game, calls| {
            calls.call(FIRST, game.argument(0, Deed::Count));
            calls.flush();
            calls.call(FIRST, game.argument(1, Deed::Count));
            calls.flush();
            calls.call(FIRST, game.argument(2, Deed::Count));
        });
        assert!(!is_planted(result));
        assert!(ran.contains(&vec![0, 1, 2]), "{ran:?}");
    });
}

/// A wake-up that is missed when a batch is sent would be made up for at the end: so this caller
/// waits before that.
#[test]
fn a_caller_that_waits_for_a_call_is_not_left_waiting() {
    model(3, || {
        let (result, _) = Game::new(2).play(&[true], |game, calls| {
            calls.call(FIRST, game.argument(0, Deed::Count));
            calls.flush();
            game.gone.wait_for(1);
        });
        assert!(!is_planted(result));
    });
}

#[test]
fn two_workers_share_keys() {
    model(1, || {
        let (result, ran) = Game::new(3).play(&[true, true], |game, calls| {
            calls.call(FIRST, game.argument(0, Deed::Count));
            calls.call(SECOND, game.argument(1, Deed::Count));
            calls.flush();
            calls.call(FIRST, game.argument(2, Deed::Count));
        });
        assert!(!is_planted(result));
        assert_eq!(ran.iter().flatten().count(), 3);
        let first: Vec<_> =
            ran.iter().map(|ran| ran.iter().filter(|&&number| number != 1).collect::<Vec<_>>()).collect();
        assert!(first.contains(&vec![&0, &2]), "one key, one thread: {ran:?}");
    });
}

/// The caller flushes, the worker is idle: one of them runs all calls of the key.
#[test]
fn the_caller_and_an_idle_worker_do_not_share_a_key() {
    model(2, || {
        let (result, ran) = Game::new(2).play(&[true], |game, calls| {
            calls.call(CALLERS, game.argument(0, Deed::Count));
            calls.flush();
            calls.call(CALLERS, game.argument(1, Deed::Count));
            calls.flush();
            game.gone.wait_for(2);
        });
        assert!(!is_planted(result));
        assert!(ran.contains(&vec![0, 1]), "{ran:?}");
    });
}

/// At the end the caller runs what waits for a worker that has not begun.
#[test]
fn a_caller_that_is_done_and_a_late_worker_do_not_share_a_key() {
    model(2, || {
        let (result, ran) = Game::new(2).play(&[true], |game, calls| {
            calls.call(FIRST, game.argument(0, Deed::Count));
            calls.call(CALLERS, game.argument(1, Deed::Panic));
            calls.flush();
            calls.call(FIRST, game.argument(2, Deed::Count));
        });
        assert!(is_planted(result));
        assert!(ran.iter().any(|ran| ran.iter().filter(|&&number| number != 1).eq(&[0, 2])), "{ran:?}");
    });
}

#[test]
fn a_caller_that_panics_lets_its_workers_go() {
    model(3, || {
        let (result, ran) = Game::new(2).play(&[true], |game, calls| {
            calls.call(FIRST, game.argument(0, Deed::Count));
            calls.flush();
            calls.call(FIRST, game.argument(1, Deed::Count));
            resume_unwind(Box::new("planted"));
        });
        assert!(is_planted(result));
        assert_eq!(ran.concat(), [0], "what was sent has run, the rest is dropped");
    });
}

/// Whether it lay in the inbox when a call panicked, came at that moment, or comes later: no call
/// keeps the caller waiting.
#[test]
fn calls_after_a_panic_are_dropped_at_once() {
    model(3, || {
        let (result, ran) = Game::new(2).play(&[true], |game, calls| {
            for (number, deed) in [Deed::Panic, Deed::Count, Deed::Count].into_iter().enumerate() {
                calls.call(FIRST, game.argument(number, deed));
                calls.flush();
            }
            game.gone.wait_for(3);
            // Who saw a call being dropped has not missed anything either.
            assert!(calls.is_closed(FIRST));
            assert_eq!(calls.call(FIRST, game.argument(3, Deed::Count)), 3);
            assert_eq!(game.gone.count.load(Ordering::Acquire), 4, "dropped on the spot");
        });
        assert!(is_planted(result));
        assert_eq!(ran, [vec![0], vec![]]);
    });
}

#[test]
fn a_panic_closes_one_inbox() {
    model(1, || {
        let (result, ran) = Game::new(3).play(&[true, true], |game, calls| {
            calls.call(FIRST, game.argument(0, Deed::Panic));
            calls.call(SECOND, game.argument(1, Deed::Count));
            calls.flush();
            calls.call(SECOND, game.argument(2, Deed::Count));
            calls.flush();
            game.gone.wait_for(3);
        });
        assert!(is_planted(result));
        assert_eq!(ran.iter().flatten().count(), 3, "{ran:?}");
    });
}

/// The worker of the second inbox is left out: the other one takes over its calls while the caller
/// waits.
#[test]
fn calls_of_a_worker_that_is_left_out_are_taken_over() {
    model(2, || {
        let (result, ran) = Game::new(3).play(&[true, false], |game, calls| {
            calls.call(SECOND, game.argument(0, Deed::Count));
            calls.flush();
            game.gone.wait_for(1);
            calls.call(SECOND, game.argument(1, Deed::Count));
            calls.flush();
            game.gone.wait_for(2);
        });
        assert!(!is_planted(result));
        assert_eq!(ran, [vec![0, 1], vec![], vec![]]);
    });
}

/// Under loom nobody has patience: either worker may take over the other's calls, before or after
/// it comes. One of them runs them all.
#[test]
fn a_worker_that_is_late_and_one_that_takes_over_do_not_share_a_key() {
    model(1, || {
        let (result, ran) = Game::new(3).play(&[true, true], |game, calls| {
            calls.call(SECOND, game.argument(0, Deed::Count));
            calls.flush();
            calls.call(SECOND, game.argument(1, Deed::Count));
            calls.flush();
            game.gone.wait_for(2);
        });
        assert!(!is_planted(result));
        assert!(ran.contains(&vec![0, 1]), "{ran:?}");
    });
}

#[test]
fn where_no_worker_takes_part_the_caller_runs_what_it_flushes() {
    model(2, || {
        let (result, ran) = Game::new(3).play(&[false, false], |game, calls| {
            calls.call(SECOND, game.argument(0, Deed::Count));
            calls.call(FIRST, game.argument(1, Deed::Panic));
            calls.flush();
            assert_eq!(game.gone.count.load(Ordering::Acquire), 2);
            assert!(calls.is_closed(FIRST) && !calls.is_closed(SECOND));
            calls.call(FIRST, game.argument(2, Deed::Count));
            calls.call(SECOND, game.argument(3, Deed::Count));
        });
        assert!(is_planted(result));
        assert_eq!(ran, [vec![], vec![], vec![1, 0, 3]]);
    });
}
