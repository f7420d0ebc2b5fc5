//! The pinned gang and its lock-step rounds. Knows nothing of queries, but for counts: of the rows
//! that each worker swept, and, while someone asks, of queries' calls, what these took and their
//! work (`led.rs`). `README.md` beside this file has the protocol.

mod batch;
mod batched;
mod broadcast;
mod call;
mod children;
mod clock;
mod counters;
mod eviction;
mod fork_join;
mod gang;
mod handed;
mod heartbeat;
mod job_board;
mod led;
mod parker;
mod per_worker;
mod pinning;
mod recording;
mod round;
mod round_job;
mod round_sampling;
mod short_calls;
mod spin;
mod stats;
mod swept_rows;
#[cfg(test)]
mod tests;
mod trace;
mod turn;
mod unwind;
mod words;

pub use batch::BatchedCalls;
pub use heartbeat::Scope;
pub use per_worker::PerWorker;
pub use stats::WorkerStats;
#[expect(deprecated, reason = "the former name")]
pub use stats::WorkerTimes;

pub(crate) use broadcast::{Finished, Measured};
pub(crate) use clock::now;
pub(crate) use gang::{in_round, running_on, warn_if_unpinned, worker_of_round};
pub(crate) use job_board::{Job, JobBoard};
pub(crate) use led::{Led, LedCalls, WatchedCall};
pub(crate) use swept_rows::SweptRows;
pub(crate) use unwind::{FirstPanic, Payload};
pub(crate) use words::Participants;

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::Arc,
    time::Duration,
};

use bevy_ecs::prelude::Resource;
use crossbeam_utils::CachePadded;
use log::warn;

use crate::{
    ablation::Mechanism,
    once::OncePerKey,
    record::{Recorder, SpanKind},
    settings::{AffinitySettings, WorkerCount},
    topology::{CoreId, Topology},
};
use counters::Counters;
use gang::{Gang, SharedSeat};
use heartbeat::JobQueue;
use pinning::PinState;
use short_calls::ShortCalls;

/// The number of a worker, 0 (the leader) to [`AffinityPool::workers`] - 1. Not a [`CoreId`]:
/// worker 0 may run on core 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct WorkerIndex(pub(crate) usize);

impl WorkerIndex {
    pub(crate) const LEADER: Self = Self(0);
}

/// Who calls the closure of [`AffinityPool::run`].
///
/// ```
/// use bevy_affinity::prelude::*;
///
/// let pool = AffinityPool::new(&AffinitySettings::default());
/// pool.run(|worker| println!("{} of {} on {:?}", worker.index(), pool.workers(), worker.core()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worker {
    index: WorkerIndex,
    core: Option<CoreId>,
}

impl Worker {
    /// The number of this worker, from 0 (the leader) to [`AffinityPool::workers`] - 1.
    pub fn index(&self) -> usize {
        self.index.0
    }

    /// The core that the calling thread is pinned to. `None` on the leader, on unpinned workers,
    /// and where the index of another worker is run: of a late one, or in a round inside a round.
    pub fn core(&self) -> Option<CoreId> {
        self.core
    }
}

/// A gang of threads, pinned to their cores, that run a closure in lock step. Cheap to clone; works
/// with and without an app.
///
/// All pools of a process share one set of threads: a pool of four workers uses the first three
/// threads and its caller. Threads are joined when the last pool is dropped.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use bevy_affinity::prelude::*;
///
/// let pool = AffinityPool::new(&AffinitySettings::default());
/// let calls = AtomicUsize::new(0);
/// pool.run(|worker| {
///     assert!(worker.index() < pool.workers());
///     calls.fetch_add(1, Ordering::Relaxed);
/// });
/// assert_eq!(calls.into_inner(), pool.workers());
/// ```
#[derive(Resource, Clone)]
pub struct AffinityPool {
    gang: Arc<Gang>,
    seats: Arc<[SharedSeat]>,
    counters: Arc<Counters>,
    queues: Arc<[CachePadded<JobQueue>]>,
    /// By worker.
    pub(crate) swept: Arc<[CachePadded<SweptRows>]>,
    /// Whether workers whose core is taken are left out.
    watchful: bool,
    recorder: Arc<Recorder>,
    short_calls: Arc<ShortCalls>,
    heartbeat: Duration,
    spin: Duration,
    pin_state: PinState,
    /// Of the cores that the pool was made for.
    topology: Arc<Topology>,
}

