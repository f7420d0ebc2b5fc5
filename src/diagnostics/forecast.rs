//! [`Forecast`]: what tagged systems would take with other numbers of workers, or if one of them
//! were faster; from what was recorded.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    time::Duration,
};

use super::AffinityTimeline;
use crate::{
    record::{Span, SpanKind},
    settings::SchedulerMode,
};

/// What the tagged systems of a frame take, and would take: [`AffinityTimeline::forecast`].
///
/// It reckons with what was recorded: for how long every worker was at work in each round, how
/// unevenly, and what the round cost besides. It does not know what caches and memory make of other
/// numbers of workers: where rows are cheap and memory is the limit, more workers help less than it
/// says. Sweeps that stayed on the leader are taken to stay there where rounds were recorded beside
/// them; where none were, the longer ones are taken to become rounds. Systems that were dealt out
/// to workers, and sweeps on Bevy's threads, are taken to take as long with any number of workers.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// fn report(timeline: Res<AffinityTimeline>) {
///     let Some(forecast) = timeline.forecast() else { return };
///     let (now, then) = (forecast.tagged(), forecast.with_workers(8));
///     println!("{now:?} a frame now, {then:?} with 8 workers");
///     for system in forecast.systems() {
///         let halved = forecast.with_faster(system, 2.0);
///         println!("system {system}: {halved:?} if it were twice as fast");
///     }
/// }
/// # let mut app = App::new();
/// # app.add_plugins(AffinityParallelPlugin).add_systems(Last, report);
/// # app.world_mut().resource_mut::<AffinityTimeline>().record(true);
/// # app.update();
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    frames: u64,
    /// From frame to frame, all together.
    frame_time: u64,
    /// What tagged systems took, all together: [`FrameSpan::tagged`](crate::FrameSpan::tagged). Of
    /// those that run at a time the longest worker counts, so it may be less than the sum of the
    /// systems.
    tagged: u64,
    /// Workers of the gang: perhaps more than any round called.
    gang: usize,
    /// Whether sweeps of the leader stay its own: where rounds of others were recorded, or sweeps
    /// are on Bevy's threads.
    sweeps_stay: bool,
    /// By the system's index.
    systems: BTreeMap<usize, Recorded>,
}

/// What one system did in all frames, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
struct Recorded {
    total: u64,
    /// Sweeps on the leader that are long enough for a round: how many, and all together.
    sweeps: (u64, u64),
    /// By how many workers took part.
    rounds: BTreeMap<usize, Rounds>,
}

/// Rounds and sessions of one system in which equally many workers took part, all together; in
/// nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Rounds {
    /// From call to release, on the leader.
    elapsed: u64,
    /// Of all workers together.
    busy: u64,
    /// Of the busiest worker of each.
    longest: u64,
}

/// Shorter sweeps stay on the leader with any number of workers, in nanoseconds.
const LONG: u64 = 5_000;

/// What a round costs besides its work on most machines, in nanoseconds: for sweeps that have never
/// been rounds.
const BESIDES: u64 = 1_500;

/// One round while it is put together from its spans.
#[derive(Debug, Default)]
struct Round {
    took_part: BTreeSet<usize>,
    sum: Rounds,
}

impl AffinityTimeline {
    /// What tagged systems would take, from the last frames that follow each other, have the same
    /// mode and number of workers, and are recorded whole; `None` if there are none. Reads all
    /// spans: some milliseconds when the recording is full.
    ///
    /// ```
    /// # use bevy::prelude::*;
    /// # use bevy_affinity::prelude::*;
    /// # let mut app = App::new();
    /// # app.add_plugins(AffinityParallelPlugin);
    /// let mut timeline = app.world_mut().resource_mut::<AffinityTimeline>();
    /// assert!(timeline.forecast().is_none());
    /// timeline.record(true);
    /// (0..3).for_each(|_| app.update());
    /// let timeline = app.world().resource::<AffinityTimeline>();
    /// let forecast = timeline.forecast().expect("frames were recorded");
    /// println!("tagged systems take {:?} of {:?}", forecast.tagged(), forecast.frame_time());
    /// ```
    pub fn forecast(&self) -> Option<Forecast> {
        let oldest = self.whole_since();
        let mut newest_first = self.frames().rev().skip_while(|frame| frame.delta == 0 || frame.cut);
        let last = newest_first.next().filter(|frame| frame.begin >= oldest)?;
        let (mut first, mut count, mut tagged) = (last, 0, 0);
        for frame in newest_first {
            let is_like = (frame.mode, frame.workers) == (last.mode, last.workers);
            if !is_like || frame.number + 1 != first.number || frame.begin < oldest || frame.delta == 0 || frame.cut {
                break;
            }
            (first, count, tagged) = (frame, count + 1, tagged + frame.tagged);
        }
        // The time of a frame is known when the next one begins: the last one only ends the others.
        let (frames, frame_time, tagged, window) = match count {
            0 => (1, last.delta, last.tagged, last.begin..last.end),
            _ => (count, last.begin.saturating_sub(first.begin), tagged, first.begin..last.begin),
        };
        let spans = self.spans_in(window.clone()).filter(|span| is_within(span, &window));
        let forecast = Forecast::new(frames, frame_time, tagged, last.workers.into(), spans);
        let sweeps_stay = forecast.sweeps_stay || last.mode == SchedulerMode::Bevy;
        Some(Forecast { sweeps_stay, ..forecast })
    }
}

