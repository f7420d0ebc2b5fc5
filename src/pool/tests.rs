use std::{
    collections::HashSet,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use super::{AffinityPool, Measured, Participants, Worker, WorkerStats, round::Lead, turn::Turn};
use crate::{
    record::{Recorder, SpanKind},
    settings::{AffinitySettings, Pinning, WorkerCount},
    topology::{Topology, pin_current_thread},
};

fn pool(workers: usize) -> AffinityPool {
    AffinityPool::new(&AffinitySettings {
        workers: WorkerCount::Exactly(workers),
        avoid_busy_cores: false,
        ..Default::default()
    })
}

/// The lead, once no other test has it.
fn lead(pool: &AffinityPool) -> Lead<'_> {
    loop {
        match pool.gang.board.try_lead() {
            Some(lead) => return lead,
            None => thread::yield_now(),
        }
    }
}

/// Every index is called once in every round; the leader sees what all wrote.
fn assert_rounds(pool: &AffinityPool, rounds: usize) {
    let calls: Vec<_> = (0..pool.workers()).map(|_| AtomicUsize::new(0)).collect();
    for round in 1..=rounds {
        pool.run(|worker| {
            calls[worker.index()].fetch_add(1, Ordering::Relaxed);
        });
        assert!(calls.iter().all(|calls| calls.load(Ordering::Relaxed) == round));
    }
}

#[test]
fn every_index_once_a_round() {
    for workers in 1..=5 {
        assert_rounds(&pool(workers), 2_000);
    }
}

#[test]
fn rounds_after_a_sleep_find_their_workers() {
    let pool = pool(3);
    for _ in 0..20 {
        thread::sleep(Duration::from_micros(500));
        assert_rounds(&pool, 3);
    }
}

/// Calls all workers of a pool back when it is dropped: the gang is that of the whole process. The
/// thread must not lead then.
struct CallBack<'a>(&'a AffinityPool);

impl Drop for CallBack<'_> {
    fn drop(&mut self) {
        let pool = self.0;
        let _leading = lead(pool);
        pool.gang.eviction.call_all_back(pool.seats.iter().map(|seat| &*seat.eviction), super::now());
        pool.prepare_round(Participants::ALL, false);
    }
}

/// A pool that does not avoid busy cores neither honours nor changes what others have found out.
/// And a worker is called from when it counts as present.
#[test]
fn whom_others_leave_out_is_called_by_who_does_not_look() {
    const MINUTE: u64 = 60_000_000_000;
    let careless = pool(2);
    // It leaves cores as they are: what other tests found out of them would move this thread.
    let pinning = Pinning::Off;
    let two = AffinitySettings { workers: WorkerCount::Exactly(2), pinning, ..Default::default() };
    let watchful = AffinityPool::new(&two);
    if !watchful.watchful {
        // On one core it has nobody to leave out.
        return;
    }
    let _undo = CallBack(&watchful);
    let worker = &careless.seats[0].eviction;
    let leading = lead(&careless);
    watchful.gang.eviction.leave_out(worker, 1, super::eviction::Evidence::Account);
    let returns = (0..10_000).any(|_| {
        thread::sleep(Duration::from_millis(1));
        watchful.present() == 2
    });
    assert!(returns, "it stays out though its time is over");
    watchful.prepare_round(Participants::ALL, false);
    assert!(!watchful.is_left_out(1), "its time is over");
    watchful.gang.eviction.leave_out(worker, super::now() + MINUTE, super::eviction::Evidence::Account);
    assert_eq!((watchful.is_left_out(1), watchful.present()), (true, 1));
    assert_eq!((careless.is_left_out(1), careless.present()), (false, 2));
    careless.prepare_round(Participants::ALL, true);
    assert!(worker.is_out());
    drop(leading);
    assert_takes_part(&careless);
    assert!(careless.worker_stats().all(|worker| worker.rounds_left_out == 0));
}

