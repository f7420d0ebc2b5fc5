//! A worker's queue: where it lays out jobs for others, where others ask it for more, and where it
//! sleeps.

use std::sync::atomic::AtomicU32;

use crossbeam_utils::CachePadded;

use super::{super::parker::Parker, job::JobRef};
use crate::sync::{
    AtomicU64, AtomicUsize, Mutex, Ordering, OwnU64,
    deque::{Steal, Stealer, Worker as Deque},
};

/// Every join is to be published: no address is below it.
pub(super) const OPEN: usize = 0;

/// What a worker shares with those who take from it. Lives as long as the pool.
pub(crate) struct JobQueue {
    /// Joins whose frames do not lie below this address are to be published; see
    /// [`Scope`](super::Scope). Written by the worker when it publishes and retracts, and by
    /// others, who set it to [`OPEN`] to ask for jobs. When both write at once a request may be
    /// lost: the next look repeats it.
    pub(super) limit: CachePadded<AtomicUsize>,
    /// What others note who take from here.
    taken_from: CachePadded<TakenFrom>,
    /// How many jobs (and ranges of sweeps) this worker has taken from others, and how many joins
    /// it has published. Only the worker itself counts.
    taken: OwnU64,
    published: OwnU64,
    /// The worker's end of the deque; held for as long as it sits here.
    pub(super) deque: Mutex<Deque<JobRef>>,
    stealer: Stealer<JobRef>,
    /// Where the worker sleeps until a job of its own is done.
    pub(super) latch: Parker,
    /// Where the worker sleeps when it has no job.
    pub(super) bench: Parker,
}

/// How often others have taken from a queue. Relaxed: when two take at once, one job more may be
/// taken than was to be.
struct TakenFrom {
    /// When that was last, in nanoseconds of the pool's clock; 0 if it was not since the worker sat
    /// down.
    last: AtomicU64,
    /// How many more jobs may be taken before the next beat. No protocol rests on it, so models do
    /// not look at all that it may be.
    left: AtomicU32,
}

/// How often jobs may be taken.
#[derive(Clone, Copy)]
pub(super) struct Beat {
    /// From one beat of a queue to the next, in nanoseconds.
    pub(super) interval: u64,
    /// How many jobs may be taken from a queue in each beat.
    pub(super) jobs: u32,
}

impl Beat {
    /// For this many workers. A job that is taken may be divided at once, as often as is left then
    /// to the queue that it came from: so one beat divides a recursion among all of them.
    pub(super) fn new(interval: u64, workers: usize) -> Self {
        Self { interval, jobs: workers.next_power_of_two().ilog2().max(1) }
    }
}

impl JobQueue {
    pub(crate) fn new() -> Self {
        let deque = Deque::new_lifo();
        Self {
            limit: CachePadded::new(AtomicUsize::new(OPEN)),
            taken_from: CachePadded::new(TakenFrom { last: AtomicU64::new(0), left: AtomicU32::new(0) }),
            taken: OwnU64::default(),
            published: OwnU64::default(),
            stealer: deque.stealer(),
            deque: Mutex::new(deque),
            latch: Parker::default(),
            bench: Parker::default(),
        }
    }

    /// A worker sits down: its first joins are to be published, and its first job may be taken at
    /// once. A session costs more than giving one job away, and a short one would be over before
    /// the next beat.
    pub(super) fn open(&self) {
        self.limit.store(OPEN, Ordering::Relaxed);
        self.taken_from.last.store(0, Ordering::Relaxed);
        self.taken_from.left.store(0, Ordering::Relaxed);
    }

    /// The oldest job on the queue `now`, if there is one and no more were taken than may be in a
    /// beat; and how many may be taken at once from who runs it. If there is none the worker is
    /// asked to publish more.
    pub(super) fn take(&self, now: u64, beat: Beat) -> Option<(JobRef, u32)> {
        let TakenFrom { last, left } = &*self.taken_from;
        let (before, jobs) = (last.load(Ordering::Relaxed), left.load(Ordering::Relaxed));
        if jobs == 0 && before > 0 && now.saturating_sub(before) < beat.interval {
            return None;
        }
        let Some(job) = self.steal() else {
            self.ask();
            return None;
        };
        let jobs = if jobs > 0 { jobs } else { beat.jobs } - 1;
        last.store(now, Ordering::Relaxed);
        left.store(jobs, Ordering::Relaxed);
        Some((job, jobs))
    }

    /// Lets others take `jobs` jobs from here at once.
    pub(super) fn allow(&self, jobs: u32) {
        self.taken_from.left.store(jobs, Ordering::Relaxed);
    }

    /// Asks the worker to publish its next join.
    fn ask(&self) {
        // Looking first keeps the line with its worker while there is nothing to ask for.
        if self.limit.load(Ordering::Relaxed) != OPEN {
            self.limit.store(OPEN, Ordering::Relaxed);
        }
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
