//! Batched calls through the public interface: answers, order by key, panics, drops, nesting, and
//! that workers do take part.
//!
//! A process of its own: some closures wait until a worker takes part, so their tests need the
//! gang, of which a process has one. Here they take turns, as the tests of `it` do not.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind},
    process::Command,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

use bevy_affinity::prelude::*;

fn pool(workers: usize) -> AffinityPool {
    AffinityPool::new(&AffinitySettings {
        workers: WorkerCount::Exactly(workers),
        avoid_busy_cores: false,
        ..Default::default()
    })
}

/// All pools of a process share one gang, and who does not get it runs on the spot: so tests take
/// turns.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn payload(call: impl FnOnce()) -> &'static str {
    let payload = catch_unwind(AssertUnwindSafe(call)).expect_err("it should panic");
    payload.downcast_ref::<&'static str>().copied().expect("the payload of the closure")
}

#[test]
fn answers_come_in_the_order_of_calls() {
    let _turn = turn();
    for workers in 1..=4 {
        for calls in [0, 1, 7, 8, 64, 65, 10_000_u64] {
            let (numbers, answers) = pool(workers).batched(
                |argument: u64| argument * 3,
                |batched| (0..calls).map(|call| batched.call(call % 13, call)).collect::<Vec<_>>(),
            );
            assert_eq!(numbers, (0..calls as usize).collect::<Vec<_>>());
            assert_eq!(answers, (0..calls).map(|call| call * 3).collect::<Vec<_>>(), "{workers} workers");
        }
    }
}

#[test]
fn calls_with_one_key_run_in_order_on_one_thread() {
    let _turn = turn();
    let seen = Mutex::new(HashMap::<u64, Vec<(u64, ThreadId)>>::new());
    pool(4).batched(
        |(key, number): (u64, u64)| {
            let mut seen = seen.lock().unwrap();
            seen.entry(key).or_default().push((number, thread::current().id()));
        },
        |calls| (0..5_000).for_each(|number| _ = calls.call(number % 17, (number % 17, number))),
    );
    for (key, calls) in seen.into_inner().unwrap() {
        assert!(calls.is_sorted_by_key(|&(number, _)| number), "key {key}");
        assert!(calls.iter().all(|&(_, thread)| thread == calls[0].1), "key {key}");
    }
}

/// A key of the worker, of two.
const WORKERS_KEY: u64 = 1;

#[test]
fn workers_run_calls_while_the_caller_goes_on() {
    let _turn = turn();
    let done = AtomicBool::new(false);
    let ((), answers) = pool(2).batched(
        |()| done.store(true, Ordering::Release),
        |calls| {
            calls.call(WORKERS_KEY, ());
            calls.flush();
            // Other tests may have the cores for a while.
            let start = Instant::now();
            while !done.load(Ordering::Acquire) && start.elapsed() < Duration::from_secs(30) {
                thread::yield_now();
            }
            assert!(done.load(Ordering::Acquire), "no worker took the call");
        },
    );
    assert_eq!(answers.len(), 1);
}

#[test]
fn a_slow_caller_finds_its_workers_again() {
    let _turn = turn();
    let settings =
        AffinitySettings { workers: WorkerCount::Exactly(3), spin: Duration::ZERO, ..AffinitySettings::default() };
    let (_, answers) = AffinityPool::new(&settings).batched(
        |argument: u64| argument,
        |calls| {
            for call in 0..200 {
                calls.call(call, call);
                if call % 20 == 0 {
                    calls.flush();
                    thread::sleep(Duration::from_micros(200));
                }
            }
        },
    );
    assert_eq!(answers, (0..200).collect::<Vec<_>>());
}

#[test]
fn panics_reach_the_caller_and_the_pool_works_on() {
    let _turn = turn();
    for workers in 1..=3 {
        let pool = pool(workers);
        let call = |argument: u64| if argument == 50 { panic!("a call") } else { argument };
        let send = |calls: &mut BatchedCalls<u64>| (0..100).for_each(|argument| _ = calls.call(argument, argument));
        assert_eq!(payload(|| _ = pool.batched(call, send)), "a call");
        let ran = AtomicUsize::new(0);
        let count = |_: u64| _ = ran.fetch_add(1, Ordering::Relaxed);
        let fail = |calls: &mut BatchedCalls<u64>| {
            calls.call(1, 1);
            calls.flush();
            calls.call(2, 2);
            panic!("the caller")
        };
        assert_eq!(payload(|| _ = pool.batched(count, fail)), "the caller");
        assert!(ran.into_inner() <= 1, "what was not sent does not run");
        assert_eq!(pool.batched(|n: u64| n, |calls| _ = calls.call(3, 4)).1, [4]);
    }
}

