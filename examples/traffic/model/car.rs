//! Cars: when the next trip starts and how the last ones ended. On the road a car is an entry in a
//! queue.

use bevy::prelude::Component;

use super::NEVER;
use super::demand::Demand;
use super::intersection::{Departure, Outcome};
use super::travel_times::TravelTimes;
use super::trip::EndedTrip;
use crate::hash::{SequenceHash, below, hash};
use crate::routes::Routes;

/// What the random choices of a car are for, so that they do not repeat one another.
const FIRST_DEPARTURE: u64 = 1;
const CHOICE_OF_ROUTE: u64 = 2;
const LENGTH_OF_REST: u64 = 3;

/// The second in which a resting car starts its next trip, or what else it does.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due(pub u32);

impl Due {
    pub const ON_THE_WAY: Self = Self(NEVER);

    /// The car rests for ever: all trips that were asked for have ended.
    pub const NO_MORE: Self = Self(NEVER - 1);

    /// When car number `car` starts its first trip: as if it had come from one before second 0.
    pub fn first(car: u32, demand: &Demand) -> Self {
        if let Some(planned) = &demand.planned {
            return planned.due(car, 0, 0).map_or(Self::NO_MORE, Self);
        }
        let draw = below(hash(&[demand.seed, FIRST_DEPARTURE, u64::from(car)]), demand.rests().end.max(1));
        Self(demand.after(draw, 0))
    }

    /// A car that rests at the start of the rush hour sets out sooner.
    pub fn hurry(&mut self, now: u32, demand: &Demand) {
        if self.is_resting() && demand.planned.is_none() {
            self.0 = now + demand.hurried(self.0.saturating_sub(now), now);
        }
    }

    pub fn is_resting(self) -> bool {
        self != Self::ON_THE_WAY
    }
}

/// Where a car is in its day.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trips {
    /// The place it rests at, or is on its way to.
    pub place: u32,
    /// The place it comes from.
    pub origin: u32,
    pub arrived: u32,
    pub stuck: u32,
    /// The second in which its trip began; of the last trip while it rests, as the next two.
    pub departed: u32,
    /// The second in which the car would arrive if nothing held it up.
    pub expected: u32,
    /// Length of the trip.
    pub metres: u32,
    /// Seconds that the car has lost on trips that arrived, of so many that they took.
    pub delay: u32,
    pub seconds: u32,
    /// Length of the trips that arrived.
    pub total_metres: u32,
}

impl Trips {
    /// Spreads cars over places in proportion: those that are neighbours in memory start as
    /// neighbours in the city.
    pub fn first(car: u32, cars: u32, routes: &Routes) -> Self {
        let place = (u64::from(car) * u64::from(routes.places()) / u64::from(cars.max(1))) as u32;
        Self { place, origin: place, ..Self::default() }
    }

    /// Starts the next trip: returns the intersection to start from, and what to tell it.
    pub fn depart(&mut self, car: u32, now: u32, demand: &Demand, routes: &Routes) -> (u32, Departure) {
        let (origin, route) = match &demand.planned {
            Some(planned) => match planned.trip(car, self.number()) {
                Some(trip) => routes.numbered(trip.route),
                None => unreachable!("a car without a trip is not due"),
            },
            None => {
                let choice = self.draw(car, demand.seed, CHOICE_OF_ROUTE);
                (self.place, demand.choose(self.place, choice, now, routes))
            }
        };
        (self.origin, self.place) = (origin, route.destination);
        (self.departed, self.expected) = (now, now.saturating_add(route.free_time));
        self.metres = route.metres;
        (routes.node(origin), Departure { car, cursor: route.cursor })
    }

    /// Ends a trip and returns when the next one starts. A stuck car goes on from where it was
    /// heading.
    pub fn finish(&mut self, car: u32, outcome: Outcome, now: u32, demand: &Demand, times: &TravelTimes) -> Due {
        match outcome {
            Outcome::Arrived => self.arrive(now, times),
            Outcome::Stuck => self.stuck += 1,
        }
        if let Some(planned) = &demand.planned {
            return planned.due(car, self.number(), now + 1).map_or(Due::NO_MORE, Due);
        }
        let (rests, draw) = (demand.rests(), self.draw(car, demand.seed, LENGTH_OF_REST));
        let rest = rests.start + below(draw, rests.end - rests.start + 1);
        Due(demand.after(rest, now).max(now + 1))
    }

    fn arrive(&mut self, now: u32, times: &TravelTimes) {
        self.arrived += 1;
        let seconds = now.saturating_sub(self.departed);
        times.add(seconds);
        // Sums of years of driving may start anew.
        self.seconds = self.seconds.wrapping_add(seconds);
        self.delay = self.delay.wrapping_add(now.saturating_sub(self.expected));
        self.total_metres = self.total_metres.wrapping_add(self.metres);
    }

    /// The trip that the car is on or, while it rests, was on.
    pub fn ended(&self, car: u32, outcome: Outcome, now: u32, routes: &Routes) -> EndedTrip {
        EndedTrip {
            car,
            depart: self.departed,
            arrive: now,
            from: routes.node(self.origin),
            to: routes.node(self.place),
            free_seconds: self.expected - self.departed,
            metres: self.metres,
            stuck: outcome == Outcome::Stuck,
        }
    }

    pub fn write_state(&self, due: Due, state: &mut SequenceHash) {
        state.write(u64::from(due.0) | u64::from(self.place) << 32);
        state.write(u64::from(self.expected) | u64::from(self.delay) << 32);
        state.write(u64::from(self.arrived) | u64::from(self.stuck) << 32);
        state.write(u64::from(self.departed) | u64::from(self.seconds) << 32);
        state.write(u64::from(self.total_metres) | u64::from(self.origin) << 32);
    }

    /// How many trips have ended.
    fn number(&self) -> u32 {
        self.arrived + self.stuck
    }

    fn draw(&self, car: u32, seed: u64, purpose: u64) -> u64 {
        hash(&[seed, purpose, u64::from(car), u64::from(self.number())])
    }
}
