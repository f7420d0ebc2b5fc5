//! Another process is busy on the core that a worker is pinned to.

use std::{
    hint::black_box,
    process::{Child, Command, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread::{self, ThreadId},
    time::Instant,
};

use bevy_affinity::prelude::*;

use crate::{
    alone::{PATIENCE, alone, skip},
    cores::{allowed, on_core},
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

#[test]
fn a_busy_process_on_a_workers_core() {
    alone(|| {
        let all = allowed();
        if all.len() < 2 {
            return skip("needs two cores");
        }
        let settings = AffinitySettings { workers: WorkerCount::Exactly(2), ..Default::default() };
        let pool = AffinityPool::new(&settings);
        let core = Mutex::new(None);
        let me = thread::current().id();
        rounds_until(&pool, "the worker never took part", |runner| runner != me);
        while core.lock().expect("nobody panics").is_none() {
            pool.run(|worker| _ = worker.core().map(|found| *core.lock().expect("nobody panics") = Some(found)));
        }
        let core = core.into_inner().expect("nobody panics").expect("it was found").index();
        let left_out = || pool.rounds_left_out().nth(1).expect("there are two workers");

        let before = left_out();
        let neighbour = Neighbour::on(core);
        rounds_until(&pool, "the worker was never left out", |_| left_out() > before);
        drop(neighbour);
        rounds_until(&pool, "the worker never came back", |runner| runner != me);
    });
}
