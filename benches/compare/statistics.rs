//! What is reported of a contender's samples: medians, the slow tail and the ratio to the baseline.

use std::time::Duration;

/// The samples of one contender, one list of nanoseconds for every round.
#[derive(Default)]
pub struct Samples {
    rounds: Vec<Vec<u64>>,
}

/// One contender's line in a table.
pub struct Standing {
    pub name: &'static str,
    pub median: Duration,
    /// 99 samples of 100 were no slower.
    pub p99: Duration,
    /// Median over the rounds of this contender's time divided by the baseline's time in the same round, so that a
    /// clock or a neighbour that drifts during the run cancels out.
    pub ratio: f64,
}

impl Samples {
    pub fn push_round(&mut self, samples: Vec<u64>) {
        self.rounds.push(samples);
    }

    pub fn standing(&self, name: &'static str, baseline: &Samples) -> Standing {
        let all: Vec<u64> = self.rounds.concat();
        Standing {
            name,
            median: Duration::from_nanos(percentile(all.clone(), 50)),
            p99: Duration::from_nanos(percentile(all, 99)),
            ratio: self.ratio_to(baseline),
        }
    }

    fn ratio_to(&self, baseline: &Samples) -> f64 {
        let ratios = self.rounds.iter().zip(&baseline.rounds).map(|(own, base)| {
            let own = percentile(own.clone(), 50);
            let base = percentile(base.clone(), 50).max(1);
            own as f64 / base as f64
        });
        median(ratios.collect())
    }
}

/// The smallest sample that `percent` of all samples do not exceed; 0 when there is none.
pub fn percentile(mut samples: Vec<u64>, percent: usize) -> u64 {
    samples.sort_unstable();
    let rank = (samples.len() * percent).div_ceil(100);
    samples.get(rank.saturating_sub(1)).copied().unwrap_or(0)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
