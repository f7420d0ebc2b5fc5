//! What is reported of a contender's samples: medians, the slow tail and the ratio to the baseline.

use std::time::Duration;

/// The samples of one contender, one list of nanoseconds for every round.
#[derive(Default)]
pub struct Samples {
    rounds: Vec<Vec<u64>>,
}

/// One contender's line in a table.
pub struct Standing {
    pub name: String,
    pub median: Duration,
    /// 99 samples of 100 were no slower.
    pub p99: Duration,
    pub mean: Duration,
    /// To the baseline: see [`Standing::ratio_to`].
    pub ratio: f64,
    /// In nanoseconds, by round.
    medians: Vec<u64>,
}

impl Samples {
    pub fn push_round(&mut self, samples: Vec<u64>) {
        self.rounds.push(samples);
    }

    pub fn standing(&self, name: &str, baseline: &Samples) -> Standing {
        let all: Vec<u64> = self.rounds.concat();
        let mean = all.iter().sum::<u64>() / (all.len() as u64).max(1);
        Standing {
            name: name.to_owned(),
            mean: Duration::from_nanos(mean),
            median: Duration::from_nanos(percentile(all.clone(), 50)),
            p99: Duration::from_nanos(percentile(all, 99)),
            ratio: median_ratio(&self.medians(), &baseline.medians()),
            medians: self.medians(),
        }
    }

    fn medians(&self) -> Vec<u64> {
        self.rounds.iter().map(|samples| percentile(samples.clone(), 50)).collect()
    }
}

impl Standing {
    /// Median over the rounds of this contender's time divided by the other's time in the same
    /// round, so that a clock or a neighbour that drifts during the run cancels out.
    pub fn ratio_to(&self, other: &Standing) -> f64 {
        median_ratio(&self.medians, &other.medians)
    }

    /// By how many nanoseconds this contender takes longer than `factor` times the other: median
    /// over the rounds, as above.
    pub fn excess_over(&self, factor: f64, other: &Standing) -> f64 {
        let excess = |(&own, &other): (&u64, &u64)| own as f64 - factor * other as f64;
        median(self.medians.iter().zip(&other.medians).map(excess).collect())
    }

    /// The same of the means of all samples: trials, and calls that something else delayed, count.
    pub fn mean_excess_over(&self, factor: f64, other: &Standing) -> f64 {
        self.mean.as_nanos() as f64 - factor * other.mean.as_nanos() as f64
    }
}

fn median_ratio(own: &[u64], base: &[u64]) -> f64 {
    let ratio = |(&own, &base): (&u64, &u64)| own as f64 / base.max(1) as f64;
    median(own.iter().zip(base).map(ratio).collect())
}

/// The smallest sample that `percent` of all samples do not exceed; 0 when there is none.
pub fn percentile(mut samples: Vec<u64>, percent: usize) -> u64 {
    samples.sort_unstable();
    let rank = (samples.len() * percent).div_ceil(100);
    samples.get(rank.saturating_sub(1)).copied().unwrap_or(0)
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
