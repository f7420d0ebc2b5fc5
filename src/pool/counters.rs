//! What workers did in their rounds: counters that workers themselves never write (rows and jobs
//! they do count: `swept_rows.rs`, `heartbeat/job_queue.rs`), pulled by the diagnostics.

use std::{
    ops::Range,
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
    time::Duration,
};

use crossbeam_utils::CachePadded;

use super::{led::WatchedCalls, recording::Marks, round_sampling::RoundSampling, stats::WorkerStats, words::CallTimes};
use crate::{record::running_number, sync::OwnU64};

/// The counters of all workers of a pool.
pub(super) struct Counters {
    pub(super) leader: CachePadded<LeaderCounters>,
    others: Box<[CachePadded<WorkerCounters>]>,
}

impl Counters {
    pub(super) fn new(workers: usize) -> Self {
        let others = (1..workers).map(|_| CachePadded::default()).collect();
        Self { leader: CachePadded::default(), others }
    }

    #[inline]
    pub(super) fn of(&self, worker: usize) -> &WorkerCounters {
        worker.checked_sub(1).map_or(&self.leader.own, |other| &self.others[other])
    }

    /// What `worker` did so far in rounds.
    pub(super) fn read(&self, worker: usize) -> WorkerStats {
        let counted = self.of(worker).read();
        let counted = WorkerStats { rounds: counted.rounds + self.leader.of_all.get(), ..counted };
        if worker == 0 { self.leader.here.added_to(counted) } else { counted }
    }
}

/// Counters of one worker.
///
/// # Invariant (one writer)
/// All but what is `recorded` are written by the thread that holds the lead, so plain loads and
/// stores do, and readers see each value whole.
#[derive(Default)]
pub(super) struct WorkerCounters {
    busy: OwnU64,
    wait: OwnU64,
    rounds: OwnU64,
    taken: OwnU64,
    /// Rounds that the worker was left out of.
    left_out: OwnU64,
    /// What the worker had done when its last span was recorded.
    pub(super) recorded: Marks,
}

/// Counters of worker 0, and what it notes of its rounds.
///
/// # Invariant (one writer of the leader's)
/// All but `here`, `watched_calls` and `recorded_in` are written by the thread that holds the lead.
#[derive(Default)]
pub(super) struct LeaderCounters {
    own: WorkerCounters,
    /// Rounds in which each worker ran its own index. One count for all: a line for each worker
    /// takes longer than an empty round.
    of_all: OwnU64,
    /// When the last call for its own index began; how long the last one that did not panic kept
    /// it busy, and for how long it had nothing to do in it; and when its last call ended.
    began: OwnU64,
    last_busy: OwnU64,
    last_idle: OwnU64,
    ended: OwnU64,
    /// Nanoseconds of rounds that were led in tagged systems: busy and waiting.
    in_systems: OwnU64,
    /// Which rounds are measured.
    pub(super) sampling: RoundSampling,
    /// The parallel calls of queries.
    pub(super) watched_calls: WatchedCalls,
    /// What threads did by themselves.
    pub(super) here: Here,
    /// The recording that the last spans were of.
    pub(super) recorded_in: AtomicU32,
}

/// Rounds that a thread ran by itself, while another one led or because no other worker was called.
/// There may be several such threads at a time: only read-modify-writes count here.
#[derive(Default)]
pub(super) struct Here {
    busy: AtomicU64,
    wait: AtomicU64,
    rounds: AtomicU64,
    taken: AtomicU64,
    /// Nanoseconds of those in tagged systems: busy and idle.
    in_systems: AtomicU64,
}