#[test]
fn arguments_are_dropped_once() {
    let _turn = turn();
    let shared = Arc::new(());
    for panics in [false, true] {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            pool(3).batched(
                |(number, _guard): (u32, Arc<()>)| assert!(!panics || number != 500, "planted"),
                |calls| (0..1_000).for_each(|number| _ = calls.call(number.into(), (number, shared.clone()))),
            )
        }));
        assert_eq!(outcome.is_err(), panics);
        assert_eq!(Arc::strong_count(&shared), 1);
    }
}

/// Far longer than anything takes on a busy machine; who is waited for in vain says so.
const LONG: Duration = Duration::from_secs(30);

/// With keys of the caller's and of the first worker's.
const KEYS: [u64; 2] = [0, 1];

#[test]
fn a_caller_that_waits_for_calls_after_a_panic_goes_on() {
    let _turn = turn();
    for workers in 1..=3 {
        let pool = pool(workers);
        let call = |(number, answer): (u32, mpsc::Sender<u32>)| {
            if number == 1 {
                resume_unwind(Box::new("a call"));
            }
            let _ = answer.send(number);
        };
        let ask = |calls: &mut BatchedCalls<_>, key, number| {
            let (sender, answer) = mpsc::channel();
            calls.call(key, (number, sender));
            calls.flush();
            answer.recv_timeout(LONG)
        };
        let message = payload(|| {
            pool.batched(call, |calls| {
                assert_eq!(ask(calls, KEYS[0], 0), Ok(0));
                assert!(KEYS.iter().all(|&key| !calls.is_closed(key)));
                for number in 1..4 {
                    assert_eq!(ask(calls, KEYS[0], number), Err(RecvTimeoutError::Disconnected), "call {number}");
                }
                assert!(calls.is_closed(KEYS[0]));
                assert_eq!(calls.is_closed(KEYS[1]), workers < 2);
                let others = ask(calls, KEYS[1], 9);
                assert_eq!(others, if workers < 2 { Err(RecvTimeoutError::Disconnected) } else { Ok(9) });
            });
        });
        assert_eq!(message, "a call");
    }
}

/// Counts its drops, each of which panics.
struct Nasty<'a>(&'a AtomicUsize);

impl Drop for Nasty<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        panic_any("a drop");
    }
}

#[test]
fn arguments_that_panic_when_they_are_dropped_uncalled_are_all_dropped() {
    const CALLS: usize = 500;
    let _turn = turn();
    for workers in 1..=3 {
        let (pool, drops) = (pool(workers), AtomicUsize::new(0));
        let call = |(number, nasty): (usize, Nasty)| {
            if number == 100 {
                std::mem::forget(nasty);
                drops.fetch_add(1, Ordering::Relaxed);
                resume_unwind(Box::new("a call"));
            }
            drops.fetch_add(1, Ordering::Relaxed);
            std::mem::forget(nasty);
        };
        let message = payload(|| {
            pool.batched(call, |calls| {
                for number in 0..CALLS {
                    // The drop of one that comes after the panic is the caller's.
                    let made = catch_unwind(AssertUnwindSafe(|| calls.call(7, (number, Nasty(&drops)))));
                    assert!(made.is_ok_and(|made| made == number) || calls.is_closed(7));
                }
                let _ = catch_unwind(AssertUnwindSafe(|| calls.flush()));
            });
        });
        assert_eq!(message, "a call");
        assert_eq!(drops.into_inner(), CALLS, "{workers} workers");
    }
}

#[test]
fn arguments_that_a_caller_did_not_send_before_it_panicked_may_panic_too() {
    let _turn = turn();
    for workers in 1..=3 {
        let drops = AtomicUsize::new(0);
        let message = payload(|| {
            pool(workers).batched(drop, |calls| {
                KEYS.iter().cycle().take(6).for_each(|&key| _ = calls.call(key, Nasty(&drops)));
                resume_unwind(Box::new("the caller"));
            });
        });
        assert_eq!((message, drops.into_inner()), ("the caller", 6));
    }
}

#[test]
fn the_panic_of_a_call_goes_before_the_callers() {
    let _turn = turn();
    for workers in 1..=3 {
        let (sender, answer) = mpsc::channel::<()>();
        let message = payload(|| {
            pool(workers).batched(
                |_sender: mpsc::Sender<()>| resume_unwind(Box::new("a call")),
                move |calls| {
                    calls.call(0, sender);
                    calls.flush();
                    answer.recv_timeout(LONG).unwrap_or_else(|_| resume_unwind(Box::new("the caller")));
                },
            );
        });
        assert_eq!(message, "a call");
    }
}

