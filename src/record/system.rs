//! The tagged systems of a world: how often they ran and how long they took.

use std::{
    ops::Range,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use bevy_utils::prelude::DebugName;
use crossbeam_utils::CachePadded;

use super::{
    WeakList,
    sampling::{Countdown, distance},
};
use crate::{
    settings::SchedulerMode,
    sync::{OwnU32, OwnU64, lock},
};

/// The name, unless Bevy was built without its `debug` feature and has the same placeholder for all
/// names.
pub(crate) fn known_name(name: &DebugName) -> Option<String> {
    let name = name.to_string();
    (name != DebugName::type_name::<()>().to_string()).then_some(name)
}

/// How often a tagged system ran and how long it took. Written by the thread that runs the system,
/// read by the diagnostics.
///
/// In this order: what a run touches lies on one cache line, but for its place in `recent`, for a
/// schedule of many small systems finds none of it in the first-level cache.
#[repr(C, align(64))]
pub(crate) struct SystemTiming {
    /// No other system of the process has or had it.
    number: usize,
    untimed_left: Countdown,
    /// What a call took on average of late, in nanoseconds: an untimed one is taken to be as long.
    mean: OwnU32,
    calls: OwnU64,
    total: OwnU64,
    /// Of the calls, those that were timed.
    timed: OwnU64,
    /// From the last one that was timed to the next.
    distance: OwnU32,
    /// Calls that are still to be timed because one of the last was not short.
    all_timed_left: OwnU32,
    longest: OwnU64,
    /// Whether the [`SystemTimings`] of its world know of it.
    listed: AtomicBool,
    pub(crate) name: Arc<str>,
    /// The last durations, in nanoseconds, in a ring.
    recent: [OwnU64; RECENT_CALLS],
}

const _: () = assert!(std::mem::offset_of!(SystemTiming, listed) < 64, "what a run touches is on one cache line");

/// Of systems that take less, in nanoseconds, samples are timed: two readings of the clock take
/// 60 ns, as long as a tag costs a system. After a run that takes as long all are for
/// [`RECENT_CALLS`] runs: what works now and then is timed when it does.
const SHORT: u64 = 4_000;

/// The mean that untimed calls are taken to have is that of about this many calls.
const MEAN_OF: f32 = 128.0;

/// About two seconds of a system that runs once a frame and is timed each time: enough for a 95th
/// percentile.
const RECENT_CALLS: usize = 128;

/// What the last calls of a system say.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Recent {
    pub(crate) mean: Duration,
    /// The duration that 95 of 100 calls did not exceed.
    pub(crate) p95: Duration,
}

impl SystemTiming {
    pub(crate) fn new(name: String) -> Self {
        static NUMBERS: AtomicUsize = AtomicUsize::new(0);
        Self {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            untimed_left: Countdown::default(),
            mean: OwnU32::default(),
            calls: OwnU64::default(),
            total: OwnU64::default(),
            timed: OwnU64::default(),
            distance: OwnU32::new(1),
            all_timed_left: OwnU32::default(),
            longest: OwnU64::default(),
            listed: AtomicBool::new(false),
            name: name.into(),
            recent: [(); RECENT_CALLS].map(|()| OwnU64::default()),
        }
    }