/// The core that the leader would be better off on is of no use to one that cannot go there.
#[test]
fn a_leader_that_cannot_move_leaves_no_worker_out() {
    let settings = AffinitySettings { workers: WorkerCount::Exactly(6), pinning: Pinning::Off, ..Default::default() };
    let pool = AffinityPool::new(&settings);
    let lead = lead(&pool);
    let left_out = || pool.seats.iter().map(|seat| seat.eviction.is_out()).collect::<Vec<_>>();
    let before = left_out();
    for _ in 0..10 {
        pool.leave_taken_core(super::now());
    }
    assert!(left_out().iter().zip(before).all(|(&now, before)| before || !now));
    drop(lead);
}

#[test]
fn zero_workers_count_as_one() {
    assert_eq!(pool(0).workers(), 1);
    assert_rounds(&pool(0), 3);
}

#[test]
fn threads_other_than_the_leader_take_part() {
    assert_takes_part(&pool(2));
}

/// The only worker runs its index in one of many rounds.
fn assert_takes_part(pool: &AffinityPool) {
    let threads = Mutex::new(HashSet::new());
    // Some four seconds at most: on a busy machine the worker may come too late for many rounds.
    for _ in 0..20_000 {
        pool.run(|_| {
            threads.lock().unwrap().insert(thread::current().id());
            thread::sleep(Duration::from_micros(100));
        });
        if threads.lock().unwrap().len() == 2 {
            return;
        }
    }
    panic!("the leader ran all indices");
}

#[test]
fn the_first_panic_reaches_the_caller_after_all_are_done() {
    let pool = pool(3);
    for culprit in 0..3 {
        let done = AtomicUsize::new(0);
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.run(|worker| {
                if worker.index() == culprit {
                    std::panic::resume_unwind(Box::new(culprit));
                }
                thread::sleep(Duration::from_millis(2));
                done.fetch_add(1, Ordering::Relaxed);
            });
        }));
        assert_eq!(result.unwrap_err().downcast_ref(), Some(&culprit));
        assert_eq!(done.load(Ordering::Relaxed), 2);
        assert_rounds(&pool, 10);
    }
}

#[test]
fn when_all_panic_one_payload_arrives() {
    let pool = pool(4);
    for _ in 0..50 {
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.run(|worker| std::panic::resume_unwind(Box::new(worker.index())));
        }));
        assert!(result.unwrap_err().downcast_ref::<usize>().is_some_and(|&index| index < 4));
    }
}

#[test]
fn nested_rounds_run_on_the_spot() {
    let pool = pool(3);
    let inner = AtomicUsize::new(0);
    pool.run(|_| {
        let here = thread::current().id();
        pool.run(|_| {
            assert_eq!(thread::current().id(), here);
            inner.fetch_add(1, Ordering::Relaxed);
        });
    });
    assert_eq!(inner.into_inner(), 9);
}

#[test]
fn rounds_inside_a_heartbeat_run_on_the_spot_whatever_its_pool() {
    let here = thread::current().id();
    for workers in [1, 2] {
        pool(workers).heartbeat(|_| pool(3).run(|_| assert_eq!(thread::current().id(), here)));
    }
}

#[test]
fn pools_share_the_gang_and_lead_in_turn() {
    thread::scope(|scope| {
        for workers in 1..=4 {
            scope.spawn(move || assert_rounds(&pool(workers), 500));
        }
    });
}

#[test]
fn pinned_workers_tell_cores_of_their_own() {
    let pool = pool(2);
    let cores = Mutex::new(HashSet::new());
    let told_after_a_round = || {
        pool.run(|worker| {
            if let Some(core) = worker.core() {
                cores.lock().unwrap().insert((worker.index(), core));
            }
            thread::sleep(Duration::from_micros(100));
        });
        cores.lock().unwrap().len()
    };
    (0..100).for_each(|_| _ = told_after_a_round());
    if may_pin_a_worker() {
        // On a busy machine the worker may come too late for many rounds.
        assert!((0..20_000).any(|_| told_after_a_round() > 0), "no core was told");
    }
    // One core for worker 1, none for the leader.
    assert!(cores.into_inner().unwrap().iter().all(|(index, _)| *index == 1));
}

