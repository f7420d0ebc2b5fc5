//! A ring road, its cars, and the two regions of it.

use std::collections::BTreeMap;

use bevy::prelude::*;
use bevy_affinity_works_with::{Id, hash};
use serde::{Deserialize, Serialize};

pub const CARS: u32 = 4_000;
const LENGTH: f32 = 4_000.0;

/// The work for a car in a step: enough that both workers are needed.
const MOODS: u32 = 64;

#[derive(Component, Clone, Copy, Serialize, Deserialize)]
pub struct Car {
    position: f32,
    /// Chaotic: after some steps one bit that differs makes another speed.
    mood: f32,
}

impl Car {
    fn new(id: u32) -> Self {
        Self { position: LENGTH * id as f32 / CARS as f32, mood: 0.1 + 0.8 * id as f32 / CARS as f32 }
    }

    pub fn drive(&mut self) {
        for _ in 0..MOODS {
            self.mood *= 3.9 * (1.0 - self.mood);
        }
        self.position = (self.position + 0.1 + self.mood).rem_euclid(LENGTH);
    }

    fn bits(&self) -> [u32; 2] {
        [self.position, self.mood].map(f32::to_bits)
    }
}

/// Of a car that this process drives. Ghosts, which come from the other process, are not owned.
#[derive(Component)]
pub struct Owned;

#[derive(Resource, Clone, Copy, PartialEq, Eq)]
pub enum Region {
    West,
    East,
}

impl Region {
    pub fn has(self, car: &Car) -> bool {
        (car.position < LENGTH / 2.0) == (self == Self::West)
    }
}

pub type Cars = Vec<(Id, Car)>;

/// What one process makes of the same road with Bevy alone.
pub fn reference(steps: u32) -> BTreeMap<Id, [u32; 2]> {
    let mut app = App::new();
    app.add_systems(Update, |mut cars: Query<&mut Car>| cars.iter_mut().for_each(|mut car| car.drive()));
    spawn(&mut app, |_| true);
    (0..steps).for_each(|_| app.update());
    let mut cars = app.world_mut().query::<(&Id, &Car)>();
    cars.iter(app.world()).map(|(id, car)| (*id, car.bits())).collect()
}

pub fn by_id<'a>(cars: impl IntoIterator<Item = &'a (Id, Car)>) -> BTreeMap<Id, [u32; 2]> {
    cars.into_iter().map(|(id, car)| (*id, car.bits())).collect()
}

pub fn hash_of<'a>(cars: impl Iterator<Item = (&'a Id, &'a Car)>) -> u64 {
    hash::of_rows(cars.map(|(id, car)| (*id, car.bits())))
}

pub fn spawn(app: &mut App, is_here: impl Fn(&Car) -> bool) {
    let cars = (0..CARS).map(|id| (Id(id), Car::new(id))).filter(|(_, car)| is_here(car));
    app.world_mut().spawn_batch(cars.map(|(id, car)| (id, car, Owned)).collect::<Vec<_>>());
}