/// A payload whose drop panics.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic_any("a bomb");
    }
}

#[test]
#[ignore = "aborts: the next test runs it in a process of its own"]
fn two_payloads_that_panic_in_their_drop() {
    pool(3).batched(|()| panic_any(Bomb), |calls| KEYS.iter().for_each(|&key| _ = calls.call(key, ())));
}

/// Of two payloads one is handed on and one is dropped.
#[test]
fn a_payload_that_panics_in_its_drop_aborts_and_says_so() {
    let mut child = Command::new(std::env::current_exe().expect("this very program"));
    child.args(["--ignored", "--exact", "two_payloads_that_panic_in_their_drop", "--nocapture"]);
    let output = child.env("RUST_BACKTRACE", "0").output().expect("it starts");
    assert!(!output.status.success());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        stderr.contains("bevy_affinity: the payload of a panic panicked while it was dropped; aborting"),
        "{stderr}"
    );
}

/// A lock that calls take may be held while calls are made, though not while they are flushed.
#[test]
fn calls_do_not_run_inside_call() {
    let _turn = turn();
    for workers in 1..=3 {
        let sum = Mutex::new(0);
        let ((), answers) = pool(workers).batched(
            |n: u64| *sum.lock().unwrap() += n,
            |calls| {
                let _held = sum.lock().unwrap();
                (0..1_000).for_each(|n| _ = calls.call(n, n));
            },
        );
        assert_eq!((answers.len(), sum.into_inner().unwrap()), (1_000, 499_500));
    }
}

/// The caller has keys of its own: where no worker is idle it runs their calls itself.
#[test]
fn the_caller_runs_calls_of_its_own_keys() {
    let _turn = turn();
    let (worker_came, over) = (AtomicBool::new(false), AtomicBool::new(false));
    let wait_for = |flag: &AtomicBool| {
        let began = Instant::now();
        while !flag.load(Ordering::Acquire) && began.elapsed() < LONG {
            thread::yield_now();
        }
    };
    let (caller, threads) = pool(2).batched(
        |key: u64| {
            if key == WORKERS_KEY {
                worker_came.store(true, Ordering::Release);
                wait_for(&over);
            }
            thread::current().id()
        },
        |calls| {
            calls.call(WORKERS_KEY, WORKERS_KEY);
            calls.flush();
            wait_for(&worker_came);
            (0..100).for_each(|_| _ = calls.call(KEYS[0], KEYS[0]));
            calls.flush();
            over.store(true, Ordering::Release);
            thread::current().id()
        },
    );
    assert!(threads[0] != caller && threads[1..].iter().all(|&thread| thread == caller));
}

#[test]
fn any_key_will_do() {
    let _turn = turn();
    let seen = Mutex::new(HashMap::<u64, usize>::new());
    let key = |number: usize| (number as u64 % 5_000).wrapping_mul(0x2545_F491_4F6C_DD1D).rotate_left(17);
    let (_, answers) = pool(4).batched(
        |number: usize| {
            let last = seen.lock().unwrap().insert(key(number), number);
            assert!(last.is_none_or(|last| last < number), "in order");
            number
        },
        |calls| (0..20_000).for_each(|number| assert_eq!(calls.call(key(number), number), number)),
    );
    assert_eq!(answers, (0..20_000).collect::<Vec<_>>());
}

/// Runs calls one after another, each of which is waited for, and says on how many threads they
/// ran.
fn ask_and_wait(pool: &AffinityPool) -> usize {
    let (_, threads) = pool.batched(
        |answer: mpsc::Sender<()>| {
            let _ = answer.send(());
            thread::current().id()
        },
        |calls| {
            for key in 0..20 {
                let (sender, answer) = mpsc::channel();
                calls.call(key, sender);
                calls.flush();
                assert_eq!(answer.recv_timeout(LONG), Ok(()), "call {key} waits for the caller to return");
            }
        },
    );
    threads.into_iter().collect::<std::collections::HashSet<_>>().len()
}

#[test]
fn calls_that_were_flushed_can_be_waited_for_with_any_number_of_workers() {
    let _turn = turn();
    for workers in 1..=4 {
        assert!((1..=workers).contains(&ask_and_wait(&pool(workers))));
    }
}

#[test]
fn calls_that_were_flushed_can_be_waited_for_inside_a_round() {
    let _turn = turn();
    let pool = pool(3);
    let inner = pool.clone();
    pool.run(|_| assert_eq!(ask_and_wait(&inner), 1));
}