fn is_within(span: &Span, window: &Range<u64>) -> bool {
    span.called >= window.start && span.released <= window.end
}

impl Forecast {
    fn new<'a>(frames: u64, frame_time: u64, tagged: u64, gang: usize, spans: impl Iterator<Item = &'a Span>) -> Self {
        let mut systems = BTreeMap::<usize, Recorded>::new();
        let mut rounds = BTreeMap::<(u64, usize), Round>::new();
        let mut sweeps_stay = false;
        for span in spans {
            let is_round = matches!(span.kind, SpanKind::Share | SpanKind::Session | SpanKind::Batches);
            sweeps_stay |= is_round && span.worker.max(span.share_of) > 0;
            let Some(system) = span.system else { continue };
            match span.kind {
                SpanKind::System => systems.entry(system).or_default().total += span.end.saturating_sub(span.begin),
                SpanKind::Sweep => systems.entry(system).or_default().add_sweep(span),
                SpanKind::Share | SpanKind::Session | SpanKind::Batches => {
                    rounds.entry((span.called, system)).or_default().add(span);
                }
                // Rounds between tagged systems, not of one.
                SpanKind::Jobs => {}
            }
        }
        for ((_, system), round) in rounds {
            // A round whose system has not ended within the window does not count.
            let Some(system) = systems.get_mut(&system) else { continue };
            system.rounds.entry(round.took_part.len()).or_default().add(round.sum);
        }
        Self { frames, frame_time, tagged, gang, sweeps_stay, systems }
    }

    /// The systems that ran, as indices into
    /// [`AffinityDiagnostics::systems`](super::AffinityDiagnostics::systems).
    pub fn systems(&self) -> impl Iterator<Item = usize> {
        self.systems.keys().copied()
    }

    /// What all tagged systems of a frame took, on average.
    pub fn tagged(&self) -> Duration {
        self.per_frame(self.tagged as f64)
    }

    /// From one frame's begin to the next one's, on average; waiting for the display included.
    pub fn frame_time(&self) -> Duration {
        self.per_frame(self.frame_time as f64)
    }

    /// What all tagged systems of a frame would take with `workers` workers, the leader among them;
    /// 0 counts as 1.
    ///
    /// ```
    /// # use bevy::prelude::*;
    /// # use bevy_affinity::prelude::*;
    /// fn report(timeline: Res<AffinityTimeline>) {
    ///     let Some(forecast) = timeline.forecast() else { return };
    ///     for workers in [1, 2, 4, 8] {
    ///         println!("{workers} workers: {:?} a frame", forecast.with_workers(workers));
    ///     }
    ///     assert_eq!(forecast.with_workers(0), forecast.with_workers(1));
    /// }
    /// # let mut app = App::new();
    /// # app.add_plugins(AffinityParallelPlugin).add_systems(Last, report);
    /// # app.world_mut().resource_mut::<AffinityTimeline>().record(true);
    /// # (0..3).for_each(|_| app.update());
    /// ```
    pub fn with_workers(&self, workers: usize) -> Duration {
        let gained_by = |system: &Recorded| {
            let gained = |(&took_part, rounds): (&usize, &Rounds)| {
                rounds.elapsed as f64 - rounds.with_workers(took_part, self.gang, workers.max(1))
            };
            let by_rounds = system.rounds.iter().map(gained).sum::<f64>();
            let by_sweeps = if self.sweeps_stay { 0.0 } else { system.gained_by_sweeps(workers) };
            by_rounds + by_sweeps
        };
        self.per_frame(self.tagged as f64 - self.systems.values().map(gained_by).sum::<f64>())
    }

    /// What all tagged systems of a frame would take if this one took one part in `factor` of its
    /// time: half for 2, twice as long for 0.5. A factor that is not above 0 counts as 1.
    pub fn with_faster(&self, system: usize, factor: f64) -> Duration {
        let factor = if factor > 0.0 { factor } else { 1.0 };
        let own = self.systems.get(&system).map_or(0.0, |system| system.total as f64);
        // Of systems that run at a time, or inside of each other, some take none of the frame's
        // time.
        let sum: f64 = self.systems.values().map(|system| system.total as f64).sum();
        let own = own * (self.tagged as f64 / sum.max(1.0)).min(1.0);
        self.per_frame(self.tagged as f64 - own + own / factor)
    }

    fn per_frame(&self, nanoseconds: f64) -> Duration {
        Duration::from_nanos((nanoseconds.max(0.0) / self.frames.max(1) as f64) as u64)
    }
}

