//! Fork/join through the public interface: results, panics, drops, nesting, and that others do take
//! part.
//!
//! A process of its own: closures wait here until another worker takes part, so each test needs the
//! gang, of which a process has one. Here they take turns, as the tests of `it` do not.

use std::{
    collections::HashSet,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use bevy_affinity::prelude::*;

/// How long closures wait for each other before a test fails: other tests may have the cores for a
/// while.
const PATIENCE: Duration = Duration::from_secs(30);

fn pool(workers: usize) -> AffinityPool {
    AffinityPool::new(&AffinitySettings {
        workers: WorkerCount::Exactly(workers),
        avoid_busy_cores: false,
        ..Default::default()
    })
}

/// A pool whose workers give work away as often as they are asked.
fn eager(workers: usize) -> AffinityPool {
    let settings = AffinitySettings {
        workers: WorkerCount::Exactly(workers),
        heartbeat: Duration::ZERO,
        avoid_busy_cores: false,
        ..Default::default()
    };
    AffinityPool::new(&settings)
}

/// All pools of a process share one gang, and who does not get it runs on the spot: so tests take
/// turns.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A sequence of numbers that look random.
fn scramble(seed: u64) -> u64 {
    let mixed = (seed ^ (seed >> 31)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) ^ (mixed >> 32)
}

/// Splits `size` nodes at random between two subtrees; the result depends on every split and its
/// order.
fn random_tree(scope: &mut Scope, seed: u64, size: u64) -> u64 {
    if size == 0 {
        return 0;
    }
    let left = scramble(seed) % size;
    let right = size - 1 - left;
    let (a, b) = scope.join(|s| random_tree(s, seed + 1, left), |s| random_tree(s, seed + left + 1, right));
    seed ^ a.wrapping_mul(3) ^ b.wrapping_mul(5)
}

fn wait_until(what: &str, met: impl Fn() -> bool) {
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