/// How long workers stay hot that share cores with each other: any longer keeps one of them from
/// its work.
const CROWDED_SPIN: Duration = Duration::from_micros(1);

impl AffinityPool {
    /// The most workers of a pool, whatever the settings say: more cores than that no system call
    /// for pinning knows of, and each worker beyond the cores is a thread for nothing.
    pub const MAX_WORKERS: usize = 1024;

    /// A pool as `settings` says. Starts the threads that are missing; if that fails there are
    /// fewer [workers](Self::workers), and one warning. A pool that is made some seconds later
    /// tries again; an app makes one where its settings or its cores have changed.
    ///
    /// ```
    /// # use bevy_affinity::prelude::*;
    /// let settings = AffinitySettings { workers: WorkerCount::Exactly(2), ..Default::default() };
    /// let pool = AffinityPool::new(&settings);
    /// // This thread, and another one if the system starts it.
    /// assert!(pool.workers() <= 2);
    /// ```
    pub fn new(settings: &AffinitySettings) -> Self {
        Self::recorded(settings, Topology::get(), Arc::default())
    }

    /// A pool for the cores of `topology` that leaves the spans of its rounds with `recorder`.
    pub(crate) fn recorded(settings: &AffinitySettings, topology: Arc<Topology>, recorder: Arc<Recorder>) -> Self {
        let cores = topology.parallelism();
        warn_of_count(settings.workers, cores);
        let gang = Gang::shared();
        let seats = gang.seats(wanted_workers(settings, cores), settings.pinning, &topology);
        let workers = seats.len() + 1;
        Self {
            gang,
            seats,
            counters: Arc::new(Counters::new(workers)),
            queues: (0..workers).map(|_| CachePadded::new(JobQueue::new())).collect(),
            swept: (0..workers).map(|_| CachePadded::default()).collect(),
            // Workers that share cores wait for each other: that is what was asked for.
            watchful: settings.avoid_busy_cores && workers <= cores && !Mechanism::Eviction.is_out(),
            recorder,
            short_calls: Arc::default(),
            heartbeat: settings.heartbeat,
            spin: if workers > cores { settings.spin.min(CROWDED_SPIN) } else { settings.spin },
            pin_state: PinState::new(settings.pinning, &topology),
            topology,
        }
    }

    /// The cores that the pool was made for.
    pub(crate) fn topology(&self) -> &Arc<Topology> {
        &self.topology
    }

    /// Whether a pool with the same `settings`, made for `topology`, would be any different.
    pub(crate) fn is_outdated(&self, settings: &AffinitySettings, topology: &Topology) -> bool {
        let (cores, had) = (topology.parallelism(), self.topology.parallelism());
        let is_crowded_on = |cores| self.workers() > cores;
        // What was wanted, not the workers: where threads could not be started, every frame would
        // try again.
        topology.version != self.topology.version
            || wanted_workers(settings, cores) != wanted_workers(settings, had)
            || is_crowded_on(cores) != is_crowded_on(had)
    }

    /// How many workers take part in a round, the leader (who calls [`run`](Self::run)) included.
    #[inline]
    pub fn workers(&self) -> usize {
        self.seats.len() + 1
    }

    /// One lock-step round: calls `f` exactly once for each worker index and returns when all calls
    /// have. The caller is worker 0. The index of a worker that does not start in time is run by
    /// the caller.
    ///
    /// Inside a round, and while another thread leads one, it calls all indices on this thread, one
    /// after another: it never waits for itself.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    ///
    /// use bevy_affinity::prelude::*;
    ///
    /// let pool = AffinityPool::new(&AffinitySettings::default());
    /// let (numbers, sum) = ((1..=1000).collect::<Vec<u64>>(), AtomicU64::new(0));
    /// let share = numbers.len().div_ceil(pool.workers());
    /// pool.run(|worker| {
    ///     let mine = numbers.chunks(share).nth(worker.index()).unwrap_or_default();
    ///     sum.fetch_add(mine.iter().sum(), Relaxed);
    /// });
    /// assert_eq!(sum.into_inner(), 500_500);
    /// ```
    ///
    /// # Panics
    /// With the payload of the first call that panicked, after all others have finished. The pool
    /// can be used on.
    ///
    /// # Aborts
    /// Payloads of other calls are dropped. If one panics in its `Drop` the process aborts with a
    /// line on stderr, as it does for any panic in a drop while unwinding. Nothing else that panics
    /// in a round gets out of it while a worker is in `f`: that aborts too.
    pub fn run(&self, f: impl Fn(Worker) + Sync) {
        warn_if_unpinned();
        drop(self.run_some(Participants::ALL, Measured::IfDue, f));
    }

