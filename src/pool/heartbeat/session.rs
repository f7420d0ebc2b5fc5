//! One call of `heartbeat`: from the first worker's start to the last one's return.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic,
    thread,
    time::Duration,
};

use crossbeam_utils::CachePadded;

use super::{
    super::{
        clock::{nanoseconds, now},
        unwind::AbortOnUnwind,
    },
    JobQueue, Scope,
    job::JobRef,
    job_queue::Beat,
    on_the_spot,
};
use crate::sync::{AtomicBool, Ordering, handshake_fence, planted};

/// What the workers share while the leader's closure runs.
pub(crate) struct Session<'p> {
    queues: &'p [CachePadded<JobQueue>],
    /// How often jobs may be taken from one queue.
    beat: Beat,
    /// How long a worker without a job looks for one before it sleeps.
    pub(super) spin: Duration,
    /// The leader's closure has returned, and with it all joins.
    over: AtomicBool,
    /// One of the idle workers wakes up in every interval to look for jobs; the others sleep.
    ticking: AtomicBool,
    /// A first half in which no join was published was still at it when another worker had taken
    /// the second one: perhaps it waited for that. No protocol rests on it, so models do not look
    /// at it.
    halves_met: atomic::AtomicBool,
}

/// The role of the one idle worker that wakes up by itself. Passed on to another idle worker when
/// it is dropped.
pub(super) struct Ticker<'s>(&'s Session<'s>);

impl<'p> Session<'p> {
    pub(crate) fn new(queues: &'p [CachePadded<JobQueue>], interval: Duration, spin: Duration) -> Self {
        let beat = Beat::new(nanoseconds(interval), queues.len());
        Self {
            queues,
            beat,
            spin,
            over: AtomicBool::new(false),
            ticking: AtomicBool::new(false),
            halves_met: atomic::AtomicBool::new(false),
        }
    }

    /// Runs the root on worker 0, and ends the session: in any case, or the others would help for
    /// ever. Returns also for how many nanoseconds this worker had nothing to do.
    ///
    /// # Errors
    /// The payload of the root's panic.
    pub(crate) fn lead<R>(&self, root: impl FnOnce(&mut Scope) -> R) -> (thread::Result<R>, u64) {
        let guard = AbortOnUnwind::because("a panic would leave a session that workers are still in");
        let mut scope = Scope::seated(self, 0);
        let result = catch_unwind(AssertUnwindSafe(|| match &mut scope {
            Some(scope) => root(scope),
            None => on_the_spot(root),
        }));
        self.end();
        guard.defuse();
        (result, scope.map_or(0, |scope| scope.idle))
    }

    fn end(&self) {
        self.over.store(true, Ordering::Release);
        // The sleep handshake of `Parker`: the end is the condition.
        handshake_fence("session_end_fence");
        self.queues.iter().for_each(|queue| _ = queue.bench.unpark_after_fence());
    }

    /// Runs what others give away, on worker `index`, until the session is over. Returns for how
    /// many nanoseconds it had nothing to do.
    pub(crate) fn follow(&self, index: usize) -> u64 {
        // A worker that comes too late, or whose index the leader runs at the end, leaves the queue
        // alone.
        let scope = if self.is_over() { None } else { Scope::seated(self, index) };
        scope.map_or(0, |mut scope| {
            scope.help();
            scope.idle
        })
    }

    pub(super) fn queue(&self, index: usize) -> &JobQueue {
        &self.queues[index]
    }

    pub(super) fn note_halves_met(&self) {
        self.halves_met.store(true, Ordering::Relaxed);
    }

    /// Whether halves of a join may have waited for each other. For when the session is over.
    pub(crate) fn have_halves_met(&self) -> bool {
        self.halves_met.load(Ordering::Relaxed)
    }

    pub(super) fn interval(&self) -> Duration {
        Duration::from_nanos(self.beat.interval)
    }

    /// Relaxed would do for the decision; acquire because the round's end is not far and what
    /// follows reads the leader's results.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// A job for worker `index` from the queue of worker `from`.
    pub(super) fn take_from(&self, from: usize, index: usize) -> Option<JobRef> {
        self.take(self.queue(from), now(), index)
    }

    /// A job for worker `index` from any other queue, beginning at the next one.
    pub(super) fn take_from_any(&self, index: usize) -> Option<JobRef> {
        let (before, after) = self.queues.split_at(index);
        let (others, now) = (after.iter().skip(1).chain(before), now());
        others.into_iter().find_map(|queue| self.take(queue, now, index))
    }

    fn take(&self, queue: &JobQueue, now: u64, index: usize) -> Option<JobRef> {
        let (job, jobs) = queue.take(now, self.beat)?;
        self.queue(index).allow(jobs);
        Some(job)
    }

    /// The ticker's role, if it is free.
    pub(super) fn try_tick(&'p self) -> Option<Ticker<'p>> {
        // Relaxed: a role and nothing else; the sleepers' handshake has its own fences.
        let free = self.ticking.compare_exchange(false, true, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        free.then(|| Ticker(self))
    }
}

impl Drop for Ticker<'_> {
    fn drop(&mut self) {
        self.0.ticking.store(false, Ordering::Relaxed);
        // The sleep handshake of `Parker`: the free role is the condition.
        handshake_fence("ticker_fence");
        if let Some(queue) = self.0.queues.iter().find(|queue| queue.bench.is_asleep())
            && !planted("ticker_wakes_nobody")
        {
            queue.bench.unpark_after_fence();
        }
    }
}
