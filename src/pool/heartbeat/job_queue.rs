//! A worker's queue: where it lays out jobs for others, where others ask it for more, and where it
//! sleeps.

use crossbeam_utils::CachePadded;

use super::{
    super::{clock::now, parker::Parker},
    job::JobRef,
};
use crate::sync::{
    AtomicU64, AtomicUsize, Mutex, Ordering, OwnCounter,
    deque::{Steal, Stealer, Worker as Deque},
};

/// Every join is to be published: no address is above it.
pub(super) const OPEN: usize = usize::MAX;

/// What a worker shares with those who take from it. Lives as long as the pool.
pub(crate) struct JobQueue {
    /// Joins whose frames lie below this address are to be published; see [`Scope`](super::Scope).
    /// Written by the worker when it publishes and retracts, and by others, who set it to [`OPEN`]
    /// to ask for jobs. When both write at once a request may be lost: the next beat repeats it.
    pub(super) limit: CachePadded<AtomicUsize>,
    /// When a job was last taken from here, in nanoseconds of the pool's clock; 0 if none was since
    /// the worker sat down.
    taken_from: CachePadded<AtomicU64>,
    /// How many jobs (and ranges of sweeps) this worker has taken from others, and how many joins
    /// it has published. Only the worker itself counts.
    taken: OwnCounter,
    published: OwnCounter,
    /// The worker's end of the deque; held for as long as it sits here.
    pub(super) deque: Mutex<Deque<JobRef>>,
    stealer: Stealer<JobRef>,
    /// Where the worker sleeps until a job of its own is done.
    pub(super) latch: Parker,
    /// Where the worker sleeps when it has no job.
    pub(super) bench: Parker,
}

impl JobQueue {
    pub(crate) fn new() -> Self {
        let deque = Deque::new_lifo();
        Self {
            limit: CachePadded::new(AtomicUsize::new(OPEN)),
            taken_from: CachePadded::new(AtomicU64::new(0)),
            taken: OwnCounter::default(),
            published: OwnCounter::default(),
            stealer: deque.stealer(),
            deque: Mutex::new(deque),
            latch: Parker::new(),
            bench: Parker::new(),
        }
    }

    /// A worker sits down: its first joins are to be published, and its first job may be taken at
    /// once. A session costs more than giving one job away, and a short one would be over before
    /// the next beat.
    pub(super) fn open(&self) {
        self.limit.store(OPEN, Ordering::Relaxed);
        self.taken_from.store(0, Ordering::Relaxed);
    }

    /// The oldest job on the queue, if there is one and none was taken for `interval` nanoseconds.
    /// In both cases the worker is asked to publish more.
    pub(super) fn take(&self, interval: u64) -> Option<JobRef> {
        let now = now();
        let last = self.taken_from.load(Ordering::Relaxed);
        if last > 0 && now.saturating_sub(last) < interval {
            return None;
        }
        let job = self.steal();
        if job.is_some() {
            self.taken_from.store(now, Ordering::Relaxed);
        }
        // Looking first keeps the line with its worker while there is nothing to ask for.
        if self.limit.load(Ordering::Relaxed) != OPEN {
            self.limit.store(OPEN, Ordering::Relaxed);
        }
        job
    }

    fn steal(&self) -> Option<JobRef> {
        if self.stealer.is_empty() {
            return None;
        }
        loop {
            match self.stealer.steal() {
                Steal::Success(job) => return Some(job),
                Steal::Empty => return None,
                Steal::Retry => {}
            }
        }
    }

    pub(crate) fn count_taken(&self) {
        self.taken.add(1);
    }

    pub(super) fn count_published(&self) {
        self.published.add(1);
    }

    /// How many jobs the worker of this queue has taken from others so far.
    pub(crate) fn jobs_taken(&self) -> u64 {
        self.taken.get()
    }

    /// How many joins the worker of this queue has published so far.
    pub(crate) fn joins_published(&self) -> u64 {
        self.published.get()
    }
}
