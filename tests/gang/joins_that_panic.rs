//! Fork/join of halves that panic: which payload arrives, when, and that values are dropped once.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use bevy_affinity::prelude::*;

use crate::{
    heartbeat::{eager, random_tree, wait_until},
    pool, turn,
};

/// Panics in the halves that are named while the other works on borrowed data; the payload is the
/// one serial execution would give.
fn assert_panic(pool: &AffinityPool, first: bool, second: bool) {
    let data = vec![1_u64; 1_000];
    let unfinished = AtomicUsize::new(0);
    let half = |panics: bool, name: &'static str| {
        unfinished.fetch_add(1, Ordering::SeqCst);
        if !panics {
            thread::sleep(Duration::from_micros(300));
        }
        assert_eq!(data.iter().sum::<u64>(), 1_000);
        unfinished.fetch_sub(1, Ordering::SeqCst);
        if panics {
            resume_unwind(Box::new(name));
        }
        data.clone()
    };
    let result = catch_unwind(AssertUnwindSafe(|| {
        pool.heartbeat(|s| s.join(|s| (half(first, "first"), random_tree(s, 5, 50)), |_| half(second, "second")))
    }));
    assert_eq!(unfinished.load(Ordering::SeqCst), 0, "a half was still running");
    let expected = if first { "first" } else { "second" };
    assert_eq!(result.unwrap_err().downcast_ref(), Some(&expected));
}

#[test]
fn panics_of_either_half_arrive_when_both_are_over() {
    let _turn = turn();
    for pool in [pool(1), pool(2), eager(2), eager(3)] {
        for _ in 0..100 {
            assert_panic(&pool, true, false);
            assert_panic(&pool, false, true);
            assert_panic(&pool, true, true);
        }
    }
}

/// The second half is certainly on another thread when it panics, and the first goes on using what
/// both borrow.
#[test]
fn a_taken_half_that_panics_leaves_nothing_dangling() {
    let _turn = turn();
    let pool = pool(2);
    for _ in 0..50 {
        let words = vec![String::from("borrowed"); 10];
        let taken = AtomicBool::new(false);
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.heartbeat(|s| {
                let local = words.clone();
                s.join(
                    |_| {
                        wait_until("the taker", || taken.load(Ordering::SeqCst));
                        thread::sleep(Duration::from_micros(200));
                        local.len()
                    },
                    |_| {
                        taken.store(true, Ordering::SeqCst);
                        if local.len() == 10 {
                            resume_unwind(Box::new(local.concat()));
                        }
                    },
                )
            })
        }));
        assert_eq!(result.unwrap_err().downcast_ref::<String>().map(String::len), Some(80));
    }
}

/// The first half panics while the second certainly runs on another thread.
#[test]
fn a_panic_waits_for_the_taken_half() {
    let _turn = turn();
    let pool = pool(2);
    for _ in 0..50 {
        let (taken, finished) = (AtomicBool::new(false), AtomicBool::new(false));
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.heartbeat(|s| {
                let local = [7_u8; 4_096];
                s.join(
                    |_| {
                        wait_until("the taker", || taken.load(Ordering::SeqCst));
                        resume_unwind(Box::new("first"))
                    },
                    |_| {
                        taken.store(true, Ordering::SeqCst);
                        thread::sleep(Duration::from_micros(300));
                        assert!(local.iter().all(|&byte| byte == 7));
                        finished.store(true, Ordering::SeqCst);
                    },
                )
            })
        }));
        assert_eq!(result.unwrap_err().downcast_ref(), Some(&"first"));
        assert!(finished.into_inner());
    }
}

#[test]
fn a_panic_deep_inside_leaves_the_pool_usable() {
    let _turn = turn();
    fn descend(scope: &mut Scope, depth: u32) -> u32 {
        if depth == 0 {
            resume_unwind(Box::new("deep"));
        }
        let (a, b) = scope.join(|s| random_tree(s, 1, 20), |s| descend(s, depth - 1));
        a as u32 + b
    }
    let pool = eager(3);
    for depth in 1..60 {
        let result = catch_unwind(AssertUnwindSafe(|| pool.heartbeat(|s| descend(s, depth))));
        assert_eq!(result.unwrap_err().downcast_ref(), Some(&"deep"));
        assert_eq!(pool.heartbeat(|s| random_tree(s, 9, 100)), self::pool(1).heartbeat(|s| random_tree(s, 9, 100)));
    }
}

struct Counted<'a>(&'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn closures_and_results_are_dropped_once() {
    let _turn = turn();
    for pool in [pool(1), eager(2), eager(4)] {
        for panics in [false, true] {
            let dropped = AtomicUsize::new(0);
            let made = AtomicUsize::new(0);
            let make = || {
                made.fetch_add(1, Ordering::SeqCst);
                Counted(&dropped)
            };
            let run = |s: &mut Scope| {
                for round in 0..100 {
                    let captured = make();
                    s.join(
                        |s| {
                            random_tree(s, round, 30);
                            if panics && round == 50 {
                                resume_unwind(Box::new("planted"));
                            }
                            make()
                        },
                        |_| {
                            let _captured = captured;
                            make()
                        },
                    );
                }
            };
            let result = catch_unwind(AssertUnwindSafe(|| pool.heartbeat(run)));
            assert_eq!(result.is_err(), panics);
            assert_eq!(dropped.load(Ordering::SeqCst), made.load(Ordering::SeqCst));
        }
    }
}
