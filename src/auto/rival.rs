//! When what is not the current choice is tried again, and what that may cost: strategies of calls,
//! and ways of schedules.

/// A candidate is taken if it needs less than this part of what the current choice needs: nothing
/// is gained by going back and forth.
pub(crate) const BETTER: f32 = 0.97;

/// A candidate below this multiple of the current choice's time is close: it may soon be better.
pub(crate) const CLOSE: f32 = 1.25;

/// The most calls, or runs, between trials of one that comes close: half a minute at 60 a second.
pub(crate) const LONGEST_OF_THE_CLOSE: u32 = 1 << 11;

/// The most between trials of another one.
pub(crate) const LONGEST: u32 = 1 << 14;

/// The most that is saved up, in nanoseconds, however long nothing was tried: what changes all the
/// time would be tried all the time.
const LARGEST_BUDGET: f32 = 1_000_000_000.0;

/// The pause between two trials of one candidate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rival {
    /// Calls, or runs, until it may be tried again.
    wait: u32,
    /// And between two trials.
    interval: u32,
}

impl Rival {
    /// A candidate that may be tried at once, and after that every `interval` calls.
    pub(crate) const fn new(interval: u32) -> Self {
        Self { wait: 0, interval }
    }

    pub(crate) fn may_be_tried(&self) -> bool {
        self.wait == 0
    }

    /// Counts `calls` that have gone by.
    pub(crate) fn pass(&mut self, calls: u32) {
        self.wait = self.wait.saturating_sub(calls);
    }

    /// Whatever it waits for is over.
    pub(crate) fn end_pause(&mut self) {
        self.wait = 0;
    }

    /// Begins a pause.
    pub(crate) fn pause(&mut self) {
        self.wait = self.interval;
    }

    /// The answer was the same again: from now on it is asked half as often, but at least once in
    /// `longest` calls.
    pub(crate) fn ask_less(&mut self, longest: u32) {
        self.interval = (self.interval * 2).min(longest);
    }

    /// From now on it is asked after `interval` calls.
    pub(crate) fn ask_every(&mut self, interval: u32) {
        self.interval = interval;
    }

    pub(crate) fn interval(&self) -> u32 {
        self.interval
    }
}

/// Time that may be spent on trials, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Budget(f32);

impl Budget {
    pub(crate) const fn new(nanoseconds: f32) -> Self {
        Self(nanoseconds)
    }

    /// Adds what is put aside of the time that calls, or runs, took.
    pub(crate) fn save(&mut self, nanoseconds: f32) {
        self.0 = (self.0 + nanoseconds).min(LARGEST_BUDGET);
    }

    /// Whether it is enough for what costs this many nanoseconds.
    pub(crate) fn pays_for(&self, nanoseconds: f32) -> bool {
        nanoseconds.min(LARGEST_BUDGET) <= self.0
    }

    pub(crate) fn spend(&mut self, nanoseconds: f32) {
        self.0 -= nanoseconds;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_up_pays_for_whatever_costs_more() {
        let mut budget = Budget::new(5.0);
        assert!(budget.pays_for(5.0) && !budget.pays_for(6.0));
        (0..2_000).for_each(|_| budget.save(1e6));
        assert_eq!(budget, Budget::new(LARGEST_BUDGET));
        assert!(budget.pays_for(1e12));
        budget.spend(1.0e8);
        assert!(budget.pays_for(8e8) && !budget.pays_for(1e12));
    }
}
