//! The floor: a pool that does nothing but spin, against which the cost of everything else a pool
//! must do is seen.
//!
//! It runs one job, fixed when the pool starts; it never parks, never balances, and a panic in the
//! job hangs it.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use core_affinity::CoreId;
use crossbeam_utils::CachePadded;

/// Epoch that tells the workers to leave; no benchmark counts so far.
const STOP: usize = usize::MAX;

pub struct SpinPool<'a, Job> {
    job: &'a Job,
    epoch: &'a AtomicUsize,
    done: &'a [CachePadded<AtomicUsize>],
}

impl<Job: Fn(usize) + Sync> SpinPool<'_, Job> {
    /// Keeps a gang of `workers` (the caller is worker 0) spinning while `body` runs.
    pub fn with(workers: usize, cores: &[CoreId], job: Job, body: impl FnOnce(&mut SpinPool<Job>)) {
        let epoch = CachePadded::new(AtomicUsize::new(0));
        let done: Vec<CachePadded<AtomicUsize>> = (1..workers).map(|_| CachePadded::default()).collect();
        thread::scope(|scope| {
            for (position, done) in done.iter().enumerate() {
                let (epoch, job, worker) = (&epoch, &job, position + 1);
                let core = cores.get(worker).copied();
                scope.spawn(move || {
                    if let Some(core) = core {
                        core_affinity::set_for_current(core);
                    }
                    follow(epoch, done, || job(worker));
                });
            }
            body(&mut SpinPool { job: &job, epoch: &epoch, done: &done });
            epoch.store(STOP, Ordering::Release);
        });
    }

    /// One round: the job runs once for each worker index.
    pub fn round(&mut self) {
        let epoch = self.epoch.load(Ordering::Relaxed) + 1;
        self.epoch.store(epoch, Ordering::Release);
        (self.job)(0);
        for done in self.done {
            while done.load(Ordering::Acquire) != epoch {
                spin_loop();
            }
        }
    }
}

fn follow(epoch: &AtomicUsize, done: &AtomicUsize, job: impl Fn()) {
    let mut seen = 0;
    loop {
        let next = epoch.load(Ordering::Acquire);
        if next == STOP {
            return;
        }
        if next == seen {
            spin_loop();
            continue;
        }
        job();
        seen = next;
        done.store(seen, Ordering::Release);
    }
}
