//! Cars: when the next trip starts and how the last ones ended. On the road a car is an entry in a
//! queue.

use bevy::prelude::Component;

use super::NEVER;
use super::demand::Demand;
use super::intersection::{Departure, Outcome};
use crate::hash::{SequenceHash, below, hash};
use crate::routes::Routes;

/// The first trips start within as many seconds, so that the roads fill quickly but not at once.
const FIRST_DEPARTURES: u32 = 240;

/// Seconds a car rests between two trips: short against a trip, so that most cars are on the road.
const SHORTEST_REST: u32 = 30;
const LONGEST_REST: u32 = 150;

/// What the random choices of a car are for, so that they do not repeat one another.
const FIRST_DEPARTURE: u64 = 1;
const CHOICE_OF_ROUTE: u64 = 2;
const LENGTH_OF_REST: u64 = 3;

/// The second in which a resting car starts its next trip, [`NEVER`] while it is on its way.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due(pub u32);

impl Due {
    pub const ON_THE_WAY: Self = Self(NEVER);

    /// When car number `car` starts its first trip.
    pub fn first(car: u32, seed: u64) -> Self {
        Self(below(hash(&[seed, FIRST_DEPARTURE, u64::from(car)]), FIRST_DEPARTURES))
    }

    /// A car that rests at the start of the rush hour sets out sooner.
    #[cfg(any(test, feature = "game"))]
    pub fn hurry(&mut self, now: u32, demand: &Demand) {
        if self.is_resting() {
            self.0 = now + demand.rest(self.0.saturating_sub(now), now);
        }
    }

    pub fn is_resting(self) -> bool {
        self != Self::ON_THE_WAY
    }
}

/// Where a car is in its day.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trips {
    /// The place it rests at, or is on its way to.
    pub place: u32,
    pub arrived: u32,
    pub stuck: u32,
    /// The second in which the car would arrive if nothing held it up; of the last trip while it
    /// rests.
    pub expected: u32,
    /// Seconds that the car has lost on trips that arrived.
    pub delay: u32,
}

impl Trips {
    /// Spreads cars over places in proportion: those that are neighbours in memory start as
    /// neighbours in the city.
    pub fn first(car: u32, cars: u32, routes: &Routes) -> Self {
        let place = u64::from(car) * u64::from(routes.places()) / u64::from(cars.max(1));
        Self { place: place as u32, arrived: 0, stuck: 0, expected: 0, delay: 0 }
    }

    /// Starts the next trip: returns the intersection to start from, and what to tell it.
    pub fn depart(&mut self, car: u32, now: u32, demand: &Demand, routes: &Routes) -> (u32, Departure) {
        let node = routes.node(self.place);
        let choice = self.draw(car, demand.seed, CHOICE_OF_ROUTE);
        let route = demand.choose(self.place, choice, now, routes);
        self.place = route.destination;
        self.expected = now.saturating_add(route.free_time);
        (node, Departure { car, cursor: route.cursor })
    }

    /// Ends a trip and returns when the next one starts. A stuck car goes on from where it was
    /// heading.
    pub fn finish(&mut self, car: u32, outcome: Outcome, now: u32, demand: &Demand) -> Due {
        match outcome {
            Outcome::Arrived => {
                self.arrived += 1;
                self.delay += now.saturating_sub(self.expected);
            }
            Outcome::Stuck => self.stuck += 1,
        }
        let spread = below(self.draw(car, demand.seed, LENGTH_OF_REST), LONGEST_REST - SHORTEST_REST + 1);
        Due(now + demand.rest(SHORTEST_REST + spread, now))
    }

    pub fn write_state(&self, due: Due, state: &mut SequenceHash) {
        state.write(u64::from(due.0) | u64::from(self.place) << 32);
        state.write(u64::from(self.expected) | u64::from(self.delay) << 32);
        state.write(u64::from(self.arrived) | u64::from(self.stuck) << 32);
    }

    fn draw(&self, car: u32, seed: u64, purpose: u64) -> u64 {
        let trip = u64::from(self.arrived) + u64::from(self.stuck);
        hash(&[seed, purpose, u64::from(car), trip])
    }
}

/// The longest time between the end of a trip and the start of the next one.
pub const LONGEST_PAUSE: u32 = if LONGEST_REST > FIRST_DEPARTURES { LONGEST_REST } else { FIRST_DEPARTURES };
