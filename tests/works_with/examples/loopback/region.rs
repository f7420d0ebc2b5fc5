//! What both regions have in common: the road, the cars, the steps, and how cars are handed over.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use bevy::{app::ScheduleRunnerPlugin, prelude::*, state::app::StatesPlugin};
use bevy_affinity::prelude::*;
use bevy_affinity_works_with::{Id, hash, settings};
use bevy_replicon::prelude::*;
use bevy_replicon_example_backend::RepliconExampleBackendPlugins;
use serde::{Deserialize, Serialize};

pub const STEPS: u32 = 300;
pub const CARS: u32 = 4_000;
const LENGTH: f32 = 4_000.0;

/// The work for a car in a step: enough that both workers are needed.
const MOODS: u32 = 64;

/// Between frames, in which a region mostly waits for the other one.
const PAUSE: Duration = Duration::from_micros(200);
/// A guard against hangs.
const PATIENCE: Duration = Duration::from_secs(60);

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

    fn drive(&mut self) {
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
    fn has(self, car: &Car) -> bool {
        (car.position < LENGTH / 2.0) == (self == Self::West)
    }
}

pub type Cars = Vec<(Id, Car)>;

/// Sent in every step, with cars or without: the other region waits for it.
#[derive(Serialize, Deserialize, Clone)]
pub struct HandOver {
    pub step: u32,
    pub cars: Cars,
    /// Of the cars that the sender keeps.
    pub kept: u64,
}

/// From the server to the client.
#[derive(Message, Serialize, Deserialize)]
pub struct Eastward(pub HandOver);

/// From the client to the server.
#[derive(Message, Serialize, Deserialize)]
pub struct Westward(pub HandOver);

/// The last word of the eastern region.
#[derive(Message, Serialize, Deserialize)]
pub struct Finished {
    pub cars: Cars,
    /// Steps after which the ghosts were compared with the cars that they stand for.
    pub compared: u32,
    /// Those after which they were not the same.
    pub different: u32,
    /// What workers other than the leader swept.
    pub rows_of_followers: u64,
}

/// Steps done.
#[derive(Resource, Default)]
pub struct Steps(pub u32);

/// What the other region handed over, by step.
#[derive(Resource, Default)]
pub struct Incoming(BTreeMap<u32, Cars>);

impl Incoming {
    pub fn put(&mut self, letter: &HandOver) {
        self.0.insert(letter.step, letter.cars.clone());
    }
}

/// What this region handed over in the last step, to be sent.
#[derive(Resource)]
pub struct Outgoing(pub HandOver);

/// A step: what comes before it and what is sent after it are the region's own.
#[derive(SystemSet, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Step;

/// An app with all that both sides must have, registered in the same order.
pub fn app(region: Region) -> App {
    let mut app = App::new();
    let server = ServerPlugin { tick_schedule: None, track_mutate_messages: true, ..default() };
    app.add_plugins((MinimalPlugins.set(ScheduleRunnerPlugin::run_loop(PAUSE)), StatesPlugin))
        .insert_resource(settings())
        .insert_resource(SchedulerMode::LockStep)
        .add_plugins((AffinityParallelPlugin, RepliconPlugins.set(server), RepliconExampleBackendPlugins))
        .insert_resource(region)
        .init_resource::<Steps>()
        .init_resource::<Incoming>()
        .replicate::<Id>()
        .replicate::<Car>()
        .add_server_message::<Eastward>(Channel::Ordered)
        .add_client_message::<Westward>(Channel::Ordered)
        .add_client_message::<Finished>(Channel::Ordered)
        .configure_sets(Update, Step.run_if(other_is_there))
        .add_systems(Update, (take_over, drive.affine(), hand_over).chain().in_set(Step))
        .add_systems(Last, give_up);
    spawn(&mut app, |car| region.has(car));
    app
}

/// What one process makes of the same road with Bevy alone.
pub fn reference() -> BTreeMap<Id, [u32; 2]> {
    let mut app = App::new();
    app.add_systems(Update, |mut cars: Query<&mut Car>| cars.iter_mut().for_each(|mut car| car.drive()));
    spawn(&mut app, |_| true);
    (0..STEPS).for_each(|_| app.update());
    let mut cars = app.world_mut().query::<(&Id, &Car)>();
    cars.iter(app.world()).map(|(id, car)| (*id, car.bits())).collect()
}

pub fn by_id<'a>(cars: impl IntoIterator<Item = &'a (Id, Car)>) -> BTreeMap<Id, [u32; 2]> {
    cars.into_iter().map(|(id, car)| (*id, car.bits())).collect()
}

pub fn hash_of<'a>(cars: impl Iterator<Item = (&'a Id, &'a Car)>) -> u64 {
    hash::of_rows(cars.map(|(id, car)| (*id, car.bits())))
}

fn spawn(app: &mut App, is_here: impl Fn(&Car) -> bool) {
    let cars = (0..CARS).map(|id| (Id(id), Car::new(id))).filter(|(_, car)| is_here(car));
    app.world_mut().spawn_batch(cars.map(|(id, car)| (id, car, Owned)).collect::<Vec<_>>());
}

/// Whether the other region has done all steps that this one has. Both compute one step at the same time.
fn other_is_there(steps: Res<Steps>, incoming: Res<Incoming>) -> bool {
    steps.0 < STEPS && (steps.0 == 0 || incoming.0.contains_key(&steps.0))
}

fn take_over(steps: Res<Steps>, mut incoming: ResMut<Incoming>, mut commands: Commands) {
    let arrived = incoming.0.remove(&steps.0).unwrap_or_default();
    commands.spawn_batch(arrived.into_iter().map(|(id, car)| (id, car, Owned)));
}

fn drive(mut cars: AffineQuery<&mut Car, With<Owned>>) {
    cars.par_iter_mut().for_each(|mut car| car.drive());
}

/// Parts with the cars that have left the region; in the last step nobody leaves, so that all are somewhere.
fn hand_over(
    region: Res<Region>,
    mut steps: ResMut<Steps>,
    cars: Query<(Entity, &Id, &Car), With<Owned>>,
    mut commands: Commands,
) {
    steps.0 += 1;
    let (kept, left): (Vec<_>, Vec<_>) = cars.iter().partition(|(_, _, car)| steps.0 == STEPS || region.has(car));
    left.iter().for_each(|(entity, ..)| commands.entity(*entity).despawn());
    let kept = hash_of(kept.into_iter().map(|(_, id, car)| (id, car)));
    let cars = left.into_iter().map(|(_, id, car)| (*id, *car)).collect();
    commands.insert_resource(Outgoing(HandOver { step: steps.0, cars, kept }));
}

fn give_up(mut began: Local<Option<Instant>>, steps: Res<Steps>, mut exit: MessageWriter<AppExit>) {
    if began.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
        eprintln!("loopback: gave up after {} of {STEPS} steps", steps.0);
        exit.write(AppExit::error());
    }
}
