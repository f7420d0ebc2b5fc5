use std::{
    collections::HashMap,
    sync::{
        Mutex,
        mpsc::{self, Sender},
    },
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

use super::{BatchExchange, BatchedCalls, RunCalls, first_panic};

/// Far longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// Keys whose calls go to the first and the second of two workers, and one of the caller's own.
const KEYS: [u64; 2] = [1, 3];
const CALLERS_KEY: u64 = 0;

#[test]
fn keys_spread_evenly_over_the_caller_and_the_workers() {
    for workers in [1, 2, 3, 4, 8, 16] {
        let exchange = BatchExchange::<()>::new(workers, Duration::ZERO);
        let mut hits = vec![0_usize; exchange.inboxes()];
        // Numbers one after another, and numbers that differ in their upper halves only, as
        // generations of entities do.
        (0..8192_u64).for_each(|key| hits[exchange.inbox_of(key)] += 1);
        (0..8192_u64).for_each(|key| hits[exchange.inbox_of(key << 32)] += 1);
        let (followers, loose) = hits.split_at(workers - 1);
        let fair = 16_384 / workers;
        let is_fair = |hits: usize, fair: usize| hits.abs_diff(fair) < fair / 2;
        assert!(followers.iter().all(|&hits| is_fair(hits, fair)), "{workers} workers: {hits:?}");
        assert!(loose.iter().all(|&hits| is_fair(hits, fair / loose.len())), "{workers} workers: {hits:?}");
    }
    let exchange = BatchExchange::<()>::new(3, Duration::ZERO);
    assert_eq!(KEYS.map(|key| exchange.inbox_of(key)), [0, 1]);
    assert!(exchange.inbox_of(CALLERS_KEY) >= 2);
}

/// A key, and where to say which call has run.
type Ask = (u64, usize, Sender<usize>);

/// Which calls each key had, in the order in which they ran, and on which threads.
type Log = Mutex<HashMap<u64, Vec<(usize, ThreadId)>>>;

/// An exchange of three workers: the first of two followers takes part from the beginning, the
/// second one comes when the caller has called `late`.
fn play(second_takes_part: bool, caller: impl FnOnce(&mut BatchedCalls<Ask>, &dyn Fn())) -> Log {
    let (exchange, log) = (BatchExchange::new(3, Duration::from_micros(50)), Log::default());
    let run: RunCalls<Ask> = &|_, calls| {
        for (key, number, done) in calls {
            log.lock().unwrap().entry(key).or_default().push((number, thread::current().id()));
            let _ = done.send(number);
        }
    };
    let result = thread::scope(|scope| {
        scope.spawn(|| exchange.follow(0, run));
        let late = || {
            scope.spawn(|| exchange.follow(1, run));
        };
        let result = exchange.lead(|inbox| inbox == 0 || second_takes_part, run, |calls| caller(calls, &late));
        // As in a round: the leader runs the index of a worker that has not come.
        exchange.follow(1, run);
        result
    });
    let (_, inboxes) = first_panic(exchange, result).unwrap_or_else(|payload| std::panic::resume_unwind(payload));
    let ran: usize = log.lock().unwrap().values().map(Vec::len).sum();
    assert_eq!(ran, inboxes.len(), "an inbox is noted for each call");
    log
}

fn ask_and_wait(calls: &mut BatchedCalls<Ask>, key: u64, number: usize) {
    let (sender, done) = mpsc::channel();
    calls.call(key, (key, number, sender));
    calls.flush();
    assert_eq!(done.recv_timeout(PATIENCE), Ok(number), "the call waits for a worker that does not come");
}

/// The calls of each key ran in order on one thread.
fn assert_in_order(log: Log, calls: usize) {
    for (key, ran) in log.into_inner().unwrap() {
        assert_eq!(ran.iter().map(|&(number, _)| number).collect::<Vec<_>>(), (0..calls).collect::<Vec<_>>());
        assert!(ran.iter().all(|&(_, thread)| thread == ran[0].1), "key {key}");
    }
}

#[test]
fn a_worker_that_is_left_out_is_replaced() {
    let log = play(false, |calls, _| {
        (0..200).for_each(|number| KEYS.iter().for_each(|&key| ask_and_wait(calls, key, number)));
    });
    assert_in_order(log, 200);
}

#[test]
fn a_worker_that_is_late_is_replaced_for_good() {
    for _ in 0..10 {
        let log = play(true, |calls, late| {
            // A millisecond later the first worker has taken over.
            (0..50).for_each(|number| KEYS.iter().for_each(|&key| ask_and_wait(calls, key, number)));
            late();
            (50..200).for_each(|number| KEYS.iter().for_each(|&key| ask_and_wait(calls, key, number)));
        });
        assert_in_order(log, 200);
    }
}

/// The second worker comes while the first may be about to take over.
#[test]
fn whoever_comes_first_runs_all_calls_of_a_key() {
    for wait in 0..100 {
        let log = play(true, |calls, late| {
            let (sender, done) = mpsc::channel();
            for number in 0..300 {
                KEYS.iter().for_each(|&key| _ = calls.call(key, (key, number, sender.clone())));
                if number == 64 {
                    let began = Instant::now();
                    // Around the time at which calls are overdue.
                    while began.elapsed() < Duration::from_micros(900 + 2 * wait) {
                        std::hint::spin_loop();
                    }
                    late();
                }
            }
            calls.flush();
            assert!((0..600).all(|_| done.recv_timeout(PATIENCE).is_ok()), "flushed calls run without the caller");
        });
        assert_in_order(log, 300);
    }
}

/// Workers that wait for calls take the caller's too: while it goes on, and without being asked.
#[test]
fn an_idle_worker_takes_over_calls_of_the_caller() {
    play(true, |calls, _| {
        let (sender, done) = mpsc::channel();
        let began = Instant::now();
        for number in 0.. {
            calls.call(CALLERS_KEY, (CALLERS_KEY, number, sender.clone()));
            if done.try_recv().is_ok() {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "no worker takes them over");
            thread::yield_now();
        }
    });
}

/// Either the caller or a worker runs all calls of a key: the first to come.
#[test]
fn calls_of_the_caller_run_in_order_on_one_thread() {
    for _ in 0..100 {
        let log = play(true, |calls, _| {
            let (sender, done) = mpsc::channel();
            for number in 0..300 {
                (0..16).for_each(|key| _ = calls.call(key, (key, number, sender.clone())));
                if number % 100 == 50 {
                    calls.flush();
                }
            }
            calls.flush();
            assert!((0..300 * 16).all(|_| done.recv_timeout(PATIENCE).is_ok()));
        });
        assert_in_order(log, 300);
    }
}