    /// Counts that `worker` took work from another, in a closure that was called for it.
    pub(crate) fn count_taken(&self, worker: usize) {
        self.queues[worker].count_taken();
    }

    /// One round over the jobs of `board`: calls `run` once with each, on the worker that takes it,
    /// and `done` on each other worker that takes part when there is none left for it; not inside
    /// another round. Where no other one does this thread runs them all. Neither panics.
    pub(crate) fn run_jobs(&self, board: &mut JobBoard, run: impl Fn(usize) + Sync, done: impl Fn() + Sync) {
        warn_if_unpinned();
        board.begin();
        let jobs = &*board;
        let mut participants = Participants::LEADER;
        (1..self.workers()).filter(|&worker| jobs.has_jobs(worker)).for_each(|worker| participants.add(worker));
        let is_nested = in_round();
        // By value: the workers find all that the closure holds in one place.
        let take_part = move |worker: Worker| {
            let idle = jobs.take_part(worker.index(), &run);
            // This thread runs the index of a worker that comes too late.
            let is_worker = !is_nested && worker.index() > 0 && worker_of_round() == Some(worker.index());
            if is_worker {
                done();
            }
            idle
        };
        let round = || drop(self.dispatch(SpanKind::Jobs, participants, Measured::IfDue, take_part));
        if let Err(payload) = catch_unwind(AssertUnwindSafe(round)) {
            board.abandon();
            resume_unwind(payload);
        }
    }

    /// Whether `other` is this pool or a clone of it.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.counters, &other.counters)
    }
}

impl std::fmt::Debug for AffinityPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AffinityPool")
            .field("workers", &self.workers())
            .field("pinning", &self.pin_state.pinning)
            .field("spin", &self.spin)
            .finish_non_exhaustive()
    }
}

/// How many workers a pool has on `cores` cores, if that many threads can be started.
pub(crate) fn wanted_workers(settings: &AffinitySettings, cores: usize) -> usize {
    match settings.workers {
        _ if cfg!(target_arch = "wasm32") => 1,
        WorkerCount::Auto => settings.spare_cores.leave_of(cores).min(AffinityPool::MAX_WORKERS),
        WorkerCount::Exactly(workers) => workers.clamp(1, AffinityPool::MAX_WORKERS),
    }
}

const _: () = assert!(AffinityPool::MAX_WORKERS <= words::MAX_WORKERS);

/// Says what is odd about a number of workers, once for each number.
fn warn_of_count(count: WorkerCount, cores: usize) {
    static WARNED_OF: OncePerKey<usize> = OncePerKey::new();
    let WorkerCount::Exactly(workers) = count else { return };
    // There are no threads on wasm: one worker, as everybody knows who builds for it.
    let is_odd = !cfg!(target_arch = "wasm32") && (workers == 0 || workers > cores);
    if !is_odd || !WARNED_OF.first(workers) {
        return;
    }
    if workers == 0 {
        warn!("bevy_affinity: AffinitySettings asks for 0 workers; the leader is one: running with 1");
    } else if workers > AffinityPool::MAX_WORKERS {
        let most = AffinityPool::MAX_WORKERS;
        warn!("bevy_affinity: AffinitySettings asks for {workers} workers; a pool has no more than {most}");
    } else {
        let cores = if cores == 1 { "core".to_owned() } else { format!("{cores} cores") };
        warn!(
            "bevy_affinity: AffinitySettings asks for {workers} workers, more than the {cores} that this process may keep busy by its \
             affinity mask and CPU quota: they will take turns, and rounds wait for the last one; `WorkerCount::Auto` has no more"
        );
    }
}
