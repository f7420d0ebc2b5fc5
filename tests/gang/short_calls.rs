//! Recursions that the pool found to be short: they stay on one thread, and go parallel when they
//! turn out to be long.

use std::{
    collections::HashSet,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use bevy_affinity::prelude::*;

use crate::{
    heartbeat::{eager, random_tree, wait_until},
    pool, turn,
};

/// From one place in the program, of which the pool learns that calls are short.
fn short_call<R: Send>(pool: &AffinityPool, f: impl FnOnce(&mut Scope) -> R + Send) -> R {
    pool.heartbeat(f)
}

/// How many rounds the worker beside the leader was called for; the leader runs its index where it
/// wakes up too late.
fn rounds(pool: &AffinityPool) -> u64 {
    let stats: Vec<_> = pool.worker_stats().collect();
    stats[1].rounds + stats[0].taken_over
}

/// Calls until the pool knows that they are short: then the worker is not called any more.
fn learn(pool: &AffinityPool) {
    let is_alone = || {
        let before = rounds(pool);
        assert_eq!(short_call(pool, |s| random_tree(s, 4, 20)), on_one_thread(4, 20));
        rounds(pool) == before
    };
    wait_until("a call that is known to be short", is_alone);
}

/// A pool that knows that calls are short, and of none that was long: after each of those it takes
/// twice as many short ones to learn it, and on a busy machine some of these look long.
fn learned() -> AffinityPool {
    let pool = pool(2);
    learn(&pool);
    pool
}

fn on_one_thread(seed: u64, size: u64) -> u64 {
    pool(1).heartbeat(|s| random_tree(s, seed, size))
}

#[test]
fn calls_that_were_short_are_not_shared() {
    let _turn = turn();
    let (shared, other) = (pool(2), pool(2));
    learn(&shared);
    // It is the place and the pool that are known.
    let before = [rounds(&shared), rounds(&other)];
    shared.heartbeat(|s| random_tree(s, 4, 20));
    short_call(&other, |s| random_tree(s, 4, 20));
    assert_eq!([rounds(&shared), rounds(&other)], before.map(|rounds| rounds + 1));
    let eager = eager(2);
    (0..100).for_each(|_| _ = short_call(&eager, |s| random_tree(s, 4, 20)));
    assert_eq!(rounds(&eager), 100);
}

#[test]
fn halves_that_wait_for_each_other_do_so_in_every_call() {
    let _turn = turn();
    let shared = pool(2);
    let meet = |met: &AtomicUsize, all: usize| {
        met.fetch_add(1, Ordering::SeqCst);
        wait_until("the other half", || met.load(Ordering::SeqCst) == all);
    };
    for call in 0..2_000 {
        // Awake most of the time, asleep in some calls.
        if call % 400 == 0 {
            thread::sleep(Duration::from_millis(5));
        }
        let met = AtomicUsize::new(0);
        shared.heartbeat(|s| s.join(|_| meet(&met, 2), |_| meet(&met, 2)));
        shared.heartbeat(|s| s.join(|_| wait_until("a note", || met.load(Ordering::SeqCst) == 3), |_| meet(&met, 3)));
        shared.heartbeat(|s| s.for_each(0..2, |_, _| meet(&met, 5)));
    }
}

/// What a long call does, of which the pool thinks that it is short.
type LongCall = fn(&mut Scope, &(dyn Fn() + Sync));

fn tree(scope: &mut Scope, leaves: u32, leaf: &(dyn Fn() + Sync)) {
    match leaves {
        1 => leaf(),
        _ => _ = scope.join(|s| tree(s, leaves / 2, leaf), |s| tree(s, leaves / 2, leaf)),
    }
}

fn chain(scope: &mut Scope, jobs: u32, leaf: &(dyn Fn() + Sync)) {
    if jobs > 0 {
        scope.join(|_| leaf(), |s| chain(s, jobs - 1, leaf));
    }
}

fn caught(scope: &mut Scope, panics: bool, leaf: &(dyn Fn() + Sync)) {
    tree(scope, 256, &|| ());
    let join = || scope.join(|s| s.join(|_| assert!(!panics, "planted"), |_| ()), |_| ());
    assert_eq!(catch_unwind(AssertUnwindSafe(join)).is_err(), panics);
    further_down(scope, leaf);
}

/// A tree whose frames lie deeper in the stack.
#[inline(never)]
fn further_down(scope: &mut Scope, leaf: &(dyn Fn() + Sync)) {
    let room = std::hint::black_box([1_u8; 4096]);
    tree(scope, 64, leaf);
    std::hint::black_box(room);
}

#[test]
fn a_long_call_among_short_ones_is_shared_in_the_end() {
    const LONG: [(&str, u64, LongCall); 8] = [
        ("a tree", 64, |s, leaf| tree(s, 64, leaf)),
        ("a chain", 64, |s, leaf| chain(s, 64, leaf)),
        ("a loop", 64, |s, leaf| s.for_each(0..64, |_, _| leaf())),
        ("short joins before long ones", 64, |s, leaf| {
            (0..5).for_each(|_| _ = s.join(|_| (), |_| ()));
            tree(s, 64, leaf);
        }),
        ("two phases", 128, |s, leaf| (0..2).for_each(|_| s.for_each(0..64, |_, _| leaf()))),
        ("cheap leaves before dear ones", 60, |s, leaf| {
            let leaves = AtomicUsize::new(0);
            tree(s, 64, &|| _ = (leaves.fetch_add(1, Ordering::Relaxed) >= 4).then(leaf));
        }),
        ("a cheap tree before a dear one", 64, |s, leaf| {
            tree(s, 256, &|| ());
            tree(s, 64, leaf);
        }),
        ("a caught panic", 64, |s, leaf| caught(s, true, leaf)),
    ];
    let _turn = turn();
    let pause = || thread::sleep(Duration::from_micros(100));
    for (what, leaves, call) in LONG {
        let is_shared = || {
            let pool = learned();
            let (threads, calls) = (Mutex::new(HashSet::new()), AtomicUsize::new(0));
            let leaf = || {
                pause();
                threads.lock().unwrap().insert(thread::current().id());
                calls.fetch_add(1, Ordering::Relaxed);
            };
            let (before, began) = (rounds(&pool), Instant::now());
            let busy = || pool.worker_stats().next().map(|leader| leader.busy + leader.wait).unwrap();
            let booked = busy();
            short_call(&pool, |s| call(s, &leaf));
            let (took, booked) = (began.elapsed(), busy() - booked);
            assert!(booked <= took, "{what}: {booked:?} in {took:?}");
            assert_eq!(calls.load(Ordering::Relaxed) as u64, leaves, "{what}");
            assert!(rounds(&pool) > before, "{what}: nobody was called");
            // The next one is known to be long.
            let before = rounds(&pool);
            short_call(&pool, |s| tree(s, 16, &pause));
            assert_eq!(rounds(&pool) - before, 1, "{what}");
            threads.into_inner().unwrap().len() == 2
        };
        wait_until(what, is_shared);
    }
}

#[test]
fn of_many_short_joins_not_each_is_a_session() {
    const JOINS: u64 = 4_000;
    let _turn = turn();
    // In some try neither thread loses its core for long, so that nearly all sessions are short.
    let are_few = || {
        let pool = learned();
        let before = rounds(&pool);
        short_call(&pool, |s| {
            s.join(|_| thread::sleep(Duration::from_micros(100)), |_| ());
            (1..JOINS).for_each(|_| _ = s.join(|_| (), |_| ()));
        });
        rounds(&pool) - before < JOINS / 4
    };
    wait_until("few sessions", are_few);
}

#[test]
fn panics_in_calls_that_were_short_arrive() {
    let _turn = turn();
    let pause = |micros| thread::sleep(Duration::from_micros(micros));
    for (length, first, second) in [(0, true, true), (0, false, true), (200, true, false), (200, false, true)] {
        let pool = learned();
        let call = || {
            short_call(&pool, |s| {
                s.join(
                    |_| {
                        pause(length);
                        assert!(!first, "first");
                    },
                    |s| {
                        s.join(|_| pause(length), |_| assert!(!second, "second"));
                    },
                );
            });
        };
        let payload = catch_unwind(AssertUnwindSafe(call)).unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&if first { "first" } else { "second" }), "{length} us");
        learn(&pool);
    }
}

#[test]
fn what_a_short_call_asks_of_pools_runs_on_the_spot() {
    let _turn = turn();
    for length in [0, 100] {
        let pool = learned();
        let here = thread::current().id();
        short_call(&pool, |s| {
            thread::sleep(Duration::from_micros(length));
            s.join(
                |_| pool.run(|_| assert_eq!(thread::current().id(), here)),
                |_| {
                    let here = thread::current().id();
                    pool.run(|_| assert_eq!(thread::current().id(), here));
                    pool.heartbeat(|s| s.join(|_| (), |_| assert_eq!(thread::current().id(), here)));
                },
            );
            pool.run(|_| assert_eq!(thread::current().id(), here));
        });
    }
}
