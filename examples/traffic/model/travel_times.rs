//! How long trips took: what means do not tell.

use std::sync::atomic::{AtomicU64, Ordering};

use bevy::prelude::Resource;

/// Longer trips are counted together: four hours, in seconds.
pub const LONGEST: u32 = 14_400;

/// How many trips took each number of seconds, and behind that how many took longer. Counts are
/// added from several threads; sums do not depend on the order, so they are the same whoever adds.
#[derive(Resource, Debug)]
pub struct TravelTimes {
    counts: Box<[AtomicU64]>,
}

impl Default for TravelTimes {
    fn default() -> Self {
        Self { counts: (0..=LONGEST + 1).map(|_| AtomicU64::new(0)).collect() }
    }
}

impl TravelTimes {
    pub fn add(&self, seconds: u32) {
        // Relaxed: a counter orders nothing else, and is read between steps.
        self.counts[seconds.min(LONGEST + 1) as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub fn counts(&self) -> Vec<u64> {
        self.counts.iter().map(|count| count.load(Ordering::Relaxed)).collect()
    }
}

/// The seconds that a share of the trips stay within, of those counted `after` but not `before`;
/// `None` if there are none, and if it is more than [`LONGEST`].
pub fn quantile(share: f64, before: &[u64], after: &[u64]) -> Option<u32> {
    let counts = || after.iter().enumerate().map(|(at, &count)| count - before.get(at).copied().unwrap_or(0));
    let total: u64 = counts().sum();
    let rank = (total as f64 * share).ceil().max(1.0) as u64;
    let mut passed = 0;
    let reaches = |count: u64| {
        passed += count;
        passed >= rank
    };
    counts().position(reaches).map(|seconds| seconds as u32).filter(|&seconds| seconds <= LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_of_the_trips_in_between() {
        let times = TravelTimes::default();
        (0..100).for_each(|_| times.add(5_000));
        let before = times.counts();
        assert_eq!(quantile(0.95, &before, &before), None);
        (1..=100).for_each(|seconds| times.add(seconds));
        assert_eq!(quantile(0.95, &before, &times.counts()), Some(95));
        assert_eq!(quantile(0.95, &[], &times.counts()), Some(5_000));
        times.add(u32::MAX);
        assert_eq!(quantile(1.0, &[], &times.counts()), None);
        times.add(LONGEST);
        assert_eq!(quantile(0.995, &[], &times.counts()), Some(LONGEST));
    }
}
