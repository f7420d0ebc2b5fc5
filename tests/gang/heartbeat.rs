//! Fork/join through the public interface: results, nesting, and that others do take part.

use std::{
    collections::HashSet,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use bevy_affinity::prelude::*;

use crate::{PATIENCE, pool, turn};

/// A pool whose workers give work away as often as they are asked.
pub(crate) fn eager(workers: usize) -> AffinityPool {
    let settings = AffinitySettings {
        workers: WorkerCount::Exactly(workers),
        heartbeat: Duration::ZERO,
        avoid_busy_cores: false,
        ..Default::default()
    };
    AffinityPool::new(&settings)
}

/// A sequence of numbers that look random.
pub(crate) fn scramble(seed: u64) -> u64 {
    let mixed = (seed ^ (seed >> 31)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) ^ (mixed >> 32)
}

/// Splits `size` nodes at random between two subtrees; the result depends on every split and its
/// order.
pub(crate) fn random_tree(scope: &mut Scope, seed: u64, size: u64) -> u64 {
    if size == 0 {
        return 0;
    }
    let left = scramble(seed) % size;
    let right = size - 1 - left;
    let (a, b) = scope.join(|s| random_tree(s, seed + 1, left), |s| random_tree(s, seed + left + 1, right));
    seed ^ a.wrapping_mul(3) ^ b.wrapping_mul(5)
}

pub(crate) fn wait_until(what: &str, met: impl Fn() -> bool) {
    let start = Instant::now();
    while !met() {
        assert!(start.elapsed() < PATIENCE, "nobody came: {what}");
        thread::yield_now();
    }
}

#[test]
fn any_tree_gives_the_serial_result() {
    let _turn = turn();
    let serial = pool(1);
    for seed in 0..60 {
        let size = scramble(seed) % 3_000;
        let expected = serial.heartbeat(|s| random_tree(s, seed, size));
        for workers in 1..=4 {
            assert_eq!(pool(workers).heartbeat(|s| random_tree(s, seed, size)), expected);
            assert_eq!(eager(workers).heartbeat(|s| random_tree(s, seed, size)), expected);
        }
    }
}

#[test]
fn a_flat_join_forks() {
    let _turn = turn();
    let met = AtomicUsize::new(0);
    let meet = || {
        met.fetch_add(1, Ordering::SeqCst);
        wait_until("the other half", || met.load(Ordering::SeqCst) == 2);
        thread::current().id()
    };
    let (a, b) = pool(2).heartbeat(|s| s.join(|_| meet(), |_| meet()));
    assert_ne!(a, b);
}

#[test]
fn flat_joins_inside_a_flat_join_fork() {
    let _turn = turn();
    let met = AtomicUsize::new(0);
    let meet = || {
        met.fetch_add(1, Ordering::SeqCst);
        wait_until("three others", || met.load(Ordering::SeqCst) == 4);
    };
    pool(4).heartbeat(|s| s.join(|s| s.join(|_| meet(), |_| meet()), |s| s.join(|_| meet(), |_| meet())));
}

#[test]
fn a_flat_join_after_many_small_ones_forks() {
    let _turn = turn();
    let met = AtomicUsize::new(0);
    let meet = || {
        met.fetch_add(1, Ordering::SeqCst);
        wait_until("the other half", || met.load(Ordering::SeqCst) == 2);
    };
    pool(2).heartbeat(|s| {
        random_tree(s, 1, 100_000);
        s.join(|_| meet(), |_| meet());
    });
}

#[test]
fn the_far_half_of_a_loop_goes_to_others() {
    let _turn = turn();
    let met = AtomicUsize::new(0);
    pool(2).heartbeat(|s| {
        s.for_each(0..100, |_, index| {
            if index == 0 || index == 99 {
                met.fetch_add(1, Ordering::SeqCst);
                wait_until("the other end", || met.load(Ordering::SeqCst) == 2);
            }
        });
    });
}

#[test]
fn loops_call_each_index_once() {
    let _turn = turn();
    for workers in 1..=4 {
        for length in [0, 1, 2, 3, 1_000] {
            let calls: Vec<_> = (0..length).map(|_| AtomicUsize::new(0)).collect();
            eager(workers).heartbeat(|s| {
                s.for_each(0..length, |s, index| {
                    s.join(|_| calls[index].fetch_add(1, Ordering::Relaxed), |s| random_tree(s, 3, 20));
                });
            });
            assert!(calls.iter().all(|calls| calls.load(Ordering::Relaxed) == 1));
        }
    }
}

#[test]
fn alone_a_loop_goes_in_order() {
    let _turn = turn();
    let seen = Mutex::new(Vec::new());
    pool(1).heartbeat(|s| s.for_each(3..50, |_, index| seen.lock().unwrap().push(index)));
    assert!(seen.into_inner().unwrap().into_iter().eq(3..50));
}

#[test]
fn rounds_and_sessions_inside_a_join_run_on_the_spot() {
    let _turn = turn();
    let pool = eager(3);
    let calls = AtomicUsize::new(0);
    let (a, b) = pool.heartbeat(|s| {
        s.join(
            |_| pool.heartbeat(|inner| random_tree(inner, 4, 500)),
            |s| {
                let here = thread::current().id();
                pool.run(|_| {
                    assert_eq!(thread::current().id(), here);
                    calls.fetch_add(1, Ordering::Relaxed);
                });
                random_tree(s, 4, 500)
            },
        )
    });
    assert_eq!(a, b);
    assert_eq!(calls.into_inner(), 3);
}

#[test]
fn sessions_inside_a_round_run_on_the_spot() {
    let _turn = turn();
    let pool = pool(3);
    let expected = pool.heartbeat(|s| random_tree(s, 4, 500));
    pool.run(|_| {
        let here = thread::current().id();
        let inner = pool.heartbeat(|s| {
            s.for_each(0..10, |_, _| assert_eq!(thread::current().id(), here));
            random_tree(s, 4, 500)
        });
        assert_eq!(inner, expected);
    });
}

#[test]
fn threads_that_share_a_pool_do_not_wait_for_each_other() {
    let _turn = turn();
    let pool = eager(2);
    let expected = pool.heartbeat(|s| random_tree(s, 8, 400));
    thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                for _ in 0..300 {
                    assert_eq!(pool.heartbeat(|s| random_tree(s, 8, 400)), expected);
                }
            });
        }
    });
}

