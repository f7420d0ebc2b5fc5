//! Rounds that call some of the workers.

use super::*;

/// The leader and `others`.
fn participants(others: &[usize]) -> Participants {
    let mut participants = Participants::LEADER;
    others.iter().for_each(|&worker| participants.add(worker));
    participants
}

/// Rounds of all sets of participants of this many workers, again and again; each calls whom it
/// should, and no other one.
fn assert_participants(pool: &AffinityPool, rounds: usize) {
    let calls: Vec<_> = (0..pool.workers()).map(|_| AtomicUsize::new(0)).collect();
    let mut expected = vec![0; pool.workers()];
    for round in 0..rounds {
        let others: Vec<_> = (1..pool.workers()).filter(|worker| (round * 5) >> (worker - 1) & 1 == 1).collect();
        let participants = participants(&others);
        pool.run_some(participants, Measured::ForCaller, |worker| {
            calls[worker.index()].fetch_add(1, Ordering::Relaxed);
        });
        expected.iter_mut().enumerate().for_each(|(worker, calls)| *calls += usize::from(participants.has(worker)));
        assert!(calls.iter().zip(&expected).all(|(calls, &expected)| calls.load(Ordering::Relaxed) == expected));
    }
}

#[test]
fn every_index_of_the_participants_once_and_no_other() {
    for workers in 1..=5 {
        assert_participants(&pool(workers), 2_000);
    }
}

#[test]
fn participants_in_turn_on_a_busy_machine() {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let result = catch_unwind(|| assert_participants(&pool(4), 10_000));
        done.store(true, Ordering::Relaxed);
        result.unwrap_or_else(|payload| std::panic::resume_unwind(payload));
    });
}

#[test]
fn who_is_no_longer_called_sleeps_when_the_others_do() {
    let spinning = AffinitySettings { workers: WorkerCount::Exactly(3), spin: Duration::MAX, ..Default::default() };
    let large = AffinityPool::new(&AffinitySettings { avoid_busy_cores: false, ..spinning });
    large.run(|_| {});
    let sleeping = AffinitySettings { workers: WorkerCount::Exactly(2), spin: Duration::ZERO, ..Default::default() };
    let small = AffinityPool::new(&AffinitySettings { avoid_busy_cores: false, ..sleeping });
    let begun = Instant::now();
    while !large.seats[1].round.is_asleep() {
        small.run(|_| {});
        assert!(begun.elapsed() < Duration::from_secs(60), "it spins on");
        thread::yield_now();
    }
}

#[test]
fn who_is_not_called_is_idle() {
    let pool = pool(4);
    for _ in 0..200 {
        let round =
            pool.run_some(participants(&[2]), Measured::ForCaller, |_| thread::sleep(Duration::from_micros(10)));
        assert_eq!([1, 3].map(|worker| round.busy(worker)), [Some(0); 2]);
    }
    let times: Vec<_> = pool.worker_stats().collect();
    assert_eq!([times[1], times[3]], [WorkerStats::default(); 2]);
    assert_eq!(times.iter().map(|times| times.rounds).sum::<u64>(), 400);
    assert!(pool.worker_stats().all(|worker| worker.rounds_left_out == 0));
}

#[test]
fn a_leader_without_participants_needs_no_gang() {
    let pool = pool(3);
    let lead = lead(&pool);
    let here = thread::current().id();
    let called = AtomicUsize::new(0);
    let round = pool.run_some(Participants::LEADER, Measured::ForCaller, |worker| {
        assert_eq!((worker.index(), worker.core(), thread::current().id()), (0, None, here));
        assert!(crate::pool::in_round());
        thread::sleep(Duration::from_micros(10));
        called.fetch_add(1, Ordering::Relaxed);
    });
    assert_eq!(called.into_inner(), 1);
    assert!(!crate::pool::in_round());
    assert_eq!([1, 2].map(|worker| round.busy(worker)), [Some(0); 2]);
    assert_eq!(round.busy_of_all(), Some(round.leader_busy()));
    assert!(round.leader_busy() >= 10_000);
    // Another thread has the gang: all indices are this one's, and how long they would have taken
    // their workers is not known.
    assert_eq!(pool.run_some(Participants::ALL, Measured::ForCaller, |_| {}).busy_of_all(), None);
    drop(lead);
    let times: Vec<_> = pool.worker_stats().collect();
    assert_eq!((times[0].rounds, times[0].taken_over), (4, 2));
    assert_eq!([times[1], times[2]], [WorkerStats::default(); 2]);
}

#[test]
fn panics_of_participants_reach_the_caller_after_all_are_done() {
    let pool = pool(4);
    for others in [&[][..], &[1], &[3], &[1, 3]] {
        for culprit in [0].iter().chain(others) {
            let done = AtomicUsize::new(0);
            let result = catch_unwind(AssertUnwindSafe(|| {
                pool.run_some(participants(others), Measured::ForCaller, |worker| {
                    if worker.index() == *culprit {
                        std::panic::resume_unwind(Box::new(*culprit));
                    }
                    thread::sleep(Duration::from_millis(1));
                    done.fetch_add(1, Ordering::Relaxed);
                });
            }));
            assert_eq!(result.unwrap_err().downcast_ref(), Some(culprit));
            assert_eq!(done.load(Ordering::Relaxed), others.len());
            assert_participants(&pool, 16);
            assert_rounds(&pool, 4);
        }
    }
}

#[test]
fn rounds_in_a_round_and_beside_it_run_on_the_spot() {
    let pool = pool(3);
    let inner = AtomicUsize::new(0);
    let nested = |_| {
        drop(pool.run_some(participants(&[1]), Measured::ForCaller, |_| _ = inner.fetch_add(1, Ordering::Relaxed)));
    };
    pool.run_some(participants(&[2]), Measured::ForCaller, nested);
    pool.run_some(Participants::LEADER, Measured::ForCaller, nested);
    assert_eq!(inner.into_inner(), 6);
}

/// Otherwise no thread would ever lead again, and the gang not end.
#[test]
fn a_closure_that_panics_while_it_is_dropped_gives_the_lead_back() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    let pool = pool(2);
    let (turn, bomb) = (Turn::Led(lead(&pool)), Bomb);
    let call = move |_| {
        let _bomb = &bomb;
        0
    };
    let round = || drop(pool.run_turn(turn, SpanKind::Share, Participants::ALL, Measured::IfDue, call));
    let payload = catch_unwind(AssertUnwindSafe(round)).expect_err("it panics");
    assert_eq!(payload.downcast_ref(), Some(&"dropped"));
    // Other tests lead now and then.
    let is_free = |_| {
        thread::sleep(Duration::from_millis(1));
        pool.gang.board.try_lead().is_some()
    };
    assert!((0..10_000).any(is_free));
}

#[test]
fn workers_that_share_a_bit_are_called_together() {
    let pool = pool(66);
    let workers = pool.workers();
    for (others, expected) in [(&[5][..], vec![0, 5]), (&[64], (0..1).chain(63..workers).collect())] {
        for _ in 0..20 {
            let called = Mutex::new(Vec::new());
            pool.run_some(participants(others), Measured::ForCaller, |worker| {
                called.lock().unwrap().push(worker.index())
            });
            let mut called = called.into_inner().unwrap();
            called.sort_unstable();
            assert_eq!(called, expected);
        }
    }
}
