//! A few calls of one place by another strategy than the current one.

use crate::auto::Strategy;

/// Calls in a trial. The first finds rows in the caches of other cores: it is not counted.
pub(super) const TRIAL_CALLS: u32 = 3;

/// Calls in a trial of a strategy by which calls differ among themselves.
pub(super) const UNEVEN_TRIAL_CALLS: u32 = 9;

/// The first trial of a strategy is this many calls longer if the strategy does no better: what is
/// new is at its slowest, and a bad impression keeps it from being tried again for hundreds of
/// calls.
const FIRST_RETRIES: u32 = 3;

/// For this many nanoseconds calls of a trial are not counted, because workers are waking up:
/// that takes 30 to 50 us, a few short calls. Where calls are so seldom that workers never come in
/// time, that is how it is.
const GRACE: u64 = 200_000;

/// A trial that is under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trial {
    pub(super) strategy: Strategy,
    /// Calls, and those that are still to come.
    calls: u32,
    left: u32,
    /// When its first timed call ended.
    since: Option<u64>,
    /// For how many more calls it goes on as long as the strategy is found to be no better.
    retries: u32,
    /// Whether it is of one thread that only begins a call.
    pub(super) is_probe: bool,
    /// The part of calls that would be heavy, if this trial is to find out whether any are and has
    /// met none so far.
    heavy_fraction: Option<f32>,
    /// Calls that were measured.
    measured: u32,
}

impl Trial {
    /// A trial of `strategy`, perhaps its first. If `heavy_fraction` is given it also finds out
    /// whether as many of its calls are heavy.
    pub(super) fn new(strategy: Strategy, calls: u32, first: bool, heavy_fraction: Option<f32>) -> Self {
        let retries = if first { FIRST_RETRIES } else { 0 };
        Self { strategy, calls, left: calls, since: None, retries, is_probe: false, heavy_fraction, measured: 0 }
    }

    /// One call, which one thread begins: the whole might take many times as long.
    pub(super) fn probe() -> Self {
        Self { left: 1, is_probe: true, ..Self::new(Strategy::Serial, TRIAL_CALLS, false, None) }
    }

    /// Whether there is no call to come.
    pub(super) fn is_over(&self) -> bool {
        self.left == 0
    }

    /// Whether its first call was decided, and the second one was not, or is made again.
    pub(super) fn has_just_begun(&self) -> bool {
        self.left + 1 == self.calls
    }

    /// Begins its next call. Returns whether that is to be timed.
    pub(super) fn next(&mut self) -> bool {
        let timed = self.left < self.calls;
        self.left -= 1;
        timed
    }

    /// Notes a call that was measured.
    pub(super) fn note(&mut self, heavy: bool) {
        self.measured += 1;
        self.heavy_fraction = self.heavy_fraction.filter(|_| !heavy);
    }

    /// While it looks for heavy calls: the part that they would be, and how many calls there were
    /// without one.
    pub(super) fn without_heavy(&self) -> Option<(f32, u32)> {
        self.heavy_fraction.map(|part| (part, self.measured))
    }

    /// Whether it went on for longer than others do.
    pub(super) fn was_long(&self) -> bool {
        self.measured > self.calls
    }

    /// Goes on for one more call.
    pub(super) fn go_on(&mut self) {
        self.left = 1;
    }

    /// Goes on for one more call because in the one that ended at `now` workers were `idle`: they
    /// are waking up. Returns whether it does.
    pub(super) fn goes_on_while_waking(&mut self, idle: bool, now: u64) -> bool {
        let since = *self.since.get_or_insert(now);
        let waking = idle && now.saturating_sub(since) < GRACE;
        self.left += u32::from(waking);
        waking
    }

    /// Goes on for one more call. Returns false if it did so often enough.
    pub(super) fn retry(&mut self) -> bool {
        let again = self.retries > 0;
        if again {
            self.retries -= 1;
            self.go_on();
        }
        again
    }
}