impl Here {
    /// Counts an index that is run; `own` is false when it is another worker's.
    pub(super) fn count_index(&self, own: bool) {
        self.rounds.fetch_add(1, Ordering::Relaxed);
        if !own {
            self.taken.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Records how long a call was busy, and idle.
    pub(super) fn record(&self, call: CallTimes) {
        self.busy.fetch_add(call.busy(), Ordering::Relaxed);
        if call.idle > 0 {
            self.wait.fetch_add(call.idle, Ordering::Relaxed);
        }
        if running_number().is_some() {
            self.in_systems.fetch_add(call.busy() + call.idle, Ordering::Relaxed);
        }
    }

    fn added_to(&self, led: WorkerStats) -> WorkerStats {
        let Self { busy, wait, rounds, taken, .. } = self;
        let [busy, wait, rounds, taken] = [busy, wait, rounds, taken].map(|count| count.load(Ordering::Relaxed));
        WorkerStats {
            busy: led.busy + Duration::from_nanos(busy),
            wait: led.wait + Duration::from_nanos(wait),
            rounds: led.rounds + rounds,
            taken_over: led.taken_over + taken,
            ..led
        }
    }
}

fn weighed(nanoseconds: u64, weight: f64) -> u64 {
    if weight == 1.0 { nanoseconds } else { (nanoseconds as f64 * weight) as u64 }
}

impl WorkerCounters {
    /// Records the call that a worker made in the round `round`, which stands for `weight` times as
    /// much.
    #[inline]
    pub(super) fn record(&self, call: CallTimes, round: Range<u64>, weight: f64) {
        let wait = call.began.saturating_sub(round.start) + call.idle + (round.end - call.ended);
        self.busy.add(weighed(call.busy(), weight));
        self.wait.add(weighed(wait, weight));
    }

    /// Counts an index that was run, also by a call that panicked; `own` is false when it was
    /// another worker's.
    #[inline]
    pub(super) fn count_index(&self, own: bool) {
        self.rounds.add(1);
        if !own {
            self.taken.add(1);
        }
    }

    /// Counts a round that the worker was left out of.
    #[cold]
    pub(super) fn count_left_out(&self) {
        self.left_out.add(1);
    }

    /// All that is counted here.
    fn read(&self) -> WorkerStats {
        WorkerStats {
            busy: Duration::from_nanos(self.busy.get()),
            wait: Duration::from_nanos(self.wait.get()),
            rounds: self.rounds.get(),
            taken_over: self.taken.get(),
            rounds_left_out: self.left_out.get(),
            ..WorkerStats::default()
        }
    }
}

impl LeaderCounters {
    /// Notes when a call for the leader's own index begins. Before the call, which may panic: the
    /// spans of indices that the leader takes over then say this too.
    pub(super) fn begin(&self, now: u64) {
        self.began.set(now);
    }

    /// Records how long a call of the leader took; `own` is false when it was another worker's
    /// index.
    #[inline]
    pub(super) fn record(&self, call: CallTimes, own: bool) {
        let (busy, idle) = (call.busy(), call.idle);
        self.own.busy.add(busy);
        if own {
            self.last_busy.set(busy);
            self.last_idle.set(idle);
        }
        if idle > 0 {
            self.own.wait.add(idle);
        }
        self.ended.set(call.ended);
    }

    /// Counts a round in which each worker ran its own index.
    #[inline]
    pub(super) fn count_round_of_all(&self) {
        self.of_all.add(1);
    }

    /// Adds what the leader waited until the round, in which others were called, was over; and what
    /// it did in the others that the round stands for.
    pub(super) fn record_wait(&self, round_ended: u64, weight: f64) {
        let wait = round_ended.saturating_sub(self.ended.get());
        self.own.wait.add(weighed(wait, weight) + weighed(self.last_idle.get(), weight - 1.0));
        self.own.busy.add(weighed(self.last_busy(), weight - 1.0));
        if running_number().is_some() {
            self.in_systems.add(weighed(round_ended.saturating_sub(self.began.get()), weight));
        }
    }

    /// For how long leaders were in rounds in tagged systems.
    pub(super) fn in_systems(&self) -> Duration {
        Duration::from_nanos(self.in_systems.get() + self.here.in_systems.load(Ordering::Relaxed))
    }

    /// Indices that leaders ran in rounds that called others.
    pub(super) fn indices_led(&self) -> u64 {
        self.own.rounds.get() + self.of_all.get()
    }

    /// From the leader's first call in the last round to its last.
    pub(super) fn last_calls(&self) -> Range<u64> {
        self.began.get()..self.ended.get()
    }

    /// The leader's last call for its own index.
    pub(super) fn last_own_call(&self) -> CallTimes {
        let [began, busy, idle] = [&self.began, &self.last_busy, &self.last_idle].map(OwnU64::get);
        CallTimes { began, ended: began + busy + idle, idle }
    }

    /// How long the last call for its own index kept it busy, in nanoseconds.
    #[inline]
    pub(super) fn last_busy(&self) -> u64 {
        self.last_busy.get()
    }
}
