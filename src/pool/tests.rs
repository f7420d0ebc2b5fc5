mod participants;

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