#[test]
fn several_threads_take_part_in_uneven_work() {
    let _turn = turn();
    wait_until("uneven work was not shared", || {
        let threads = Mutex::new(HashSet::new());
        pool(2).heartbeat(|s| {
            s.for_each(0..200, |_, index| {
                thread::sleep(Duration::from_micros(if index % 50 == 0 { 5_000 } else { 20 }));
                threads.lock().unwrap().insert(thread::current().id());
            });
        });
        threads.into_inner().unwrap().len() == 2
    });
}

#[test]
fn a_worker_without_a_job_is_not_busy() {
    let _turn = turn();
    let pool = pool(2);
    let session = Duration::from_millis(10);
    let busy = || pool.worker_stats().map(|worker| worker.busy).collect::<Vec<_>>();
    // One session suffices: in another the worker may have waited for its core, which nobody can
    // tell from being busy.
    let was_idle = (0..100).any(|_| {
        let before = busy();
        pool.heartbeat(|_| thread::sleep(session));
        let after = busy();
        assert!(after[0] - before[0] >= session, "{before:?} to {after:?}");
        after[1] - before[1] < session / 2
    });
    assert!(was_idle, "{:?}", busy());
}

/// Sanitizers make each frame several times as large.
const DEPTH: u32 = if cfg!(affinity_sanitize) { 10_000 } else { 100_000 };

/// Enough for [`DEPTH`] joins without optimisation, where a join takes most.
const DEEP_STACK: usize = 512 << 20;

fn on_a_deep_stack(run: impl FnOnce() + Send + 'static) {
    thread::Builder::new().stack_size(DEEP_STACK).spawn(run).unwrap().join().unwrap();
}

#[test]
fn deep_chains_of_first_halves() {
    let _turn = turn();
    fn descend(scope: &mut Scope, depth: u32) -> u32 {
        if depth == 0 { 0 } else { scope.join(|s| 1 + descend(s, depth - 1), |_| ()).0 }
    }
    on_a_deep_stack(|| assert_eq!(pool(2).heartbeat(|s| descend(s, DEPTH)), DEPTH));
}

#[test]
fn deep_chains_of_second_halves() {
    let _turn = turn();
    fn descend(scope: &mut Scope, depth: u32) -> u32 {
        if depth == 0 { 0 } else { scope.join(|_| (), |s| 1 + descend(s, depth - 1)).1 }
    }
    on_a_deep_stack(|| assert_eq!(pool(1).heartbeat(|s| descend(s, DEPTH)), DEPTH));
}
