//! The counts of a district. They add up: those of a district are the sums of its parts'.

use crate::city::City;
use crate::model::{Intersection, storage};

/// The cars on the roads that lead to a district's intersections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    pub cars: u64,
    /// Those that could have left their road by now but for a red light or the cars ahead.
    pub queued: u64,
    /// How many cars the roads hold.
    pub room: u64,
    /// The speeds of all cars in km/h: those on the move have the free speed of their road.
    pub(super) total_speed: u64,
}

impl Traffic {
    /// The roads that lead to the intersection `number`.
    pub fn at(number: u32, intersection: &Intersection, city: &City, now: u32) -> Self {
        let roads = city.first_road(number) as usize..;
        let mut traffic = Self::default();
        for (approach, road) in intersection.approaches().iter().zip(roads) {
            let (cars, queued) = (u64::from(approach.occupancy()), u64::from(approach.queued(now)));
            let link = &city.network.links[road];
            traffic.cars += cars;
            traffic.queued += queued;
            traffic.room += u64::from(storage(link));
            traffic.total_speed += (cars - queued) * u64::from(link.speed_kmh);
        }
        traffic
    }

    /// Mean speed of the cars in km/h; `None` if there are none.
    pub fn mean_speed(&self) -> Option<f64> {
        (self.cars > 0).then(|| self.total_speed as f64 / self.cars as f64)
    }

    /// From 0 for empty roads to 1 for full ones.
    pub fn density(&self) -> f64 {
        self.cars as f64 / self.room.max(1) as f64
    }
}

impl std::ops::Add for Traffic {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            cars: self.cars + other.cars,
            queued: self.queued + other.queued,
            room: self.room + other.room,
            total_speed: self.total_speed + other.total_speed,
        }
    }
}

impl std::iter::Sum for Traffic {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, traffic| sum + traffic)
    }
}
