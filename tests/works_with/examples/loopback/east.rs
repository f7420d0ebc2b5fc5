//! The eastern region: the client. It sees the western cars as ghosts, and compares them whenever
//! it has the whole of a step.

use std::collections::BTreeMap;

use bevy::prelude::*;
use bevy_affinity::prelude::*;
use bevy_affinity_works_with::{Id, rows_of_followers};
use bevy_replicon::{
    client::{ServerUpdateTick, server_mutate_ticks::ServerMutateTicks},
    prelude::*,
};
use bevy_replicon_example_backend::ExampleClient;

use crate::{
    region::{self, Eastward, Finished, Incoming, Outgoing, STEPS, Step, Westward},
    road::{self, Car, Cars, Owned, Region},
};

/// What the ghosts must be, by step, and what came of it.
#[derive(Resource, Default)]
struct Ghosts {
    expected: BTreeMap<u32, u64>,
    compared: u32,
    different: u32,
    is_finished: bool,
}

/// The app, connected to the western one at `port` of this machine.
pub fn app(port: u16) -> App {
    let mut app = region::app(Region::East);
    let client = ExampleClient::new(([127, 0, 0, 1], port)).expect("the western region listens");
    app.insert_resource(client)
        .init_resource::<Ghosts>()
        .configure_sets(Update, Step.run_if(in_state(ClientState::Connected)))
        .add_systems(PreUpdate, (receive, compare).chain().after(ClientSystems::Receive))
        .add_systems(Update, (send.run_if(resource_exists_and_changed::<Outgoing>), finish).chain().after(Step))
        .add_systems(OnExit(ClientState::Connected), leave);
    app
}

fn receive(mut letters: MessageReader<Eastward>, mut incoming: ResMut<Incoming>, mut ghosts: ResMut<Ghosts>) {
    for Eastward(letter) in letters.read() {
        ghosts.expected.insert(letter.step, letter.kept);
        incoming.put(letter);
    }
}

/// Ghosts are those of one step when all its messages have been applied, and none of a later one.
fn compare(
    updated: Res<ServerUpdateTick>,
    mutated: Res<ServerMutateTicks>,
    mut ghosts: ResMut<Ghosts>,
    cars: Query<(&Id, &Car), With<Remote>>,
) {
    let step = mutated.last_tick();
    if mutated.last_confirmed_tick() != Some(step) || updated.is_newer(step) {
        return;
    }
    if let Some(expected) = ghosts.expected.remove(&step.get()) {
        ghosts.compared += 1;
        ghosts.different += u32::from(road::hash_of(cars.iter()) != expected);
        // What comes later replaces what was before.
        ghosts.expected.retain(|later, _| *later > step.get());
    }
}

fn send(outgoing: Res<Outgoing>, mut letters: MessageWriter<Westward>) {
    letters.write(Westward(outgoing.0.clone()));
}

/// Once the ghosts of the last step have been compared.
fn finish(
    mut ghosts: ResMut<Ghosts>,
    mutated: Res<ServerMutateTicks>,
    cars: Query<(&Id, &Car), With<Owned>>,
    diagnostics: Res<AffinityDiagnostics>,
    outgoing: Option<Res<Outgoing>>,
    mut last_words: MessageWriter<Finished>,
) {
    let is_done = outgoing.is_some_and(|outgoing| outgoing.0.step == STEPS) && mutated.last_tick().get() == STEPS;
    if ghosts.is_finished || !is_done || !ghosts.expected.is_empty() {
        return;
    }
    ghosts.is_finished = true;
    last_words.write(Finished {
        cars: cars.iter().map(|(id, car)| (*id, *car)).collect::<Cars>(),
        compared: ghosts.compared,
        different: ghosts.different,
        rows_of_followers: rows_of_followers(&diagnostics),
    });
}

/// The western region has all it needs, or is gone.
fn leave(ghosts: Res<Ghosts>, mut exit: MessageWriter<AppExit>) {
    exit.write(if ghosts.is_finished { AppExit::Success } else { AppExit::error() });
}
