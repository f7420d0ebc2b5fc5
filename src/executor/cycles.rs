//! A trial of a schedule that has heavy runs now and then.

use super::times::{Found, HOPELESS, Progress, RunTimes, smoothed};
use crate::auto::is_heavy;

/// Heavy runs by each way.
pub(super) const CYCLES: usize = 3;

/// A turn ends without a heavy run after this many times the runs in which there should be one:
/// what is heavy for one way may not be for the other.
const PATIENCE: f32 = 4.0;

/// Runs after which another way may be seen to be hopeless.
const FIRST_LOOK: u32 = 4;

/// Two ways in turns. A turn ends with a heavy run, so both have as many of these, at whichever
/// distances they come.
#[derive(Clone, Debug)]
pub(super) struct Cycles {
    current: Turns,
    other: Turns,
    by_other: bool,
    /// Runs of this turn so far, and at most.
    runs: u32,
    most: u32,
    fraction: f32,
}

impl Cycles {
    /// Of two ways of which this is known, where `fraction` of the runs is heavy.
    pub(super) fn new(current: RunTimes, other: RunTimes, fraction: f32) -> Self {
        let most = (PATIENCE / fraction.max(f32::EPSILON)).ceil() as u32;
        let (current, other) = (Turns::new(current.usual), Turns::new(other.usual));
        Self { current, other, by_other: false, runs: 0, most, fraction }
    }

    /// Whether the next run goes by the other way.
    pub(super) fn by_other(&self) -> bool {
        self.by_other
    }

    /// Notes the run that was next.
    pub(super) fn observe(&mut self, nanoseconds: f32) -> Progress {
        let turns = if self.by_other { &mut self.other } else { &mut self.current };
        self.runs += 1;
        let is_heavy = turns.observe(nanoseconds);
        let mut is_past = false;
        if is_heavy || self.runs >= self.most {
            turns.ended += 1;
            // Runs by the current way are no longer heavy now and then.
            is_past = !is_heavy && !self.by_other;
            (self.runs, self.by_other) = (0, !self.by_other);
        }
        if is_past && (self.current.ended == 1 || self.other.heavy.is_empty()) {
            return Progress::InVain;
        }
        let is_over = self.current.ended.min(self.other.ended) >= CYCLES || is_past || self.is_hopeless();
        let found = || Found { current: self.current.times(), other: self.other.times() };
        if is_over { Progress::Over(found()) } else { Progress::GoesOn }
    }

    /// Whether usual runs by the other way alone take more than both kinds by the current one.
    fn is_hopeless(&self) -> bool {
        let RunTimes { usual, heavy } = self.current.times();
        let (Some(usual), Some(heavy), Some(other)) = (usual, heavy, self.other.times().usual) else { return false };
        let mean = usual + self.fraction * (heavy - usual);
        self.other.seen >= FIRST_LOOK && other * (1.0 - self.fraction) > HOPELESS * mean
    }
}

/// The turns of one way.
#[derive(Clone, Debug)]
struct Turns {
    usual: Option<f32>,
    heavy: Vec<f32>,
    seen: u32,
    ended: usize,
}

impl Turns {
    fn new(usual: Option<f32>) -> Self {
        Self { usual, heavy: Vec::new(), seen: 0, ended: 0 }
    }

    /// Notes a run. Returns whether it was heavy.
    fn observe(&mut self, nanoseconds: f32) -> bool {
        self.seen += 1;
        // Where nothing was known, the first one may have been heavy.
        let usual = *self.usual.get_or_insert(nanoseconds);
        let heavy = is_heavy(nanoseconds, usual);
        match heavy {
            true => self.heavy.push(nanoseconds),
            false if is_heavy(usual, nanoseconds) => self.usual = Some(nanoseconds),
            false => self.usual = Some(smoothed(self.usual, nanoseconds)),
        }
        heavy
    }

    /// The middle one of the heavy runs: another may have been interrupted.
    fn times(&self) -> RunTimes {
        let mut heavy = self.heavy.clone();
        heavy.sort_unstable_by(f32::total_cmp);
        let middle = heavy.get(heavy.len().saturating_sub(1) / 2).copied();
        RunTimes { usual: self.usual, heavy: middle }
    }
}
