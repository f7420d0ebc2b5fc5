//! Settings and moments that nobody means: durations without end, more workers than any machine
//! has, threads that are ending.

use std::{
    cell::RefCell,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::{Count, MANY, assert_counted, child, common::Scheduling, count_up};

#[test]
fn the_longest_spin_and_heartbeat() {
    fn body() {
        for scheduling in [Scheduling::lock_step(2), Scheduling::heartbeat(2), Scheduling::auto(2)] {
            let settings = AffinitySettings { spin: Duration::MAX, heartbeat: Duration::MAX, ..scheduling.settings() };
            let mut app = scheduling.app();
            app.insert_resource(settings).add_systems(Update, count_up.affine());
            app.world_mut().spawn_batch((0..MANY).map(|_| Count(0)));
            (0..100).for_each(|_| app.update());
            assert_counted(&mut app, 100);
        }
    }
    let Some(ended) = child::run("extremes::the_longest_spin_and_heartbeat") else { return body() };
    ended.assert_passed();
}

thread_local! {
    static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
}

/// Uses a pool when its thread ends.
struct Last {
    pool: AffinityPool,
    calls: Arc<AtomicUsize>,
}

impl Drop for Last {
    fn drop(&mut self) {
        self.pool.run(|_| _ = self.calls.fetch_add(1, Ordering::Relaxed));
        let sum = self.pool.heartbeat(|scope| scope.join(|_| 1, |_| 10));
        self.calls.fetch_add(sum.0 + sum.1, Ordering::Relaxed);
    }
}

#[test]
fn rounds_in_the_destructor_of_a_thread_local() {
    fn body() {
        let settings = AffinitySettings { workers: WorkerCount::Exactly(2), ..default() };
        let (pool, calls) = (AffinityPool::new(&settings), Arc::new(AtomicUsize::new(0)));
        let workers = pool.workers();
        let last = Last { pool: pool.clone(), calls: calls.clone() };
        let ending = thread::spawn(move || {
            LAST.set(Some(last));
            // What rounds keep for this thread is made after `LAST`, so it is gone before.
            (0..10).for_each(|_| pool.run(|_| thread::sleep(Duration::from_millis(1))));
        });
        ending.join().expect("no panic");
        assert_eq!(calls.load(Ordering::Relaxed), workers + 11);
    }
    let Some(ended) = child::run("extremes::rounds_in_the_destructor_of_a_thread_local") else { return body() };
    ended.assert_passed();
}

#[test]
fn as_many_workers_as_there_are_numbers() {
    fn body() {
        let settings = AffinitySettings { workers: WorkerCount::Exactly(usize::MAX), ..default() };
        let pool = AffinityPool::new(&settings);
        assert!((1..=AffinityPool::MAX_WORKERS).contains(&pool.workers()), "{} workers", pool.workers());
        let calls = AtomicUsize::new(0);
        (0..3).for_each(|_| pool.run(|_| _ = calls.fetch_add(1, Ordering::Relaxed)));
        assert_eq!(calls.into_inner(), 3 * pool.workers());
    }
    let Some(ended) = child::run("extremes::as_many_workers_as_there_are_numbers") else { return body() };
    ended.assert_passed();
}

/// Threads that cannot be started: there is no room for their stacks.
#[cfg(target_os = "linux")]
#[test]
fn fewer_threads_than_asked_for() {
    use std::fs;

    /// Of the system's memory, in KiB: stacks of some 30 workers.
    const ROOM: &str = "ulimit -v 2500000";

    static WARNINGS: AtomicUsize = AtomicUsize::new(0);

    struct Counter;

    impl log::Log for Counter {
        fn enabled(&self, _: &log::Metadata<'_>) -> bool {
            true
        }

        fn log(&self, record: &log::Record<'_>) {
            let said = record.args().to_string();
            WARNINGS.fetch_add(usize::from(said.contains("cannot start worker")), Ordering::Relaxed);
        }

        fn flush(&self) {}
    }

    fn threads_of_the_gang() -> usize {
        let tasks = fs::read_dir("/proc/self/task").expect("Linux lists the threads").flatten();
        let names = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
        names.filter(|name| name.starts_with("affinity worker")).count()
    }

    fn body() {
        log::set_logger(&Counter).expect("the first logger");
        log::set_max_level(log::LevelFilter::Warn);
        let settings = |chunk_rows| AffinitySettings { chunk_rows, ..Scheduling::lock_step(300).settings() };
        let mut app = Scheduling::lock_step(300).app();
        app.add_systems(Update, count_up.affine());
        app.world_mut().spawn_batch((0..MANY).map(|_| Count(0)));
        let workers = app.world().resource::<AffinityPool>().workers();
        assert!((2..300).contains(&workers), "{workers} workers");
        // Another pool for each frame.
        for frame in 0..20 {
            app.insert_resource(settings(frame)).update();
            assert_eq!(app.world().resource::<AffinityPool>().workers(), workers);
        }
        assert_counted(&mut app, 20);
        // A thread that was just started has no name yet, and one that was joined is listed for a
        // moment still.
        let wait_for = |threads| {
            let began = Instant::now();
            while threads_of_the_gang() != threads {
                assert!(began.elapsed() < Duration::from_secs(60), "{} threads", threads_of_the_gang());
                thread::sleep(Duration::from_millis(1));
            }
        };
        wait_for(workers - 1);
        assert_eq!(WARNINGS.load(Ordering::Relaxed), 1);
        drop(app);
        // All that were started are joined.
        wait_for(0);
    }
    let Some(ended) = child::run_after("extremes::fewer_threads_than_asked_for", ROOM) else { return body() };
    ended.assert_passed();
}
