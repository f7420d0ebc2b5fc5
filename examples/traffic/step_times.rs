//! How long steps took, in memory that does not grow with their number.

use std::time::Duration;

/// The most times that are kept exactly, in 16 MiB: a minute of a small city at full speed.
const KEPT: usize = 1 << 20;

/// Buckets of each doubling of the time, as a power of two: a bucket's middle is within 2% of all
/// that it counts.
const FINE: u32 = 5;

/// The times of all steps: each of them, or, once they are many, how many took about as long.
#[derive(Default)]
pub struct StepTimes {
    kept: Vec<Duration>,
    /// Empty as long as all times are kept.
    buckets: Vec<u64>,
    count: u64,
}

impl StepTimes {
    pub fn add(&mut self, time: Duration) {
        self.count += 1;
        if self.buckets.is_empty() {
            if self.kept.len() < KEPT {
                return self.kept.push(time);
            }
            self.buckets = vec![0; bucket(u64::MAX) + 1];
            std::mem::take(&mut self.kept).into_iter().for_each(|time| self.count_in_bucket(time));
        }
        self.count_in_bucket(time);
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// The time that all but one step in a hundred stay within.
    pub fn slow(&self) -> Duration {
        let shorter = self.count * 99 / 100;
        if self.buckets.is_empty() {
            let mut sorted = self.kept.clone();
            sorted.sort_unstable();
            return sorted.get(shorter as usize).copied().unwrap_or_default();
        }
        let mut seen = 0;
        let reaches = |count: &u64| {
            seen += count;
            seen > shorter
        };
        self.buckets.iter().position(reaches).map(middle).unwrap_or_default()
    }

    fn count_in_bucket(&mut self, time: Duration) {
        self.buckets[bucket(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))] += 1;
    }
}

/// Short times have a bucket for each nanosecond, others one for their highest bits.
fn bucket(nanoseconds: u64) -> usize {
    let dropped = (u64::BITS - nanoseconds.leading_zeros()).saturating_sub(FINE + 1);
    ((dropped as usize) << FINE) + (nanoseconds >> dropped) as usize
}

fn middle(bucket: usize) -> Duration {
    let dropped = (bucket >> FINE).saturating_sub(1);
    let first = ((bucket - (dropped << FINE)) as u64) << dropped;
    Duration::from_nanos(first + (1 << dropped >> 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps of some 200 us, and now and then one that takes much longer.
    fn time(step: u64) -> Duration {
        let noise = step.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48;
        Duration::from_nanos(200_000 + noise + if step.is_multiple_of(60) { 40 * noise } else { 0 })
    }

    fn slow_of(steps: u64) -> (Duration, Duration) {
        let mut times = StepTimes::default();
        let mut all: Vec<Duration> = (0..steps).map(time).collect();
        all.iter().for_each(|&time| times.add(time));
        all.sort_unstable();
        assert_eq!(times.count(), steps);
        (times.slow(), all[(steps * 99 / 100) as usize])
    }

    #[test]
    fn the_slow_step_of_a_run_is_exact() {
        for steps in [1, 2, 99, 100, 101, 36_000, KEPT as u64] {
            let (slow, exact) = slow_of(steps);
            assert_eq!(slow, exact, "{steps} steps");
        }
    }

    #[test]
    fn that_of_a_very_long_run_is_near() {
        let (slow, exact) = slow_of(KEPT as u64 + 100_000);
        let error = slow.as_secs_f64() / exact.as_secs_f64() - 1.0;
        assert!(error.abs() < 0.02, "{slow:?} instead of {exact:?}");
    }

    #[test]
    fn every_time_is_in_the_bucket_of_its_middle() {
        let powers = (0..u64::BITS).map(|power| 1 << power);
        for nanoseconds in powers.flat_map(|power: u64| [power - 1, power, power + power / 3]).chain([u64::MAX]) {
            let middle = middle(bucket(nanoseconds)).as_nanos() as f64;
            assert!((middle - nanoseconds as f64).abs() <= nanoseconds as f64 * 0.02, "{nanoseconds}: {middle}");
        }
        assert_eq!(StepTimes::default().slow(), Duration::ZERO);
    }
}