#[test]
fn calls_that_were_flushed_can_be_waited_for_while_another_thread_leads() {
    let _turn = turn();
    let pool = pool(2);
    let (leads, over) = (AtomicBool::new(false), AtomicBool::new(false));
    let wait_for = |flag: &AtomicBool| {
        let began = Instant::now();
        while !flag.load(Ordering::Acquire) && began.elapsed() < LONG {
            thread::yield_now();
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            pool.run(|worker| {
                if worker.index() == 0 {
                    leads.store(true, Ordering::Release);
                    wait_for(&over);
                }
            });
        });
        wait_for(&leads);
        let threads = catch_unwind(AssertUnwindSafe(|| ask_and_wait(&pool)));
        over.store(true, Ordering::Release);
        assert_eq!(threads.expect("no call waits for ever"), 1);
    });
}

#[test]
fn inside_rounds_and_calls_everything_runs_on_the_spot() {
    let _turn = turn();
    let outer = pool(3);
    let inner = outer.clone();
    let nested = |argument: u64| {
        let here = thread::current().id();
        let (_, answers) = inner.batched(
            |n: u64| (n + argument, thread::current().id()),
            |calls| (0..10).for_each(|n| _ = calls.call(n, n)),
        );
        assert!(answers.iter().all(|&(_, thread)| thread == here));
        answers.iter().map(|&(sum, _)| sum).sum::<u64>()
    };
    let (_, answers) = outer.batched(nested, |calls| (0..50).for_each(|n| _ = calls.call(n, n)));
    assert_eq!(answers, (0..50).map(|n| 45 + 10 * n).collect::<Vec<_>>());
    outer.run(|_| assert_eq!(nested(1), 55));
}

#[test]
fn a_tagged_system_makes_calls() {
    use bevy::prelude::*;
    #[derive(Resource, Default)]
    struct Answers(Vec<u64>);
    fn ask(pool: Res<AffinityPool>, mut answers: ResMut<Answers>) {
        answers.0 = pool.batched(|n: u64| n + 1, |calls| (0..100).for_each(|n| _ = calls.call(n, n))).1;
    }
    let _turn = turn();
    let mut app = App::new();
    app.add_plugins(AffinityParallelPlugin).init_resource::<Answers>().add_systems(Update, ask.affine());
    app.update();
    assert_eq!(app.world().resource::<Answers>().0, (1..=100).collect::<Vec<_>>());
}

#[test]
fn per_worker_values_are_each_workers_own() {
    let _turn = turn();
    for workers in 1..=4 {
        let pool = pool(workers);
        let mut counts = PerWorker::new(&pool, |index| (index, 0));
        for _ in 0..100 {
            pool.run(|worker| counts.with(worker, |(_, count)| *count += 1));
        }
        assert!(counts.iter_mut().all(|&mut (_, count)| count == 100));
        assert_eq!(counts.into_iter().map(|(index, _)| index).collect::<Vec<_>>(), (0..workers).collect::<Vec<_>>());
    }
}

#[test]
fn per_worker_misuse_says_what_to_do() {
    let _turn = turn();
    let pool = pool(2);
    let values = PerWorker::new(&pool, |_| 0);
    let nested = catch_unwind(AssertUnwindSafe(|| {
        pool.run(|worker| values.with(worker, |_| values.with(worker, |value| *value += 1)));
    }));
    let message = nested.expect_err("it is in use").downcast::<String>().expect("a message");
    assert!(message.contains("do not call `with` inside `with`"), "{message}");
    let small = PerWorker::new(
        &AffinityPool::new(&AffinitySettings { workers: WorkerCount::Exactly(1), ..Default::default() }),
        |_| 0,
    );
    let other = catch_unwind(AssertUnwindSafe(|| pool.run(|worker| small.with(worker, |value| *value += 1))));
    assert!(other.expect_err("too few").downcast::<String>().expect("a message").contains("made for 1 workers"));
}

/// A later panic, as any other: the payload of the call comes out.
#[test]
fn what_the_caller_returned_panics_as_it_is_dropped() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic_any("the bomb");
        }
    }
    let _turn = turn();
    for workers in 1..4 {
        let call = |number: usize| {
            if number == 3 {
                panic_any("the call");
            }
        };
        let batched = || {
            let _ = pool(workers).batched(call, |calls| {
                (0..100).for_each(|number| _ = calls.call(number as u64, number));
                Bomb
            });
        };
        assert_eq!(payload(batched), "the call");
    }
}