impl Recorded {
    fn add_sweep(&mut self, span: &Span) {
        let time = span.end.saturating_sub(span.begin);
        if time >= LONG {
            self.sweeps = (self.sweeps.0 + 1, self.sweeps.1 + time);
        }
    }

    /// What is gained if the sweeps become rounds of `workers` workers.
    fn gained_by_sweeps(&self, workers: usize) -> f64 {
        let (count, time) = self.sweeps;
        let shared = (time as f64 / workers.max(1) as f64) + (count * BESIDES) as f64;
        if workers > 1 { (time as f64 - shared).max(0.0) } else { 0.0 }
    }
}

impl Round {
    fn add(&mut self, span: &Span) {
        let busy = span.end.saturating_sub(span.begin).saturating_sub(span.idle);
        // A worker whose share the leader took over, since it came late or was left out, was to
        // take part.
        self.took_part.insert(span.share_of);
        self.sum.elapsed = self.sum.elapsed.max(span.released.saturating_sub(span.called));
        self.sum.busy += busy;
        self.sum.longest = self.sum.longest.max(busy);
    }
}

impl Rounds {
    fn add(&mut self, other: Self) {
        self.elapsed += other.elapsed;
        self.busy += other.busy;
        self.longest += other.longest;
    }

    /// What they would take with `workers` workers, where `took_part` of a gang of `gang` did: what
    /// they are busy with is divided as unevenly as it was, and what a round costs besides stays.
    fn with_workers(&self, took_part: usize, gang: usize, workers: usize) -> f64 {
        // Fewer than there are were called, because more would not have paid.
        let is_enough = took_part < gang && workers >= took_part;
        if is_enough {
            return self.elapsed as f64;
        }
        if workers == 1 {
            return self.busy as f64;
        }
        let besides = self.elapsed.saturating_sub(self.longest);
        let uneven = self.longest as f64 * took_part as f64;
        uneven / workers as f64 + besides as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round that was called at `called`, with the time that each worker was busy.
    fn round(called: u64, busy: &[u64], besides: u64) -> Vec<Span> {
        let released = called + busy.iter().max().unwrap() + besides;
        let share = |(worker, &busy): (usize, &u64)| Span {
            worker,
            share_of: worker,
            called,
            released,
            ..Span::of_caller(SpanKind::Share, Some(3), called..called + busy)
        };
        busy.iter().enumerate().map(share).collect()
    }

    /// Two frames with a system of 1,000 ns of serial code and a round in each.
    fn forecast(busy: &[u64], besides: u64) -> Forecast {
        let mut spans = Vec::new();
        for frame in 0..2 {
            let begin = frame * 100_000;
            let round = round(begin + 1_000, busy, besides);
            let end = round[0].released;
            spans.extend(round);
            spans.push(Span::of_caller(SpanKind::System, Some(3), begin..end));
        }
        of(2, 40_000, spans.iter())
    }

    /// Of systems that run one after another, on a gang of which all workers were seen.
    fn of<'a>(frames: u64, frame_time: u64, spans: impl Iterator<Item = &'a Span> + Clone) -> Forecast {
        let gang = spans.clone().map(|span| span.share_of + 1).max().unwrap_or(1);
        let systems = spans.clone().filter(|span| span.kind == SpanKind::System);
        Forecast::new(frames, frame_time, systems.map(|span| span.end - span.begin).sum(), gang, spans)
    }

    fn with_workers(forecast: &Forecast, workers: usize) -> u128 {
        forecast.with_workers(workers).as_nanos()
    }

    #[test]
    fn as_many_workers_as_there_are_change_nothing() {
        let forecast = forecast(&[8_000, 6_000], 500);
        assert_eq!(forecast.tagged().as_nanos(), 1_000 + 8_500);
        assert_eq!(with_workers(&forecast, 2), 9_500);
        assert_eq!(forecast.frame_time().as_nanos(), 20_000);
    }

