//! The A/B comparison: two modes in turns for some seconds, and how many times as long one takes as
//! the other.

use std::time::Duration;

use crate::settings::SchedulerMode;

/// How long a mode stays: long enough that caches and branch predictors are its own for most of it,
/// short enough that both modes see the same scene.
const SLICE: Duration = Duration::from_millis(250);
/// Slices of a comparison: 5 s. A multiple of four, because modes take turns as A B B A: so a load
/// that grows steadily favours neither.
const SLICES: usize = 20;
/// Frames at the start of a slice that are not counted: the data still lies in the caches of the
/// other mode's threads.
const SETTLING: usize = 2;
/// Counted frames that a slice has at least, however long they take.
const LEAST_FRAMES: usize = 4;
/// Frames of other modes, one after another, that end a comparison. A switch takes effect in the
/// next frame.
const MOST_STRANGE: usize = 30;

/// A comparison that is going on.
#[derive(Debug)]
pub(super) struct Comparison {
    modes: [SchedulerMode; 2],
    /// What to return to.
    before: SchedulerMode,
    /// The medians of finished slices: time of a tagged system's run, and of whole frames; in
    /// seconds. A faster mode has frames with fewer fixed steps, so frames are not compared by what
    /// all runs of one take.
    finished: Vec<[f64; 2]>,
    /// The runs of the running slice, as the mean of each frame that has any, and its frames.
    runs: Vec<f64>,
    frames: Vec<f64>,
    /// How long the running slice has been on, and how many frames.
    on: Duration,
    seen: usize,
    /// Frames of other modes, one after another: something else sets the mode too.
    strange: usize,
}

/// What to do after a frame.
#[derive(Debug, PartialEq)]
pub(super) enum Next {
    Keep,
    Switch(SchedulerMode),
    /// All slices are done; the mode to return to, and the result.
    Done(SchedulerMode, Verdict),
    /// Frames run in other modes: nothing can be compared.
    Lost,
}

/// What a comparison wants to know of a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameTimes {
    pub(super) mode: SchedulerMode,
    /// All runs of tagged systems together, and how many there were.
    pub(super) tagged: Duration,
    pub(super) calls: u64,
    /// From the begin of the frame before to its begin.
    pub(super) whole: Duration,
}

/// The result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Verdict {
    pub(super) modes: [SchedulerMode; 2],
    /// Of the time in tagged systems.
    pub(super) tagged: Spread,
    /// Of the time from frame to frame.
    pub(super) frame: Spread,
}

/// How many times as long the first of two takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) lower_quartile: f64,
    pub(super) median: f64,
    pub(super) upper_quartile: f64,
}

impl Comparison {
    /// Begins with `modes[0]`, which must be switched on by the caller.
    pub(super) fn new(modes: [SchedulerMode; 2], before: SchedulerMode) -> Self {
        let finished = Vec::with_capacity(SLICES);
        let (runs, frames) = (Vec::new(), Vec::new());
        Self { modes, before, finished, runs, frames, on: Duration::ZERO, seen: 0, strange: 0 }
    }

    pub(super) fn modes(&self) -> [SchedulerMode; 2] {
        self.modes
    }

    /// The mode that was on before.
    pub(super) fn before(&self) -> SchedulerMode {
        self.before
    }

    /// Between 0 and 1.
    pub(super) fn progress(&self) -> f32 {
        (self.finished.len() as f32 + self.on.div_duration_f32(SLICE).min(1.0)) / SLICES as f32
    }

    /// Takes the times of the frame that has just ended.
    pub(super) fn frame(&mut self, frame: FrameTimes) -> Next {
        if frame.mode != self.mode_of(self.finished.len()) {
            self.strange += 1;
            return if self.strange < MOST_STRANGE { Next::Keep } else { Next::Lost };
        }
        self.strange = 0;
        self.on += frame.whole;
        self.seen += 1;
        if self.seen > SETTLING {
            self.frames.push(frame.whole.as_secs_f64());
            // Many frames are without a fixed step, and so without a run.
            if frame.calls > 0 {
                self.runs.push(frame.tagged.as_secs_f64() / frame.calls as f64);
            }
        }
        if self.on < SLICE || self.frames.len() < LEAST_FRAMES {
            return Next::Keep;
        }
        self.finish_slice();
        match self.finished.len() {
            SLICES => Next::Done(self.before, self.verdict()),
            index if self.mode_of(index) != self.mode_of(index - 1) => Next::Switch(self.mode_of(index)),
            _ => Next::Keep,
        }
    }

    fn finish_slice(&mut self) {
        self.finished.push([&mut self.runs, &mut self.frames].map(|times| median(std::mem::take(times))));
        self.on = Duration::ZERO;
        self.seen = 0;
    }

    /// A B B A, over and over.
    fn mode_of(&self, slice: usize) -> SchedulerMode {
        self.modes[usize::from(matches!(slice % 4, 1 | 2))]
    }

    fn verdict(&self) -> Verdict {
        Verdict { modes: self.modes, tagged: self.spread_of(0), frame: self.spread_of(1) }
    }

    /// The ratios of neighbouring slices that both took any time.
    fn spread_of(&self, which: usize) -> Spread {
        let ratio = |(index, pair): (usize, &[[f64; 2]])| {
            let [first, second] = [pair[0][which], pair[1][which]];
            let took = first > 0.0 && second > 0.0;
            took.then(|| if index % 2 == 0 { first / second } else { second / first })
        };
        Spread::of(self.finished.chunks_exact(2).enumerate().filter_map(ratio).collect())
    }
}

