//! Which runs of a system or schedule, or calls of one place, are timed.

use crate::sync::OwnU32;

/// Runs from one that is timed to the next: one in eight, for two readings of the clock, and to
/// learn from them, take 75 ns, as long as 200 cheap rows. The distances differ and their sum is a
/// prime, so that no period of the game hides its heavy runs from them.
const DISTANCES: [u32; 8] = [5, 12, 8, 3, 11, 7, 14, 7];

/// The same, one in 25, of runs that are [`VERY_SHORT`].
const FAR: [u32; 8] = [15, 36, 24, 9, 33, 21, 41, 20];

/// What takes less, in nanoseconds, would take 1% longer or more if one in eight were timed.
pub(crate) const VERY_SHORT: f32 = 1_000.0;

/// What takes this long, in nanoseconds, is timed in every run. The usual `long` for
/// [`next`](Sampling::next): to time such a run costs less than 1% of it.
pub(crate) const ALWAYS_TIMED: f32 = 8_000.0;

/// Runs from a sample, of which `before` were taken before it, to the next one, of what takes
/// `mean` nanoseconds.
#[inline]
pub(crate) fn distance(before: u64, mean: Option<f32>) -> u32 {
    let distances = if mean.is_some_and(|mean| mean < VERY_SHORT) { &FAR } else { &DISTANCES };
    distances[before as usize % distances.len()]
}

/// How many runs go by until the next one that is timed, as that one is which comes first: where
/// one thread at a time runs, and others read.
#[derive(Debug, Default)]
pub(crate) struct Countdown(OwnU32);

impl Countdown {
    /// Whether the next run is to be timed.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.0.get() == 0
    }

    /// Counts a run; true if it is to be timed.
    #[inline]
    pub(crate) fn pass(&self) -> bool {
        let left = self.0.get();
        self.0.set(left.saturating_sub(1));
        left == 0
    }

    /// Lets this many runs go by from now on, for instance one less than the [`distance`].
    #[inline]
    pub(crate) fn start(&self, runs: u32) {
        self.0.set(runs);
    }
}

/// What is to be done with one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    /// Whether a sample is due: it is time to reconsider.
    pub(crate) due: bool,
    /// Whether it is to be timed, as each is of which a sample is due.
    pub(crate) timed: bool,
    /// How many runs there were since a sample was due, this one among them.
    pub(crate) runs: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Sampling {
    /// Runs since one was timed, and since a sample was due.
    untimed: u32,
    since: u32,
    samples: u64,
}

impl Sampling {
    /// Counts a run of what takes `mean` nanoseconds, where all that takes `long` is timed. A
    /// sample is due anyway if it is `wanted`.
    pub(crate) fn next(&mut self, mean: Option<f32>, long: f32, wanted: bool) -> Sample {
        self.untimed += 1;
        self.since += 1;
        let runs = self.since;
        let due = wanted || runs >= distance(self.samples, mean);
        if due {
            self.since = 0;
            self.samples += 1;
        }
        Sample { due, timed: due || mean.is_some_and(|mean| mean >= long), runs }
    }

    /// How many runs of what takes `mean` nanoseconds go untimed until a sample is due.
    pub(crate) fn untimed_ahead(&self, mean: f32) -> u32 {
        distance(self.samples, Some(mean)).saturating_sub(self.since + 1)
    }

    /// Counts runs that were not asked about, none of which was timed.
    pub(crate) fn pass(&mut self, runs: u32) {
        self.untimed += runs;
        self.since += runs;
    }

    /// How many runs a timed one stands for.
    pub(crate) fn take_runs(&mut self) -> u32 {
        std::mem::take(&mut self.untimed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_period_hides_its_heavy_runs() {
        for (mean, distances) in [(None, DISTANCES), (Some(100.0), FAR)] {
            let mut sampling = Sampling::default();
            let runs = 60 * distances.iter().sum::<u32>();
            let sampled: Vec<_> = (0..runs).filter(|_| sampling.next(mean, ALWAYS_TIMED, false).timed).collect();
            for period in 2..=60 {
                for offset in 0..period {
                    assert!(sampled.iter().any(|run| run % period == offset), "every {period}, {offset}");
                }
            }
        }
    }

    #[test]
    fn few_short_runs_are_timed_and_all_long_ones() {
        let timed = |mean| {
            let mut sampling = Sampling::default();
            (0..8_000).filter(|_| sampling.next(Some(mean), ALWAYS_TIMED, false).timed).count()
        };
        assert!((300..340).contains(&timed(VERY_SHORT - 1.0)));
        assert!((900..1_100).contains(&timed(VERY_SHORT)));
        assert_eq!(timed(ALWAYS_TIMED), 8_000);
    }

    #[test]
    fn a_sample_stands_for_the_runs_since_the_last_one() {
        let mut sampling = Sampling::default();
        let stood_for: u32 = (0..1_000)
            .map(|_| if sampling.next(None, ALWAYS_TIMED, false).timed { sampling.take_runs() } else { 0 })
            .sum();
        assert_eq!(stood_for + sampling.take_runs(), 1_000);
    }
}
