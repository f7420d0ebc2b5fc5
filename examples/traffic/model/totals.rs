//! Counts over a whole city.

use super::{Due, Intersection, Road, Trips};

/// Where all cars are, how their trips ended, and how full the roads are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub on_road: u64,
    pub waiting: u64,
    pub resting: u64,
    pub trips_arrived: u64,
    pub trips_stuck: u64,
    pub congested_roads: u64,
    /// Number and occupancy of the road with the most cars.
    pub busiest_road: (u64, u32),
}

impl Totals {
    pub fn add_intersection(&mut self, intersection: &Intersection) {
        self.on_road += u64::from(intersection.on_road());
        self.waiting += u64::from(intersection.waiting());
    }

    pub fn add_car(&mut self, due: Due, trips: &Trips) {
        self.resting += u64::from(due.is_resting());
        self.trips_arrived += u64::from(trips.arrived);
        self.trips_stuck += u64::from(trips.stuck);
    }

    pub fn add_road(&mut self, number: usize, road: &Road) {
        self.congested_roads += u64::from(road.is_congested());
        if road.occupancy > self.busiest_road.1 {
            self.busiest_road = (number as u64, road.occupancy);
        }
    }

    /// Every car is in exactly one place: this is their number, at any time.
    pub fn cars(&self) -> u64 {
        self.on_road + self.waiting + self.resting
    }
}
