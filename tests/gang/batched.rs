//! Batched calls through the public interface: answers, order by key, nesting, and that workers do
//! take part.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

use bevy_affinity::prelude::*;

use crate::{pool, turn};

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

/// Far longer than anything takes on a busy machine; who is waited for in vain says so.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// With keys of the caller's and of the first worker's.
pub(crate) const KEYS: [u64; 2] = [0, 1];

/// A key of the worker, of two.
pub(crate) const WORKERS_KEY: u64 = 1;

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
    let message = other.expect_err("too few").downcast::<String>().expect("a message");
    assert!(message.contains("made for 1 workers") && message.contains("call `fit`"), "{message}");
}

/// What is kept from frame to frame follows the settings, and loses nothing.
#[test]
fn per_worker_values_fit_larger_and_smaller_pools() {
    let _turn = turn();
    let mut counts = PerWorker::default();
    assert!(counts.is_empty());
    for workers in [1, 3, 2, 4, 1] {
        let pool = pool(workers);
        counts.fit(&pool, |index| 100 * index);
        pool.run(|worker| counts.with(worker, |count| *count += 1));
    }
    assert_eq!(counts.len(), 4);
    assert_eq!(counts.into_iter().collect::<Vec<_>>(), [5, 103, 202, 301]);
}
