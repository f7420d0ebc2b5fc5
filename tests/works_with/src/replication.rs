//! bevy_replicon: a server moves entities, a client follows what arrives. Both run in this process,
//! and hand their messages over between frames.
//!
//! A third of the entities moves in each frame. What is sent follows from their change ticks, and
//! is part of the state.

use bevy::{prelude::*, state::app::StatesPlugin};
use bevy_affinity::prelude::*;
use bevy_replicon::{prelude::*, test_app::ServerTestAppExt};
use serde::{Deserialize, Serialize};

use crate::{Id, Scenario, Way, finish, hash};

const ENTITIES: u32 = 6_000;

#[derive(Component, Clone, Copy, Serialize, Deserialize)]
#[require(Shown)]
struct Place(Vec2);

/// Of the server alone.
#[derive(Component)]
struct Course(Vec2);

/// What a client would draw: it follows the place that was received.
#[derive(Component, Default)]
struct Shown(Vec2);

/// Frames so far.
#[derive(Resource, Default)]
struct Frame(u32);

pub struct Replication {
    server: App,
    client: App,
}

impl Scenario for Replication {
    const NAME: &str = "bevy_replicon";

    fn new(way: Way) -> Self {
        let (mut server, mut client) = (peer(way), peer(way));
        server.init_resource::<Frame>().add_systems(First, |mut frame: ResMut<Frame>| frame.0 += 1);
        match way {
            Way::Plain => {
                server.add_systems(Update, plain_drive);
                client.add_systems(Update, plain_follow)
            }
            Way::Tagged(_) => {
                server.add_systems(Update, tagged_drive.affine());
                client.add_systems(Update, tagged_follow.affine())
            }
        };
        finish(&mut server);
        finish(&mut client);
        spawn(server.world_mut());
        server.connect_client(&mut client);
        Self { server, client }
    }

    fn frame(&mut self) {
        self.server.update();
        self.server.exchange_with_client(&mut self.client);
        self.client.update();
    }

    fn state_hash(&mut self) -> u64 {
        let received = self.client.world().resource::<ClientReplicationStats>();
        let sent = (received.entities_changed, received.messages, received.bytes);
        let on_server = hash::of_entities::<&Place, 2>(&mut self.server, |place| hash::bits(place.0));
        let on_client = hash::of_entities::<&Place, 2>(&mut self.client, |place| hash::bits(place.0));
        let shown = hash::of_entities::<&Shown, 2>(&mut self.client, |shown| hash::bits(shown.0));
        assert_eq!(on_server, on_client, "the client has what the server sent");
        hash::of_rows(std::iter::once((Id(0), (on_server, shown, sent))))
    }

    fn apps(&self) -> Vec<&App> {
        vec![&self.server, &self.client]
    }
}

/// What both sides need to have in common.
fn peer(way: Way) -> App {
    let mut app = way.app();
    app.add_plugins((StatesPlugin, RepliconPlugins.set(ServerPlugin::new(PostUpdate))))
        .init_resource::<ClientReplicationStats>()
        .replicate::<Id>()
        .replicate::<Place>();
    app
}

fn spawn(world: &mut World) {
    world.spawn_batch((0..ENTITIES).map(|index| {
        let place = Vec2::new((index % 100) as f32, (index / 100) as f32);
        let course = Vec2::new(1.0 + (index % 7) as f32, 1.0 - (index % 5) as f32);
        (Id(index), Replicated, Place(place), Course(course))
    }));
}

/// Where an entity is next, if its turn has come.
fn driven(frame: u32, Id(id): Id, place: Vec2, course: Vec2) -> Option<Vec2> {
    let is_due = (frame + id).is_multiple_of(3);
    is_due.then(|| place + course.rotate(Vec2::from_angle((place * 0.1).element_sum())) * 0.01)
}

fn plain_drive(frame: Res<Frame>, mut entities: Query<(&Id, &Course, &mut Place)>) {
    entities.par_iter_mut().for_each(|(id, course, mut place)| {
        if let Some(next) = driven(frame.0, *id, place.0, course.0) {
            place.0 = next;
        }
    });
}

fn tagged_drive(frame: Res<Frame>, mut entities: AffineQuery<(&Id, &Course, &mut Place)>) {
    entities.par_iter_mut().for_each(|(id, course, mut place)| {
        if let Some(next) = driven(frame.0, *id, place.0, course.0) {
            place.0 = next;
        }
    });
}

fn plain_follow(mut entities: Query<(&Place, &mut Shown), With<Remote>>) {
    entities.par_iter_mut().for_each(|(place, mut shown)| shown.0 = shown.0.lerp(place.0, 0.2));
}

fn tagged_follow(mut entities: AffineQuery<(&Place, &mut Shown), With<Remote>>) {
    entities.par_iter_mut().for_each(|(place, mut shown)| shown.0 = shown.0.lerp(place.0, 0.2));
}