    #[test]
    fn one_worker_does_all_without_a_round_and_more_share_what_there_is() {
        let forecast = forecast(&[8_000, 6_000], 500);
        assert_eq!(with_workers(&forecast, 1), 1_000 + 14_000);
        assert_eq!(with_workers(&forecast, 0), 15_000);
        // 16,000 with the unevenness that was seen, divided by four.
        assert_eq!(with_workers(&forecast, 4), 1_000 + 4_000 + 500);
    }

    #[test]
    fn rounds_that_called_few_workers_call_no_more() {
        let mut spans = round(0, &[2_000, 2_000], 500);
        spans.push(Span::of_caller(SpanKind::System, Some(3), 0..2_500));
        let of_four = Forecast::new(1, 20_000, 2_500, 4, spans.iter());
        assert_eq!([1, 2, 4, 8].map(|workers| with_workers(&of_four, workers)), [4_000, 2_500, 2_500, 2_500]);
        let of_two = Forecast::new(1, 20_000, 2_500, 2, spans.iter());
        assert_eq!([2, 4].map(|workers| with_workers(&of_two, workers)), [2_500, 1_500]);
    }

    #[test]
    fn sweeps_of_a_lone_leader_become_rounds_and_short_ones_do_not() {
        let sweep = |kind, times| Span::of_caller(kind, Some(3), times);
        let spans = [
            sweep(SpanKind::Sweep, 0..20_000),
            sweep(SpanKind::Sweep, 20_000..24_000),
            sweep(SpanKind::System, 0..25_000),
        ];
        let alone = of(1, 30_000, spans.iter());
        let halved = 10_000 + BESIDES as u128 + 5_000;
        assert_eq!([1, 2].map(|workers| with_workers(&alone, workers)), [25_000, halved]);
        // Systems that are dealt out beside it tell nothing of sweeps.
        let on_worker = |kind| Span { worker: 1, share_of: 1, ..Span::of_caller(kind, Some(9), 26_000..27_000) };
        let dealt_out = [SpanKind::System, SpanKind::Jobs].map(on_worker);
        let dealt_out = Forecast::new(1, 30_000, 25_000, 2, spans.iter().chain(&dealt_out));
        assert_eq!(with_workers(&dealt_out, 2), halved);
        let beside = round(30_000, &[1_000, 1_000], 100);
        let beside = of(1, 40_000, spans.iter().chain(&beside));
        // Only the round gains: 2 x 1,000 ns on four workers.
        assert_eq!(with_workers(&beside, 4), 25_000 - 500, "what was chosen to stay there stays");
    }

    #[test]
    fn a_faster_system_takes_its_part_away() {
        let forecast = forecast(&[8_000, 6_000], 500);
        assert_eq!(forecast.with_faster(3, 2.0).as_nanos(), 9_500 / 2);
        assert_eq!(forecast.with_faster(7, 2.0), forecast.tagged());
        assert_eq!(forecast.with_faster(3, f64::INFINITY), Duration::ZERO);
    }

    /// Two systems that are dealt out to two workers, or one inside of the other.
    #[test]
    fn systems_that_run_at_a_time_count_once() {
        let system = |number| Span::of_caller(SpanKind::System, Some(number), 0..6_000);
        let forecast = Forecast::new(1, 10_000, 6_000, 2, [system(1), system(2)].iter());
        assert_eq!((forecast.tagged().as_nanos(), with_workers(&forecast, 2)), (6_000, 6_000));
        assert_eq!(forecast.with_faster(1, 2.0).as_nanos(), 4_500);
    }

    /// The leader took the share of one of four over.
    #[test]
    fn a_worker_that_was_late_was_called() {
        let mut spans = round(0, &[2_000; 4], 2_000);
        spans[3].worker = 0;
        spans.push(Span::of_caller(SpanKind::System, Some(3), 0..4_000));
        let forecast = of(1, 20_000, spans.iter());
        assert_eq!(with_workers(&forecast, 8), 3_000, "half of what a share takes");
    }

    #[test]
    fn a_slower_system_takes_longer() {
        let forecast = forecast(&[8_000, 6_000], 500);
        assert_eq!(forecast.with_faster(3, 0.5).as_nanos(), 9_500 * 2);
        for factor in [1.0, 0.0, -2.0, f64::NAN] {
            assert_eq!(forecast.with_faster(3, factor), forecast.tagged());
        }
    }
}