    /// Whether the next call is to be timed.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.untimed_left.is_over()
    }

    /// Notes a call that was timed; returns how long it was.
    #[inline]
    pub(crate) fn record(&self, nanoseconds: u64) -> u64 {
        let timed = self.timed.get();
        self.recent[timed as usize % RECENT_CALLS].set(nanoseconds);
        self.timed.set(timed + 1);
        if nanoseconds > self.longest.get() {
            self.longest.set(nanoseconds);
        }
        let distance_before = self.distance.get();
        // While every run is timed, runs do not enter the mean, but for the first ones: it stands
        // for untimed runs only.
        if distance_before > 1 || timed < 2 * RECENT_CALLS as u64 {
            self.learn_mean(nanoseconds, timed, distance_before);
        }
        let all_left = match nanoseconds {
            SHORT.. => RECENT_CALLS as u32,
            _ => self.all_timed_left.get().saturating_sub(1),
        };
        self.all_timed_left.set(all_left);
        let distance = if all_left > 0 { 1 } else { distance(timed, Some(nanoseconds as f32)) };
        self.distance.set(distance);
        self.untimed_left.start(distance - 1);
        self.count(nanoseconds);
        nanoseconds
    }

    /// Learns from a call that was timed, as `timed` were before. It stands for the `calls` since
    /// then: where short ones are followed by many untimed ones and long ones by none, the mean
    /// would be too small otherwise.
    #[inline]
    fn learn_mean(&self, nanoseconds: u64, timed: u64, calls: u32) {
        let before = self.mean();
        let weight = (calls as f32 / MEAN_OF).max(1.0 / (timed as f32 + 1.0));
        let mean = before + (nanoseconds as f32 - before) * weight;
        self.mean.set(mean.to_bits());
    }

    fn mean(&self) -> f32 {
        f32::from_bits(self.mean.get())
    }

    /// Notes a call that was not; returns how long it is taken to have been.
    #[inline]
    pub(crate) fn record_untimed(&self) -> u64 {
        self.untimed_left.pass();
        // To the nearest: `round` is a call of its own on processors as old as Rust asks for.
        let nanoseconds = (self.mean() + 0.5) as u64;
        self.count(nanoseconds);
        nanoseconds
    }

    fn count(&self, nanoseconds: u64) {
        self.total.add(nanoseconds);
        self.calls.add(1);
    }

    pub(crate) fn number(&self) -> usize {
        self.number
    }

    pub(crate) fn calls(&self) -> u64 {
        self.calls.get()
    }

    pub(crate) fn total(&self) -> Duration {
        Duration::from_nanos(self.total.get())
    }

    pub(crate) fn longest(&self) -> Duration {
        Duration::from_nanos(self.longest.get())
    }

    /// What the last calls say. Looks at them all, which takes a third of a microsecond.
    pub(crate) fn recent(&self) -> Recent {
        let mut recent = [0; RECENT_CALLS];
        recent.iter_mut().zip(&self.recent).for_each(|(copy, nanoseconds)| *copy = nanoseconds.get());
        let known = (self.timed.get() as usize).min(RECENT_CALLS);
        if known == 0 {
            return Recent::default();
        }
        let recent = &mut recent[..known];
        let mean = recent.iter().fold(0, |sum: u64, &time| sum.saturating_add(time)) / known as u64;
        let (_, &mut p95, _) = recent.select_nth_unstable((known * 95).div_ceil(100) - 1);
        Recent { mean: Duration::from_nanos(mean), p95: Duration::from_nanos(p95) }
    }
}

/// The tagged systems of a world.
#[derive(Default)]
pub(crate) struct SystemTimings {
    /// Those that ran for the first time and that were not asked for since.
    new: Mutex<WeakList<SystemTiming>>,
    /// What ran outside of rounds.
    alone: CachePadded<Lane>,
    /// Nanoseconds that count of what ran inside of them, in frames that have ended. Written at the
    /// end of a frame.
    inside: OwnU64,
    /// What ran inside of them, by worker: these run at a time.
    by_worker: OnceLock<Box<[CachePadded<Lane>]>>,
    /// The modes that they ran in since [`take_other_modes`](Self::take_other_modes), a bit each.
    modes: AtomicU8,
}

const _: () = assert!(SchedulerMode::ALL.len() <= u8::BITS as usize, "each mode has a bit");

fn bit_of(mode: SchedulerMode) -> u8 {
    1 << mode as u8
}

/// Workers beyond that many share lanes: what they took is added up as if one had done it, and a
/// count may be lost.
const LANES: usize = 64;

/// What tagged systems did that ran one after another, of systems that are gone too. No other data
/// is published by these atomics, so they are all relaxed.
#[derive(Default)]
struct Lane {
    /// When the first of them that was timed began since [`SystemTimings::take_extent`], 0 if none
    /// was, and when the last one ended.
    began: AtomicU64,
    ended: AtomicU64,
    /// Runs so far, and nanoseconds that they took together.
    calls: OwnU64,
    total: OwnU64,
    /// The same when the last frame ended. Written then.
    total_before: OwnU64,
}

