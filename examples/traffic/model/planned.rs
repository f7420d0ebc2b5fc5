//! Trips that were asked for, in the place of the endless ones.

use super::NEVER;

/// One trip of a car.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedTrip {
    pub depart: u32,
    /// Its number among all routes.
    pub route: u32,
}

/// The trips of all cars, in the order of time.
#[derive(Clone, Debug, Default)]
pub struct PlannedTrips {
    /// Those of car `c` are `trips[first[c]..first[c + 1]]`.
    first: Vec<u32>,
    trips: Vec<PlannedTrip>,
}

impl PlannedTrips {
    /// `by_car` has at least one trip for each car.
    pub fn new(by_car: impl IntoIterator<Item = Vec<PlannedTrip>>) -> Self {
        let mut planned = Self { first: vec![0], trips: Vec::new() };
        for trips in by_car {
            planned.trips.extend(trips);
            planned.first.push(planned.trips.len() as u32);
        }
        planned
    }

    pub fn cars(&self) -> u32 {
        self.first.len() as u32 - 1
    }

    /// The trip of a car that has made `number` of them.
    pub fn trip(&self, car: u32, number: u32) -> Option<PlannedTrip> {
        let range = self.first[car as usize] as usize..self.first[car as usize + 1] as usize;
        self.trips[range].get(number as usize).copied()
    }

    /// When a car that is free from second `now` on starts trip `number`, if it has as many.
    pub fn due(&self, car: u32, number: u32, now: u32) -> Option<u32> {
        self.trip(car, number).map(|trip| trip.depart.clamp(now, NEVER - 2))
    }
}