/// Whether there is a core for worker 1, and the system lets threads be pinned to it.
fn may_pin_a_worker() -> bool {
    let core = Topology::get().cores.get(1).map(|core| core.id);
    core.is_some_and(|core| thread::spawn(move || pin_current_thread(core).is_ok()).join().unwrap())
}

#[test]
fn pinning_can_change_between_rounds() {
    for pinning in [Pinning::Off, Pinning::Core, Pinning::CacheDomain, Pinning::Core] {
        let settings = AffinitySettings { workers: WorkerCount::Exactly(3), pinning, ..Default::default() };
        assert_rounds(&AffinityPool::new(&settings), 100);
    }
}

#[test]
fn a_pool_dropped_on_a_worker_does_not_join_itself() {
    let pool = pool(2);
    let inner = Mutex::new(Some(pool.clone()));
    pool.run(|_| drop(inner.lock().unwrap().take()));
    assert_rounds(&pool, 10);
}

#[test]
fn times_add_up() {
    let pool = pool(2);
    for _ in 0..20 {
        pool.run(|worker| thread::sleep(Duration::from_millis(1 + worker.index() as u64)));
    }
    let times: Vec<_> = pool.worker_stats().collect();
    let busy: Duration = times.iter().map(|times| times.busy).sum();
    assert!(busy >= Duration::from_millis(60), "{times:?}");
    assert_eq!(times.iter().map(|times| times.rounds).sum::<u64>(), 40);
}

#[test]
fn rounds_that_panic_count_whether_or_not_they_are_measured() {
    for measured in [Measured::ForCaller, Measured::IfDue] {
        let pool = pool(3);
        for round in 0..90 {
            let panics = |worker: Worker| {
                if worker.index() == round % 3 {
                    std::panic::resume_unwind(Box::new(round));
                }
            };
            let result = catch_unwind(AssertUnwindSafe(|| drop(pool.run_some(Participants::ALL, measured, panics))));
            assert!(result.is_err());
        }
        let stats: Vec<_> = pool.worker_stats().collect();
        assert_eq!(stats.iter().map(|worker| worker.rounds).sum::<u64>(), 270, "{measured:?}: {stats:?}");
    }
}

/// What the leader took over is recorded when it is done, and the rest when the round is over, if
/// it did not panic.
#[test]
fn spans_of_a_round_that_panics_say_when_it_was_called() {
    let recorder = Arc::new(Recorder::default());
    recorder.start();
    let workers = WorkerCount::Exactly(3);
    let settings = AffinitySettings { workers, avoid_busy_cores: false, spin: Duration::ZERO, ..Default::default() };
    let pool = AffinityPool::recorded(&settings, Topology::get(), recorder.clone());
    let panics = |worker: Worker| {
        if worker.index() == 0 {
            std::panic::resume_unwind(Box::new(()));
        }
    };
    // How many spans there are of a round.
    let play = || {
        let (began, mut spans) = (super::now(), 0);
        let round = || drop(pool.run_some(Participants::ALL, Measured::ForCaller, panics));
        assert!(catch_unwind(AssertUnwindSafe(round)).is_err());
        recorder.drain(|span| {
            assert!(span.is_taken_over() && (began..=span.begin).contains(&span.called), "{began}: {span:?}");
            spans += 1;
        });
        spans
    };
    let on_the_spot = lead(&pool);
    assert_eq!(play(), 2);
    drop(on_the_spot);
    let begun = Instant::now();
    // Workers that sleep come too late for so short a round.
    while play() == 0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "the leader took nothing over");
        thread::sleep(Duration::from_millis(1));
    }
}

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
        assert!(super::in_round());
        thread::sleep(Duration::from_micros(10));
        called.fetch_add(1, Ordering::Relaxed);
    });
    assert_eq!(called.into_inner(), 1);
    assert!(!super::in_round());
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
