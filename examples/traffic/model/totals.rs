//! Counts over a whole city.

use super::{Due, Intersection, Road, Trips};

/// Where all cars are, how their trips ended, and how full the roads are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub on_road: u64,
    /// Of those on the road, those that have not reached the stop line or the queue before it.
    pub moving: u64,
    pub waiting: u64,
    pub resting: u64,
    pub trips_arrived: u64,
    pub trips_stuck: u64,
    /// How often cars have pushed into a full road.
    pub pushed: u64,
    /// Seconds lost on trips that arrived, against free flow.
    pub delay: u64,
    /// Seconds and metres of the trips that arrived.
    pub seconds: u64,
    pub metres: u64,
    pub congested_roads: u64,
}

impl Totals {
    /// `now` is the second that comes next.
    pub fn add_intersection(&mut self, intersection: &Intersection, now: u32) {
        let queued: u32 = intersection.approaches().iter().map(|approach| approach.queued(now)).sum();
        self.on_road += u64::from(intersection.on_road());
        self.moving += u64::from(intersection.on_road() - queued);
        self.waiting += u64::from(intersection.waiting());
        self.pushed += u64::from(intersection.pushed());
    }

    pub fn add_car(&mut self, due: Due, trips: &Trips) {
        self.resting += u64::from(due.is_resting());
        self.trips_arrived += u64::from(trips.arrived);
        self.trips_stuck += u64::from(trips.stuck);
        self.delay += u64::from(trips.delay);
        self.seconds += u64::from(trips.seconds);
        self.metres += u64::from(trips.total_metres);
    }

    pub fn add_road(&mut self, road: &Road) {
        self.congested_roads += u64::from(road.is_congested());
    }

    /// The counts of two parts of a city.
    #[cfg(feature = "game")]
    pub fn merge(self, other: Self) -> Self {
        Self {
            on_road: self.on_road + other.on_road,
            moving: self.moving + other.moving,
            waiting: self.waiting + other.waiting,
            resting: self.resting + other.resting,
            trips_arrived: self.trips_arrived + other.trips_arrived,
            trips_stuck: self.trips_stuck + other.trips_stuck,
            pushed: self.pushed + other.pushed,
            delay: self.delay + other.delay,
            seconds: self.seconds + other.seconds,
            metres: self.metres + other.metres,
            congested_roads: self.congested_roads + other.congested_roads,
        }
    }

    #[cfg(feature = "game")]
    pub fn of_intersection(intersection: &Intersection, now: u32) -> Self {
        let mut totals = Self::default();
        totals.add_intersection(intersection, now);
        totals
    }

    #[cfg(feature = "game")]
    pub fn of_car(due: Due, trips: &Trips) -> Self {
        let mut totals = Self::default();
        totals.add_car(due, trips);
        totals
    }

    /// Every car is in exactly one place: this is their number, at any time.
    pub fn cars(&self) -> u64 {
        self.on_road + self.waiting + self.resting
    }
}
