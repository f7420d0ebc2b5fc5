//! What each worker of a pool has done so far, for those who read it.

use std::time::Duration;

use super::AffinityPool;

/// What one worker did since its pool was made, as
/// [`AffinityPool::worker_stats`](crate::AffinityPool::worker_stats) tells.
///
/// ```
/// use bevy_affinity::{WorkerStats, prelude::*};
///
/// let pool = AffinityPool::new(&AffinitySettings::default());
/// pool.run(|_| ());
/// let stats: Vec<WorkerStats> = pool.worker_stats().collect();
/// // Also those that the leader ran for workers that were late.
/// let indices: u64 = stats.iter().map(|worker| worker.rounds).sum();
/// assert_eq!(indices, pool.workers() as u64);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerStats {
    /// Time inside the closures of rounds. Of rounds of [`run`](crate::AffinityPool::run), and of
    /// sweeps, that take less than 16 us only a sample is measured, one in 32 at least, and
    /// stands for the others. Without the time that a worker in
    /// [`heartbeat`](crate::AffinityPool::heartbeat) has no job.
    pub busy: Duration,
    /// The rest of the time in rounds that called it: starting late, without a job, or waiting for
    /// the others at the barrier.
    pub wait: Duration,
    /// Indices run, its own and others'.
    pub rounds: u64,
    /// Indices run for workers that did not start in time or were left out; and, where another
    /// thread led the gang meanwhile, for all others.
    pub taken_over: u64,
    /// Rounds that it was left out of because its core was busy with another process.
    pub rounds_left_out: u64,
    /// Second halves of joins, and far halves of sweeps by fork/join, that it took from others: how
    /// often work changed hands.
    pub jobs_taken: u64,
    /// Joins that it published: those whose second halves others could have taken.
    pub joins_published: u64,
}

/// The former name.
#[deprecated(note = "renamed to `WorkerStats`, which has more fields")]
pub type WorkerTimes = WorkerStats;

impl AffinityPool {
    /// What each worker did in this pool's rounds so far, by worker index.
    ///
    /// ```
    /// use bevy_affinity::prelude::*;
    ///
    /// let two = AffinitySettings { workers: WorkerCount::Exactly(2), ..Default::default() };
    /// let pool = AffinityPool::new(&two);
    /// pool.run(|_| std::thread::sleep(std::time::Duration::from_millis(1)));
    /// for worker in pool.worker_stats() {
    ///     println!("{} closures, {:?} inside them", worker.rounds, worker.busy);
    /// }
    /// ```
    pub fn worker_stats(&self) -> impl ExactSizeIterator<Item = WorkerStats> + '_ {
        self.queues.iter().enumerate().map(|(worker, queue)| WorkerStats {
            jobs_taken: queue.jobs_taken(),
            joins_published: queue.joins_published(),
            ..self.counters.read(worker)
        })
    }

    /// For how long leaders were in this pool's rounds in tagged systems, busy and waiting: what of
    /// the time of these systems [`worker_stats`](Self::worker_stats) has, too.
    pub(crate) fn rounds_in_systems(&self) -> Duration {
        self.counters.leader.in_systems()
    }

    /// The former name of [`worker_stats`](Self::worker_stats).
    #[deprecated(note = "renamed to `worker_stats`")]
    pub fn worker_times(&self) -> impl Iterator<Item = WorkerStats> + '_ {
        self.worker_stats()
    }

    /// [`WorkerStats::jobs_taken`] of each worker.
    #[deprecated(note = "a field of what `worker_stats` returns")]
    pub fn jobs_taken(&self) -> impl Iterator<Item = u64> + '_ {
        self.worker_stats().map(|worker| worker.jobs_taken)
    }

    /// [`WorkerStats::joins_published`] of each worker.
    #[deprecated(note = "a field of what `worker_stats` returns")]
    pub fn joins_published(&self) -> impl Iterator<Item = u64> + '_ {
        self.worker_stats().map(|worker| worker.joins_published)
    }

    /// [`WorkerStats::rounds_left_out`] of each worker.
    #[deprecated(note = "a field of what `worker_stats` returns")]
    pub fn rounds_left_out(&self) -> impl Iterator<Item = u64> + '_ {
        self.worker_stats().map(|worker| worker.rounds_left_out)
    }
}
