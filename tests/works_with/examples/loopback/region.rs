//! What both regions have in common: the steps, and how cars are handed over.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use bevy::{app::ScheduleRunnerPlugin, prelude::*, state::app::StatesPlugin};
use bevy_affinity::prelude::*;
use bevy_affinity_works_with::{Id, settings};
use bevy_replicon::prelude::*;
use bevy_replicon_example_backend::RepliconExampleBackendPlugins;
use serde::{Deserialize, Serialize};

use crate::road::{self, Car, Cars, Owned, Region};

pub const STEPS: u32 = 300;
/// Between frames, in which a region mostly waits for the other one.
const PAUSE: Duration = Duration::from_micros(200);
/// A guard against hangs.
const PATIENCE: Duration = Duration::from_secs(60);

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
    road::spawn(&mut app, |car| region.has(car));
    app
}

/// Whether the other region has done all steps that this one has. Both compute one step at the same
/// time.
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

/// Parts with the cars that have left the region; in the last step nobody leaves, so that all are
/// somewhere.
fn hand_over(
    region: Res<Region>,
    mut steps: ResMut<Steps>,
    cars: Query<(Entity, &Id, &Car), With<Owned>>,
    mut commands: Commands,
) {
    steps.0 += 1;
    let (kept, left): (Vec<_>, Vec<_>) = cars.iter().partition(|(_, _, car)| steps.0 == STEPS || region.has(car));
    left.iter().for_each(|(entity, ..)| commands.entity(*entity).despawn());
    let kept = road::hash_of(kept.into_iter().map(|(_, id, car)| (id, car)));
    let cars = left.into_iter().map(|(_, id, car)| (*id, *car)).collect();
    commands.insert_resource(Outgoing(HandOver { step: steps.0, cars, kept }));
}

fn give_up(mut began: Local<Option<Instant>>, steps: Res<Steps>, mut exit: MessageWriter<AppExit>) {
    if began.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
        eprintln!("loopback: gave up after {} of {STEPS} steps", steps.0);
        exit.write(AppExit::error());
    }
}
