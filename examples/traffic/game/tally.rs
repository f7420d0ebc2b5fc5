//! Trips and delays of a city up to the end of a minute.

use crate::model::Totals;

/// Seconds between two points of the curves.
pub const MINUTE: u32 = 60;

/// All trips so far, at the end of a minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub second: u32,
    pub arrived: u64,
    /// Seconds lost on trips that arrived.
    pub delay: u64,
}

impl Tally {
    pub fn new(second: u32, totals: &Totals) -> Self {
        Self { second, arrived: totals.trips_arrived, delay: totals.delay }
    }

    /// Trips an hour since an earlier tally.
    pub fn trips_per_hour(&self, earlier: &Self) -> f64 {
        (self.arrived - earlier.arrived) as f64 * 3_600.0 / f64::from((self.second - earlier.second).max(1))
    }

    /// Mean delay of the trips that have ended since an earlier tally, in seconds.
    pub fn mean_delay(&self, earlier: &Self) -> f64 {
        (self.delay - earlier.delay) as f64 / (self.arrived - earlier.arrived).max(1) as f64
    }
}
