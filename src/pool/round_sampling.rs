//! Which rounds are measured, and for how many the measured one stands: a clock reading takes 25
//! ns, to ask for the core 60, and an empty round 200.

use std::ops::Range;

use crate::{
    record::Countdown,
    sync::{OwnU32, OwnU64},
};

/// One round is measured in this many nanoseconds of rounds as short as the last one: that costs
/// half a percent.
const INTERVAL: u64 = 32_000;

/// Rounds that go by unmeasured, at most.
const LONGEST_GAP: u64 = 32;

/// A long round that happens to be measured after short ones stands for no more than this much
/// time, in nanoseconds.
const MOST_OWED: u64 = 50_000_000;

/// When the next round is measured, and for how many the measured one stands. Written by the thread
/// that leads.
#[derive(Default)]
pub(super) struct RoundSampling {
    /// Rounds to go before the next one that is due.
    left: Countdown,
    /// Rounds since the last measured one.
    skipped: OwnU64,
    /// How long rounds took that were not measured, as far as the measured ones have not stood for
    /// it yet; in nanoseconds.
    owed: OwnU64,
    /// When the last measured round ended.
    ended: OwnU64,
    dice: OwnU32,
}

impl RoundSampling {
    /// To be called once before each round, which it counts: whether it is due to be looked at.
    #[inline]
    pub(super) fn pass(&self) -> bool {
        self.left.pass()
    }

    /// Notes a round that was not measured. If it was `odd` the next one is due.
    #[inline]
    pub(super) fn skip(&self, odd: bool) {
        self.skipped.set(self.skipped.get() + 1);
        if odd {
            self.left.start(0);
        }
    }

    /// Notes a measured `round`, which was `due` or measured for another reason. Returns how many
    /// times as much as itself it stands for. One of a kind that is always measured stands for
    /// itself. One that is `sampled` stands for those since the last one too, which took as long,
    /// as far as can be told; what there was no time for since then is left for later ones, so that
    /// on average the sum is right, and never more than the time that has passed.
    pub(super) fn measured(&self, round: Range<u64>, due: bool, sampled: bool) -> f64 {
        let took = round.end.saturating_sub(round.start).max(1);
        if due {
            self.left.start(self.next_gap(took));
        }
        if !sampled {
            return 1.0;
        }
        let owed = self.owed.get() + self.skipped.replace(0) * took;
        let time = round.end.saturating_sub(self.ended.replace(round.end));
        let paid = owed.min(time.saturating_sub(took));
        self.owed.set((owed - paid).min(MOST_OWED));
        1.0 + paid as f64 / took as f64
    }

    /// How many rounds that take so long go by: of random length, so that rounds of two kinds that
    /// take turns are both seen.
    fn next_gap(&self, took: u64) -> u32 {
        let gap = (INTERVAL / took).min(LONGEST_GAP) as u32;
        let dice = self.dice.get().wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.dice.set(dice);
        gap / 2 + (dice >> 16) % (gap / 2 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds one after another, each as long as `took` says of its number. How many were measured,
    /// and how much of the time they stand for.
    fn play(rounds: u64, took: impl Fn(u64) -> u64) -> (u64, f64) {
        let (sampling, mut now, mut measured, mut sum, mut all) = (RoundSampling::default(), 1, 0, 0.0, 0);
        for number in 0..rounds {
            let took = took(number);
            let round = now..now + took;
            now = round.end + 20;
            all += took;
            if sampling.pass() {
                measured += 1;
                sum += sampling.measured(round, true, true) * took as f64;
            } else {
                sampling.skip(false);
            }
        }
        (measured, sum / all as f64)
    }

    #[test]
    fn long_rounds_are_all_measured_and_short_ones_seldom() {
        assert_eq!(play(1_000, |_| 100_000), (1_000, 1.0));
        let (measured, part) = play(100_000, |_| 200);
        assert!((3_000..6_000).contains(&measured), "{measured}");
        assert!((0.999..=1.0).contains(&part), "{part}");
    }

    #[test]
    fn short_and_long_rounds_in_turns_are_both_seen() {
        for long in [5_000, 50_000, 1_000_000] {
            let (_, part) = play(200_000, |number| if number % 2 == 0 { 200 } else { long });
            assert!((0.9..1.05).contains(&part), "{long}: {part}");
        }
    }

    /// Frames with `idle` nanoseconds after each, of `short` rounds of 4 us, which are sampled, and
    /// one of a millisecond, which is always measured. Which part of the time of all is reported.
    fn play_frames(short: u64, idle: u64) -> f64 {
        let (sampling, mut now, mut sum, mut all) = (RoundSampling::default(), 1, 0.0, 0);
        for _ in 0..2_000 {
            for took in (0..short).map(|_| 4_000).chain([1_000_000]) {
                let (round, due, sampled) = (now..now + took, sampling.pass(), took == 4_000);
                now = round.end + 2_000;
                all += took;
                if due || !sampled {
                    sum += sampling.measured(round, due, sampled) * took as f64;
                } else {
                    sampling.skip(false);
                }
            }
            now += idle;
        }
        sum / all as f64
    }

    #[test]
    fn a_round_that_is_always_measured_stands_for_itself() {
        for (short, idle) in [(10, 0), (10, 15_000_000), (100, 0), (100, 15_000_000), (1, 15_000_000)] {
            let part = play_frames(short, idle);
            assert!((0.95..1.05).contains(&part), "{short} short ones, {idle} ns idle: {part}");
        }
    }

    #[test]
    fn a_round_stands_for_no_more_than_there_was_time_for() {
        let sampling = RoundSampling::default();
        sampling.measured(0..1_000, true, true);
        (0..30).for_each(|_| sampling.skip(false));
        assert_eq!(sampling.measured(10_000..1_010_000, true, true), 1.009);
    }

    #[test]
    fn after_an_odd_round_the_next_one_is_due() {
        let sampling = RoundSampling::default();
        assert!(sampling.pass());
        sampling.measured(0..200, true, true);
        assert!(!sampling.pass());
        sampling.skip(true);
        assert!(sampling.pass());
    }
}
