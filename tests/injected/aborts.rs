//! Panics that nobody can be told of: the process aborts with a message. It never goes on with
//! memory that is gone.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind, panic_any, set_hook},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use bevy_affinity::prelude::*;

use crate::{alone::Alone, common::Scheduling};

/// A payload that panics while it is dropped, so many times: with another such payload.
struct Bomb(u32);

impl Drop for Bomb {
    fn drop(&mut self) {
        if let Some(next) = self.0.checked_sub(1) {
            panic_any(Bomb(next));
        }
    }
}

/// A local variable that panics while it is dropped.
struct Trap;

impl Drop for Trap {
    fn drop(&mut self) {
        panic!("a trap");
    }
}

/// What the crate says before it aborts.
const PAYLOAD: &str = "panicked while it was dropped; aborting";

/// What the standard library says of a panic while panicking.
const CLEANUP: &str = "panic in a destructor during cleanup";

fn pool(workers: usize) -> AffinityPool {
    AffinityPool::new(&Scheduling::lock_step(workers).settings())
}

/// Calls what aborts. A caller that catches all panics must not get past it.
fn catch(call: impl FnOnce()) {
    let caught = catch_unwind(AssertUnwindSafe(call));
    // Who catches a payload may do with it what it likes.
    std::mem::forget(caught);
}

#[test]
fn payloads_of_a_round() {
    // All panic; the first payload goes to the caller, the others to nobody.
    Alone::start(|| catch(|| pool(3).run(|_| panic_any(Bomb(1))))).end().assert_aborted(PAYLOAD);
}

#[test]
fn payloads_within_payloads() {
    Alone::start(|| catch(|| pool(3).run(|_| panic_any(Bomb(9))))).end().assert_aborted(PAYLOAD);
}

#[test]
fn a_payload_while_the_leader_has_the_lock_of_stderr() {
    Alone::start(|| {
        // The standard library's own line would wait for the lock.
        set_hook(Box::new(|_| ()));
        let leader_has_panicked = AtomicBool::new(false);
        let _lock = io::stderr().lock();
        catch(|| {
            pool(2).run(|worker| {
                if worker.index() == 0 {
                    leader_has_panicked.store(true, Ordering::Relaxed);
                    panic_any(());
                }
                while !leader_has_panicked.load(Ordering::Relaxed) {
                    thread::yield_now();
                }
                // Long enough for the leader to leave its payload.
                thread::sleep(Duration::from_millis(50));
                panic_any(Bomb(1));
            });
        });
    })
    .end()
    .assert_aborted(PAYLOAD);
}

#[test]
fn payloads_of_a_round_without_other_threads() {
    Alone::start(|| {
        let pool = pool(3);
        pool.run(|worker| {
            if worker.index() == 0 {
                catch(|| pool.run(|_| panic_any(Bomb(1))));
            }
        });
    })
    .end()
    .assert_aborted(PAYLOAD);
}

#[test]
fn payloads_of_both_halves_of_a_join() {
    Alone::start(|| {
        let taken = AtomicBool::new(false);
        let wait_for_the_other = || {
            while !taken.load(Ordering::Acquire) {
                thread::yield_now();
            }
        };
        catch(|| {
            pool(2).heartbeat(|scope| {
                let first = |_: &mut Scope| {
                    wait_for_the_other();
                    panic_any(Bomb(1));
                };
                // On another thread: this one waits in the first half.
                let second = |_: &mut Scope| {
                    taken.store(true, Ordering::Release);
                    panic_any(Bomb(1));
                };
                scope.join(first, second)
            });
        });
    })
    .end()
    .assert_aborted(PAYLOAD);
}

#[test]
fn payloads_of_batched_calls() {
    Alone::start(|| {
        catch(|| {
            let call_all = |calls: &mut BatchedCalls<()>| (0..4).for_each(|key| _ = calls.call(key, ()));
            pool(4).batched(|()| panic_any(Bomb(1)), call_all);
        });
    })
    .end()
    .assert_aborted(PAYLOAD);
}

/// A round in which `culprit` panics while it panics.
fn panic_while_panicking(culprit: usize) {
    catch(|| {
        pool(2).run(|worker| {
            if worker.index() == culprit {
                let _trap = Trap;
                panic!("a panic");
            }
        });
    });
}

#[test]
fn a_leader_panics_while_it_panics() {
    Alone::start(|| panic_while_panicking(0)).end().assert_aborted(CLEANUP);
}

#[test]
fn a_worker_panics_while_it_panics() {
    Alone::start(|| panic_while_panicking(1)).end().assert_aborted(CLEANUP);
}
