//! A trial: runs by another way in turns with runs by the current one.

use super::{
    cycles::Cycles,
    times::{Found, HOPELESS, Progress, RunTimes},
    way::ScheduleWay,
};
use crate::auto::{is_heavy, rival::BETTER};

/// Which runs of a trial go by the other way. Both ways have as many early runs as late ones, and
/// where a schedule runs twice a frame, as many first ones as second ones.
const OTHERS: [bool; 2 * RUNS] = [false, true, true, false, true, false, false, true];

/// Runs by each way, each time that [`OTHERS`] is gone through.
pub(super) const RUNS: usize = 4;

/// It is gone through this often at most, where the runs of one way differ among themselves.
const MOST_REPEATS: usize = 8;

/// What one way takes of what the other does differs by less than this, from run to run, if they
/// have the same kinds of runs.
const ALIKE: f32 = 1.15;

/// Two means differ if they are this many standard errors apart.
const TELLING: f32 = 2.0;

#[derive(Clone, Debug)]
pub(super) struct WayTrial {
    pub(super) other: ScheduleWay,
    sequence: Sequence,
}

/// Which run goes by which way.
#[derive(Clone, Debug)]
enum Sequence {
    InTurns(InTurns),
    /// Where few runs are heavy.
    ByCycles(Cycles),
}

impl WayTrial {
    /// A run by the current way takes up to `dear` nanoseconds, and one by `other` takes `most` at
    /// most, as far as is known.
    pub(super) fn in_turns(other: ScheduleWay, dear: f32, most: f32) -> Self {
        Self { other, sequence: Sequence::InTurns(InTurns { dear, most, ..InTurns::default() }) }
    }

    pub(super) fn by_cycles(other: ScheduleWay, cycles: Cycles) -> Self {
        Self { other, sequence: Sequence::ByCycles(cycles) }
    }

    /// The way of the next run, where `current` is the current one.
    pub(super) fn next(&self, current: ScheduleWay) -> ScheduleWay {
        let by_other = match &self.sequence {
            Sequence::InTurns(turns) => turns.by_other(),
            Sequence::ByCycles(cycles) => cycles.by_other(),
        };
        if by_other { self.other } else { current }
    }

    /// Notes what the run took that was next, in nanoseconds.
    pub(super) fn observe(&mut self, nanoseconds: f32) -> Progress {
        match &mut self.sequence {
            Sequence::InTurns(turns) => turns.observe(nanoseconds),
            Sequence::ByCycles(cycles) => cycles.observe(nanoseconds),
        }
    }
}

/// A few runs by each way; more, where these do not tell.
#[derive(Clone, Debug, Default)]
struct InTurns {
    /// What a run by the current way took before, one of the dearer ones. The first one of the
    /// trial may be the light one of two kinds, and the next, by the other way, the dear one.
    dear: f32,
    /// What a run by the other way takes at most, as far as is known: a first one that takes longer
    /// was interrupted.
    most: f32,
    /// Runs so far, of both ways.
    step: usize,
    current: Times,
    other: Times,
}

impl InTurns {
    /// The ways change places each time, or one would have all runs of every eighth frame.
    fn by_other(&self) -> bool {
        let (repeat, step) = (self.step / OTHERS.len(), self.step % OTHERS.len());
        OTHERS[step] == repeat.is_multiple_of(2)
    }

    fn observe(&mut self, nanoseconds: f32) -> Progress {
        let by_other = self.by_other();
        if by_other { &mut self.other } else { &mut self.current }.0.push(nanoseconds);
        self.step += 1;
        // The first run by another way that is hopeless is its last.
        if by_other && self.other.0.len() == 1 {
            let current = self.dear.max(self.current.longest());
            if nanoseconds > HOPELESS * current {
                // At most `most`, but no less than `current`: it was not found to be better.
                let other = nanoseconds.min(self.most.max(current));
                return Progress::Over(Found { current: RunTimes::even(current), other: RunTimes::even(other) });
            }
        }
        if !self.step.is_multiple_of(OTHERS.len()) {
            return Progress::GoesOn;
        }
        let found = Found { current: self.current.typical(), other: self.other.typical() };
        let is_last = self.step == MOST_REPEATS * OTHERS.len();
        if is_last || self.tells() { Progress::Over(found) } else { Progress::Unsure(found) }
    }

    /// Whether it was no chance which way took less.
    fn tells(&self) -> bool {
        let ((current, of_current), (other, of_other)) = (self.current.spread(), self.other.spread());
        self.are_alike() || (other - BETTER * current).abs() > TELLING * (of_current + of_other).sqrt()
    }

    /// Whether both ways had runs of the same kinds, light and dear ones: one way takes about as
    /// many times as long as the other for each.
    fn are_alike(&self) -> bool {
        let (current, other) = (self.current.sorted(), self.other.sorted());
        let (current, other) = (Times::usual(&current), Times::usual(&other));
        let ratios = || current.iter().zip(other).map(|(current, other)| other / current.max(1.0));
        let (least, most) = (ratios().fold(f32::INFINITY, f32::min), ratios().fold(0.0, f32::max));
        current.len() == other.len() && most < ALIKE * least
    }
}

/// What the runs by one way took.
#[derive(Clone, Debug, Default)]
struct Times(Vec<f32>);

impl Times {
    fn longest(&self) -> f32 {
        self.0.iter().copied().fold(0.0, f32::max)
    }

    fn sorted(&self) -> Vec<f32> {
        let mut sorted = self.0.clone();
        sorted.sort_unstable_by(f32::total_cmp);
        sorted
    }

    /// Those of `sorted` runs that are not heavy.
    fn usual(sorted: &[f32]) -> &[f32] {
        &sorted[..sorted.partition_point(|&time| !is_heavy(time, sorted[0]))]
    }

    /// The mean, and the square of its standard error, heavy runs apart.
    fn spread(&self) -> (f32, f32) {
        let sorted = self.sorted();
        let usual = Self::usual(&sorted);
        let mean = mean(usual);
        let squares = usual.iter().map(|time| (time - mean).powi(2)).sum::<f32>();
        let count = usual.len() as f32;
        (mean, squares / (count - 1.0).max(1.0) / count)
    }

    /// Of all runs: heavy ones apart, the mean without the longest and, of more than two, the
    /// shortest. A run that was interrupted says little.
    fn typical(&self) -> RunTimes {
        let sorted = self.sorted();
        let (usual, heavy) = sorted.split_at(Self::usual(&sorted).len());
        let middle = match usual {
            [_] | [_, _] => &usual[..1],
            all => &all[1..all.len() - 1],
        };
        // A single one was interrupted rather.
        let heavy = (heavy.len() > 1).then(|| heavy[heavy.len() / 2]);
        RunTimes { usual: Some(mean(middle)), heavy }
    }
}

fn mean(times: &[f32]) -> f32 {
    times.iter().sum::<f32>() / times.len() as f32
}