impl Lane {
    fn count(&self, nanoseconds: u64) {
        self.calls.add(1);
        self.total.add(nanoseconds);
    }

    #[inline]
    fn note(&self, run: &Range<u64>) {
        // Those that ran inside of this one ended before it.
        let began = self.began.load(Ordering::Relaxed);
        if began == 0 || run.start < began {
            self.began.store(run.start, Ordering::Relaxed);
        }
        self.ended.store(run.end, Ordering::Relaxed);
    }

    fn take_extent(&self) -> Option<Range<u64>> {
        let began = self.began.swap(0, Ordering::Relaxed);
        (began > 0).then(|| began..self.ended.load(Ordering::Relaxed))
    }
}

/// What all tagged systems did so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) calls: u64,
    /// In nanoseconds: outside of rounds, and in each frame by the worker that was longest at it
    /// inside of them. What ran at a time does not count twice.
    pub(crate) total: u64,
}

impl Totals {
    /// What was done since it was `before`; nothing if these are others.
    pub(crate) fn since(self, before: Self) -> Self {
        let Self { calls, total } = self;
        Self { calls: calls.saturating_sub(before.calls), total: total.saturating_sub(before.total) }
    }
}

impl SystemTimings {
    #[inline]
    fn lane(&self, worker: Option<usize>) -> &Lane {
        match worker {
            None => &self.alone,
            Some(worker) => {
                let lanes = || (0..LANES).map(|_| CachePadded::default()).collect();
                &self.by_worker.get_or_init(lanes)[worker % LANES]
            }
        }
    }

    fn workers_lanes(&self) -> impl Iterator<Item = &Lane> {
        self.by_worker.get().into_iter().flat_map(|lanes| lanes.iter().map(|lane| &**lane))
    }

    /// Counts a run of a system, in `mode`, which took as long as this, or is taken to have, on a
    /// worker inside a round or outside of rounds.
    #[inline]
    pub(crate) fn count(&self, worker: Option<usize>, mode: SchedulerMode, nanoseconds: u64) {
        let mode = bit_of(mode);
        if self.modes.load(Ordering::Relaxed) & mode == 0 {
            self.modes.fetch_or(mode, Ordering::Relaxed);
        }
        self.lane(worker).count(nanoseconds);
    }

    /// Whether systems ran in modes other than this one since the last call.
    pub(crate) fn take_other_modes(&self, mode: SchedulerMode) -> bool {
        self.modes.swap(0, Ordering::Relaxed) & !bit_of(mode) != 0
    }

    /// Notes when `system` ran; counts nothing.
    #[inline]
    pub(crate) fn note(&self, worker: Option<usize>, system: &Arc<SystemTiming>, run: &Range<u64>) {
        if !system.listed.load(Ordering::Relaxed) {
            system.listed.store(true, Ordering::Relaxed);
            lock(&self.new).push(system);
        }
        self.lane(worker).note(run);
    }

    /// Calls `take` with each system that has run for the first time since the last call and still
    /// exists, in the order of these runs.
    pub(crate) fn take_new(&self, mut take: impl FnMut(&Arc<SystemTiming>)) {
        let mut new = lock(&self.new);
        new.retain(|system| {
            take(system);
            false
        });
    }

    /// From the first begin to the last end of those that were timed since the last call; `None` if
    /// none was.
    pub(crate) fn take_extent(&self) -> Option<Range<u64>> {
        let lanes = std::iter::once(&*self.alone).chain(self.workers_lanes());
        let extents = lanes.filter_map(Lane::take_extent);
        extents.reduce(|one, other| one.start.min(other.start)..one.end.max(other.end))
    }

