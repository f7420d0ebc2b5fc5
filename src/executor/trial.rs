//! A trial: runs by another way in turns with runs by the current one.

use super::{
    cycles::Cycles,
    times::{Found, HOPELESS, Progress, RunTimes},
    way::ScheduleWay,
};
use crate::auto::is_heavy;

/// Which runs of a trial go by the other way. Both ways have as many early runs as late ones, and
/// where a schedule runs twice a frame, as many first ones as second ones.
const OTHERS: [bool; 2 * RUNS] = [false, true, true, false, true, false, false, true];

/// Runs by each way.
pub(super) const RUNS: usize = 4;

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
    /// A run by the current way takes `usual` nanoseconds, and one by `other` takes `most` at most,
    /// as far as is known.
    pub(super) fn in_turns(other: ScheduleWay, usual: f32, most: f32) -> Self {
        Self { other, sequence: Sequence::InTurns(InTurns { usual, most, ..InTurns::default() }) }
    }

    pub(super) fn by_cycles(other: ScheduleWay, cycles: Cycles) -> Self {
        Self { other, sequence: Sequence::ByCycles(cycles) }
    }

    /// The way of the next run, where `current` is the current one.
    pub(super) fn next(&self, current: ScheduleWay) -> ScheduleWay {
        let by_other = match &self.sequence {
            Sequence::InTurns(turns) => OTHERS[turns.step],
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

/// A few runs by each way.
#[derive(Clone, Debug, Default)]
struct InTurns {
    /// What a run by the current way took before. The first one of the trial may be the light one
    /// of two kinds, and the next, by the other way, the dear one.
    usual: f32,
    /// What a run by the other way takes at most, as far as is known: a first one that takes longer
    /// was interrupted.
    most: f32,
    /// Runs so far, of both ways.
    step: usize,
    current: Times,
    other: Times,
}

impl InTurns {
    fn observe(&mut self, nanoseconds: f32) -> Progress {
        let by_other = OTHERS[self.step];
        if by_other { &mut self.other } else { &mut self.current }.push(nanoseconds);
        self.step += 1;
        // The first run by another way that is hopeless is its last.
        if by_other && self.other.count == 1 {
            let current = self.usual.max(self.current.longest());
            if nanoseconds > HOPELESS * current {
                // At most `most`, but no less than `current`: it was not found to be better.
                let other = nanoseconds.min(self.most.max(current));
                return Progress::Over(Found { current: RunTimes::even(current), other: RunTimes::even(other) });
            }
        }
        if self.step < OTHERS.len() {
            return Progress::GoesOn;
        }
        Progress::Over(Found { current: self.current.typical(), other: self.other.typical() })
    }
}

/// What the runs by one way took.
#[derive(Clone, Debug, Default)]
struct Times {
    times: [f32; RUNS],
    count: usize,
}

impl Times {
    fn push(&mut self, nanoseconds: f32) {
        self.times[self.count] = nanoseconds;
        self.count += 1;
    }

    fn longest(&self) -> f32 {
        self.times[..self.count].iter().copied().fold(0.0, f32::max)
    }

    /// Of all runs: heavy ones apart, the mean without the longest and, of more than two, the
    /// shortest. A run that was interrupted says little.
    fn typical(&self) -> RunTimes {
        let mut sorted = self.times;
        sorted.sort_unstable_by(f32::total_cmp);
        let (usual, heavy) = sorted.split_at(sorted.partition_point(|&time| !is_heavy(time, sorted[0])));
        let middle = match usual {
            [_] | [_, _] => &usual[..1],
            all => &all[1..all.len() - 1],
        };
        let mean = middle.iter().sum::<f32>() / middle.len() as f32;
        // A single one was interrupted rather.
        let heavy = (heavy.len() > 1).then(|| heavy[heavy.len() / 2]);
        RunTimes { usual: Some(mean), heavy }
    }
}
