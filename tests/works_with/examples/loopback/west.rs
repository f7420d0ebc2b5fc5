//! The western region: the server. It waits for the eastern one, and compares and reports in the
//! end.

use std::{collections::BTreeMap, time::Instant};

use bevy::prelude::*;
use bevy_affinity::prelude::*;
use bevy_affinity_works_with::{Id, rows_of_followers};
use bevy_replicon::{prelude::*, server::server_tick::ServerTick};
use bevy_replicon_example_backend::ExampleServer;

use crate::{
    region::{self, Eastward, Finished, Incoming, Outgoing, STEPS, Step, Westward},
    report::Report,
    road::{self, CARS, Car, Cars, Owned, Region},
};

/// What one process makes of the road: computed before the regions start, as an app cannot well run
/// inside another one's system.
#[derive(Resource)]
struct Reference(BTreeMap<Id, [u32; 2]>);

/// Cars that were handed over, and since when the regions have been at work.
#[derive(Resource)]
struct Journal {
    began: Instant,
    to_east: usize,
    to_west: usize,
}

/// The app, and the port at which it waits for the eastern one.
pub fn app() -> (App, u16) {
    let mut app = region::app(Region::West);
    let server = ExampleServer::new(0).expect("the loopback has a free port");
    let port = server.local_addr().expect("the server has an address").port();
    app.insert_resource(server)
        .insert_resource(Reference(road::reference(STEPS)))
        .insert_resource(Journal { began: Instant::now(), to_east: 0, to_west: 0 })
        .configure_sets(Update, Step.run_if(any_with_component::<AuthorizedClient>))
        .add_systems(PreUpdate, receive.after(ServerSystems::Receive))
        .add_systems(Update, (publish, send.run_if(resource_exists_and_changed::<Outgoing>)).after(Step))
        .add_systems(Last, conclude);
    (app, port)
}

fn receive(
    mut letters: MessageReader<FromClient<Westward>>,
    mut incoming: ResMut<Incoming>,
    mut journal: ResMut<Journal>,
) {
    for letter in letters.read() {
        journal.to_west += letter.0.cars.len();
        incoming.put(&letter.0);
    }
}

/// All cars of this region are seen in the other one, those that came in this step too.
fn publish(cars: Query<Entity, (With<Owned>, Without<Replicated>)>, mut commands: Commands) {
    commands.insert_batch(cars.iter().map(|car| (car, Replicated)).collect::<Vec<_>>());
}

/// The tick of replicon is the step: what is replicated is the state after it.
fn send(
    outgoing: Res<Outgoing>,
    mut tick: ResMut<ServerTick>,
    mut letters: MessageWriter<ToClients<Eastward>>,
    mut journal: ResMut<Journal>,
) {
    journal.to_east += outgoing.0.cars.len();
    tick.increment();
    letters.write(ToClients { targets: SendTargets::CLIENTS_ONLY, message: Eastward(outgoing.0.clone()) });
}

fn conclude(
    mut last_words: MessageReader<FromClient<Finished>>,
    cars: Query<(&Id, &Car), With<Owned>>,
    journal: Res<Journal>,
    reference: Res<Reference>,
    diagnostics: Res<AffinityDiagnostics>,
    mut exit: MessageWriter<AppExit>,
) {
    let Some(east) = last_words.read().next() else { return };
    let west: Cars = cars.iter().map(|(id, car)| (*id, *car)).collect();
    let all_cars = road::by_id(west.iter().chain(&east.cars));
    let report = Report {
        cars: [west.len(), east.cars.len()],
        handed_over: [journal.to_east, journal.to_west],
        rows_of_followers: [rows_of_followers(&diagnostics), east.rows_of_followers],
        time: journal.began.elapsed(),
        ghosts_compared: east.compared,
        ghosts_are_same: east.compared > 0 && east.different == 0,
        cars_are_same: all_cars == reference.0 && west.len() + east.cars.len() == CARS as usize,
    };
    report.print();
    exit.write(if report.is_good() { AppExit::Success } else { AppExit::error() });
}