    /// To be called at a frame's end: counts what ran inside of rounds since the last call.
    pub(crate) fn end_frame(&self) {
        let in_frame = |lane: &Lane| {
            let total = lane.total.get();
            total.saturating_sub(lane.total_before.replace(total))
        };
        self.inside.add(self.workers_lanes().map(in_frame).max().unwrap_or(0));
    }

    /// How long those took that ran outside of rounds, in nanoseconds.
    pub(crate) fn alone(&self) -> u64 {
        self.alone.total.get()
    }

    /// What ran inside of rounds since the last frame's end is not in the time yet.
    pub(crate) fn totals(&self) -> Totals {
        let lanes = std::iter::once(&*self.alone).chain(self.workers_lanes());
        let total = self.alone.total.get().saturating_add(self.inside.get());
        Totals { calls: lanes.map(|lane| lane.calls.get()).sum(), total }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a system as its tag does; returns how many of the runs were timed.
    fn run(timing: &SystemTiming, times: usize, nanoseconds: u64) -> usize {
        let runs = (0..times).map(|_| match timing.is_due() {
            true => {
                timing.record(nanoseconds);
                1
            }
            false => {
                assert_eq!(timing.record_untimed(), nanoseconds, "as long as the others");
                0
            }
        });
        runs.sum()
    }

    #[test]
    fn of_short_systems_some_runs_are_timed_and_all_are_counted() {
        let timing = SystemTiming::new("short".into());
        // Eight distances are 67 calls.
        assert_eq!(run(&timing, 670, 1_500), 80);
        assert_eq!((timing.calls(), timing.total()), (670, Duration::from_nanos(670 * 1_500)));
        let took = Duration::from_nanos(1_500);
        assert_eq!((timing.longest(), timing.recent().mean), (took, took));
    }

    #[test]
    fn of_very_short_systems_fewer_runs_are_timed() {
        let timing = SystemTiming::new("very short".into());
        // Eight distances are 199 calls.
        assert_eq!(run(&timing, 1_990, 500), 80);
        assert_eq!((timing.calls(), timing.total()), (1_990, Duration::from_nanos(1_990 * 500)));
    }

    #[test]
    fn of_what_runs_at_a_time_each_frame_counts_its_longest_worker() {
        let timings = SystemTimings::default();
        let frame = |took: [u64; 3]| {
            let before = timings.totals();
            timings.count(None, SchedulerMode::Auto, took[0]);
            (0..2).for_each(|worker| timings.count(Some(worker), SchedulerMode::Auto, took[worker + 1]));
            timings.end_frame();
            timings.totals().since(before)
        };
        // Who was longest so far need not be who is longest now.
        for (took, total) in [([1, 100, 20], 101), ([1, 20, 50], 51), ([1, 0, 0], 1)] {
            let Totals { calls, total: counted } = frame(took);
            assert_eq!((calls, counted), (3, total));
        }
    }

    #[test]
    fn of_long_systems_each_run_is_timed() {
        let timing = SystemTiming::new("long".into());
        assert_eq!(run(&timing, 80, SHORT), 80);
        assert_eq!(timing.total(), Duration::from_nanos(80 * SHORT));
        // It becomes short: that is seen for a while.
        (0..RECENT_CALLS).for_each(|_| _ = timing.record(1_000));
        assert_eq!(timing.recent().p95, Duration::from_nanos(1_000));
        assert!((0..10).all(|_| !timing.is_due() && timing.record_untimed() > 0) || timing.is_due());
    }

    /// A system that works now and then, for a millisecond.
    #[test]
    fn what_works_now_and_then_is_counted_in_full() {
        for every in [2, 30, 100, 1_000] {
            let (timing, runs) = (SystemTiming::new("now and then".into()), 400_000);
            let takes = |run: u64| if run.is_multiple_of(every) { 1_000_000 } else { 300 };
            for run in 1..=runs {
                if timing.is_due() {
                    timing.record(takes(run))
                } else {
                    timing.record_untimed()
                };
            }
            let counted = timing.total().as_nanos() as f64 / (1..=runs).map(takes).sum::<u64>() as f64;
            assert!((0.8..1.2).contains(&counted), "one in {every}: {counted}");
        }
    }
}
