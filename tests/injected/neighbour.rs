//! Another process, or another thread of this one, is busy on the core that a worker is pinned to.

use std::{
    fs,
    hint::{self, black_box},
    process::{Child, Command, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

use bevy_affinity::{
    prelude::*,
    topology::{CoreId, Topology, pin_current_thread},
};

use crate::{
    alone::{PATIENCE, alone, skip},
    cores::{may_pin, on_core},
};

/// A busy process, until it is dropped or the one that started it ends.
struct Neighbour(Child);

impl Neighbour {
    fn on(core: usize) -> Self {
        let spin = "while kill -0 $PPID; do :; done";
        let start = || Command::new("sh").args(["-c", spin]).stderr(Stdio::null()).spawn().expect("Linux has a shell");
        Self(on_core(core, start))
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// Makes rounds, each of which must call every index once, until `done` says so of the threads that
/// worker 1's index was run by.
fn rounds_until(pool: &AffinityPool, what: &str, done: impl Fn(ThreadId) -> bool) {
    let began = Instant::now();
    loop {
        let (calls, runner) = (AtomicUsize::new(0), Mutex::new(None));
        pool.run(|worker| {
            calls.fetch_add(1, Ordering::Relaxed);
            if worker.index() == 1 {
                *runner.lock().expect("nobody panics") = Some(thread::current().id());
            }
            (0..100_000_u64).for_each(|step| _ = black_box(step));
        });
        assert_eq!(calls.into_inner(), pool.workers());
        let runner = runner.into_inner().expect("nobody panics").expect("index 1 was called");
        if done(runner) {
            return;
        }
        assert!(began.elapsed() < PATIENCE / 3, "{what}");
    }
}

/// What is missing where there is no [`pool_and_core`].
const NEEDS: &str = "needs two cores, and leave to pin threads to them";

/// A pool of two that avoids busy cores, whose worker has taken part, and the core it is pinned to;
/// `None` if there cannot be one.
fn pool_and_core() -> Option<(AffinityPool, CoreId)> {
    // On one core, or with a quota of one, workers take turns, and none is left out.
    if Topology::get().parallelism() < 2 || !may_pin() {
        return None;
    }
    let settings = AffinitySettings { workers: WorkerCount::Exactly(2), ..Default::default() };
    let pool = AffinityPool::new(&settings);
    let me = thread::current().id();
    rounds_until(&pool, "the worker never took part", |runner| runner != me);
    let core = Mutex::new(None);
    while core.lock().expect("nobody panics").is_none() {
        pool.run(|worker| _ = worker.core().map(|found| *core.lock().expect("nobody panics") = Some(found)));
    }
    let core = core.into_inner().expect("nobody panics").expect("it was found");
    Some((pool, core))
}

/// Each worker that looks for strangers keeps one open.
#[test]
fn a_pool_that_leaves_nobody_out_opens_no_files() {
    alone(|| {
        let open = || fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
        let settings =
            AffinitySettings { workers: WorkerCount::Exactly(8), avoid_busy_cores: false, ..Default::default() };
        let (before, pool) = (open(), AffinityPool::new(&settings));
        (0..100).for_each(|_| pool.run(|_| (0..100_000_u64).for_each(|step| _ = black_box(step))));
        assert_eq!(open(), before);
    });
}

fn left_out(pool: &AffinityPool) -> u64 {
    pool.worker_stats().map(|worker| worker.rounds_left_out).nth(1).expect("there are two workers")
}

/// A quarter of a core is not enough to take part.
#[test]
fn busy_processes_on_a_workers_core() {
    alone(|| {
        let Some((pool, core)) = pool_and_core() else { return skip(NEEDS) };
        let me = thread::current().id();
        let before = left_out(&pool);
        let neighbours = [(); 3].map(|()| Neighbour::on(core.index()));
        rounds_until(&pool, "the worker was never left out", |_| left_out(&pool) > before);
        drop(neighbours);
        rounds_until(&pool, "the worker never came back", |runner| runner != me);
    });
}

/// How long the worker is looked at, to find it in all rounds: others may come by, but not in each
/// of the tries.
const TRY: Duration = Duration::from_millis(200);

/// Whether there is a time in which the worker is left out of no round.
fn stays(pool: &AffinityPool) -> bool {
    (0..20).any(|_| {
        let (before, began) = (left_out(pool), Instant::now());
        rounds_until(pool, "no time passes", |_| began.elapsed() > TRY);
        left_out(pool) == before
    })
}

/// The worker has its half of the core: it rests between rounds, and is called.
#[test]
fn a_busy_process_on_a_workers_core() {
    alone(|| {
        let Some((pool, core)) = pool_and_core() else { return skip(NEEDS) };
        let me = thread::current().id();
        let _neighbour = Neighbour::on(core.index());
        assert!(stays(&pool), "the worker was left out again and again");
        rounds_until(&pool, "the worker never took part", |runner| runner != me);
    });
}

/// The worker has half of its core, and keeps it: what it costs is for those to judge who measure.
#[test]
fn a_busy_thread_of_this_process_on_a_workers_core() {
    alone(|| {
        let Some((pool, core)) = pool_and_core() else { return skip(NEEDS) };
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                pin_current_thread(core).expect("a core of ours");
                while !over.load(Ordering::Relaxed) {
                    hint::spin_loop();
                }
            });
            let stayed = stays(&pool);
            over.store(true, Ordering::Relaxed);
            assert!(stayed, "the worker was left out again and again");
        });
    });
}