impl Spread {
    /// False if neither mode took any time.
    pub(super) fn is_known(&self) -> bool {
        !self.median.is_nan()
    }

    fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |share| quantile(&values, share);
        Self { lower_quartile: at(0.25), median: at(0.5), upper_quartile: at(0.75) }
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { lower_quartile, median, upper_quartile } = self;
        write!(f, "{median:.2} x ({lower_quartile:.2} to {upper_quartile:.2})")
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    quantile(&values, 0.5)
}

/// Between the two neighbours of the wanted rank, in proportion. Not a number if there are no
/// values.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let rank = share * sorted.len().saturating_sub(1) as f64;
    let at = |rank: f64| sorted.get(rank as usize).copied().unwrap_or(f64::NAN);
    at(rank.floor()) + (at(rank.ceil()) - at(rank.floor())) * rank.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODES: [SchedulerMode; 2] = [SchedulerMode::Serial, SchedulerMode::LockStep];

    /// Runs a whole comparison; `tagged` gives the milliseconds of frame `index` in a mode.
    fn compare(tagged: impl Fn(SchedulerMode, usize) -> f64) -> (Vec<SchedulerMode>, Verdict) {
        compare_runs(|mode, index| (tagged(mode, index), 1))
    }

    /// The same, with the number of runs that take so long together.
    fn compare_runs(tagged: impl Fn(SchedulerMode, usize) -> (f64, u64)) -> (Vec<SchedulerMode>, Verdict) {
        let mut comparison = Comparison::new(MODES, SchedulerMode::Bevy);
        let mut modes = vec![MODES[0]];
        for index in 0..100_000 {
            let mode = modes[modes.len() - 1];
            let (milliseconds, calls) = tagged(mode, index);
            let tagged = Duration::from_secs_f64(milliseconds / 1e3);
            match comparison.frame(FrameTimes { mode, tagged, calls, whole: Duration::from_millis(10) }) {
                Next::Keep => {}
                Next::Switch(mode) => modes.push(mode),
                Next::Done(before, verdict) => {
                    assert_eq!(before, SchedulerMode::Bevy);
                    return (modes, verdict);
                }
                Next::Lost => panic!("all frames are of their mode"),
            }
        }
        panic!("the comparison never ends")
    }

    #[test]
    fn the_ratio_is_that_of_the_modes() {
        let (_, verdict) = compare(|mode, _| if mode == SchedulerMode::Serial { 3.0 } else { 2.0 });
        assert!((verdict.tagged.median - 1.5).abs() < 1e-9);
        assert_eq!(verdict.frame.to_string(), "1.00 x (1.00 to 1.00)");
    }

    /// A step takes 3 ms or 1.5; the slower mode has two in a frame, the other one or two.
    #[test]
    fn frames_with_more_fixed_steps_are_no_slower_mode() {
        let (_, verdict) = compare_runs(|mode, index| {
            let (step, steps) = if mode == MODES[0] { (3.0, 2) } else { (1.5, 1 + (index as u64 % 3) / 2) };
            (step * steps as f64, steps)
        });
        assert!((verdict.tagged.median - 2.0).abs() < 1e-9, "{:?}", verdict.tagged);
    }

    /// At 144 frames a second most have no step of 64 a second.
    #[test]
    fn frames_without_a_run_are_no_runs_without_time() {
        let (_, verdict) = compare_runs(|mode, index| {
            let step = if mode == MODES[0] { 3.0 } else { 1.5 };
            if index % 9 < 4 { (step, 1) } else { (0.0, 0) }
        });
        assert!((verdict.tagged.median - 2.0).abs() < 1e-9, "{:?}", verdict.tagged);
    }

    #[test]
    fn frames_of_another_mode_do_not_count() {
        let mut comparison = Comparison::new(MODES, SchedulerMode::Bevy);
        let whole = Duration::from_millis(10);
        let mut frame = |mode| comparison.frame(FrameTimes { mode, tagged: whole, calls: 1, whole });
        for _ in 0..3 {
            assert_eq!(frame(MODES[0]), Next::Keep);
            assert!((1..MOST_STRANGE).all(|_| frame(SchedulerMode::Auto) == Next::Keep));
        }
        assert_eq!(frame(SchedulerMode::Auto), Next::Lost);
    }

    #[test]
    fn of_no_time_there_is_no_ratio() {
        let (_, verdict) = compare(|_, _| 0.0);
        assert!(!verdict.tagged.is_known() && verdict.frame.is_known());
    }

    #[test]
    fn modes_take_turns_and_share_the_time() {
        let (modes, _) = compare(|_, _| 1.0);
        assert_eq!(modes.len(), SLICES / 2 + 1);
        assert!(modes.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn a_load_that_grows_favours_neither() {
        let (_, verdict) = compare(|_, index| 1.0 + index as f64 / 100.0);
        assert!((verdict.tagged.median - 1.0).abs() < 0.03, "{:?}", verdict.tagged);
    }

    #[test]
    fn single_slow_frames_do_not_count() {
        let (_, verdict) = compare(|mode, index| {
            if index % 7 == 0 {
                50.0
            } else if mode == MODES[0] {
                4.0
            } else {
                2.0
            }
        });
        assert!((verdict.tagged.median - 2.0).abs() < 1e-9);
        assert!(verdict.tagged.lower_quartile <= verdict.tagged.median);
    }

    #[test]
    fn quartiles_lie_between_neighbours() {
        let spread = Spread::of(vec![4.0, 1.0, 3.0, 2.0]);
        assert_eq!((spread.lower_quartile, spread.median, spread.upper_quartile), (1.75, 2.5, 3.25));
        assert!(Spread::of(vec![]).median.is_nan());
    }
}
