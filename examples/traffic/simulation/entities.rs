//! The city as entities: intersections, roads and cars, in the order in which they are numbered.
//! Neighbours in the city are neighbours in that order, so a run of rows is a district: most of
//! what its rows tell each other stays within it.

use std::sync::Arc;

use bevy::ecs::bundle::{Bundle, NoBundleEffect};
use bevy::prelude::{Component, Deref, Entity, Resource, World};
use bevy_affinity::Due as Wake;

use crate::city::City;
use crate::model::{Due, NEVER, first_sampled};
use crate::routes::Routes;

/// What stays the same while the city lives.
#[derive(Resource, Deref)]
pub struct Plan(pub Arc<City>);

/// The routes with the roads closed that are closed now.
#[derive(Resource, Deref)]
pub struct CurrentRoutes(pub Arc<Routes>);

/// The number of an intersection in the network, of a road among its links, or of a car.
#[derive(Component, Clone, Copy)]
pub struct Number(pub u32);

/// The agenda of cars at rest: the second in which each sets out.
pub struct Departures;

/// The agenda of intersections: before its second no car can move there, unless it hears from a
/// neighbour.
pub struct Crossings;

/// The agenda of intersections where trips have ended in this second.
pub struct Arrivals;

/// The agenda of intersections whose roads are to hear how many cars are on them.
pub struct Samples;

/// When a row is visited that the model knows to be due in this second.
pub fn wake<A: Send + Sync + 'static>(second: u32) -> Wake<A> {
    Wake::at(time(second))
}

/// A second of the model as a time of an agenda.
pub fn time(second: u32) -> u64 {
    // The last two are no seconds: cars that are on their way, and cars that rest for ever.
    if second < Due::NO_MORE.0 { u64::from(second) } else { Wake::<()>::NEVER }
}

/// The entities by their numbers.
#[derive(Resource)]
pub struct Directory {
    intersections: Vec<Entity>,
    roads: Vec<Entity>,
    cars: Vec<Entity>,
}

impl Directory {
    pub fn intersection(&self, number: u32) -> Entity {
        self.intersections[number as usize]
    }

    pub fn road(&self, number: u32) -> Entity {
        self.roads[number as usize]
    }

    pub fn car(&self, number: u32) -> Entity {
        self.cars[number as usize]
    }
}

/// Brings a city to life, all roads empty and all cars at rest.
pub fn spawn(world: &mut World, city: &City) -> Directory {
    let asleep = |(number, intersection)| {
        // Second and number add up to a multiple of the interval: either tells the other.
        let sampled = first_sampled(number);
        (wake::<Crossings>(NEVER), wake::<Arrivals>(NEVER), wake::<Samples>(sampled), intersection)
    };
    let cars = city.first_departures().into_iter().zip(city.first_trips());
    Directory {
        intersections: spawn_numbered(world, (0..).zip(city.intersections()).map(asleep)),
        roads: spawn_numbered(world, city.roads().into_iter()),
        cars: spawn_numbered(world, cars.map(|(due, trips)| (wake::<Departures>(due.0), due, trips))),
    }
}

fn spawn_numbered<B>(world: &mut World, rows: impl Iterator<Item = B>) -> Vec<Entity>
where
    (Number, B): Bundle<Effect: NoBundleEffect>,
{
    world.spawn_batch((0..).map(Number).zip(rows)).collect()
}
