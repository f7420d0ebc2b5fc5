//! The city as entities: intersections, roads and cars, in the order in which they are numbered.
//! Neighbours in the city are neighbours in that order, so a run of rows is a district: most of
//! what its rows tell each other stays within it.

use std::sync::Arc;

use bevy::ecs::bundle::{Bundle, NoBundleEffect};
use bevy::prelude::{Component, Deref, Entity, Resource, World};

use crate::city::City;
use crate::model::NEVER;
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

/// No car can move at an intersection before this second, unless it hears from a neighbour. Apart
/// from the rest, so that a sweep reads four bytes of each intersection that sleeps.
#[derive(Component)]
pub struct Wake(pub u32);

/// Whether trips have ended at an intersection in this step.
#[derive(Component)]
pub struct HasFinished(pub bool);

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
    let asleep = |intersection| (Wake(NEVER), HasFinished(false), intersection);
    Directory {
        intersections: spawn_numbered(world, city.intersections().into_iter().map(asleep)),
        roads: spawn_numbered(world, city.roads().into_iter()),
        cars: spawn_numbered(world, city.first_departures().into_iter().zip(city.first_trips())),
    }
}

fn spawn_numbered<B>(world: &mut World, rows: impl Iterator<Item = B>) -> Vec<Entity>
where
    (Number, B): Bundle<Effect: NoBundleEffect>,
{
    world.spawn_batch((0..).map(Number).zip(rows)).collect()
}
