//! What goes wrong in every frame is said once.

use std::thread;

use bevy::prelude::*;
use bevy_affinity::{ScatterReport, prelude::*};

use crate::{alone::alone, assert_frames, common::Scheduling, counting, log, workers};

/// Whom a sender sends to.
#[derive(Component)]
struct To(Entity);

#[derive(Component)]
struct Received(u64);

#[derive(Resource, Default)]
struct Report(ScatterReport);

fn send(senders: AffineQuery<&To>, mut receivers: AffineQuery<&mut Received>, mut report: ResMut<Report>) {
    let deliver = |mut received: Mut<Received>, number: u64| received.0 += number;
    report.0 = senders.par_iter().scatter(&mut receivers, |outbox, to| outbox.send(to.0, 1), deliver);
}

const SENDERS: usize = 6000;

/// An app in which a third of the messages go to an entity that is gone, a third to one that is no
/// receiver.
fn app(scheduling: Scheduling) -> (App, Entity) {
    let mut app = scheduling.app();
    let world = app.world_mut();
    let (receiver, other, gone) = (world.spawn(Received(0)).id(), world.spawn_empty().id(), world.spawn_empty().id());
    world.despawn(gone);
    let targets = [receiver, gone, other];
    world.spawn_batch((0..SENDERS).map(move |sender| To(targets[sender % 3])));
    app.init_resource::<Report>().add_systems(Update, send.affine());
    (app, receiver)
}

#[test]
fn messages_to_entities_that_are_gone() {
    alone(|| {
        log::listen();
        let third = SENDERS as u64 / 3;
        for scheduling in Scheduling::all() {
            let (mut app, receiver) = app(scheduling);
            for frame in 1..=10 {
                app.update();
                let expected = ScatterReport { delivered: third, despawned: third, unmatched: third };
                assert_eq!(app.world().resource::<Report>().0, expected, "{scheduling:?}");
                assert_eq!(app.world().get::<Received>(receiver).map(|sum| sum.0), Some(frame * third));
            }
        }
        log::assert_one_warning_of("messages to entities that do not exist");
    });
}

#[test]
fn systems_without_a_tag() {
    alone(|| {
        fn walk(mut nodes: AffineTree<&mut Received>, roots: Query<Entity, With<Received>>) {
            nodes.propagate(roots.iter().map(|root| (root, ())), |(), _, mut received| {
                received.0 += 1;
                Some(())
            });
        }

        log::listen();
        let mut app = Scheduling::lock_step(2).app();
        let node = app.world_mut().spawn(Received(0)).id();
        app.add_systems(Update, (crate::count_up, walk));
        (0..20).for_each(|_| app.update());
        assert_eq!(app.world().get::<Received>(node).map(|visits| visits.0), Some(20));
        log::assert_one_warning_of("an AffineQuery runs through Bevy's par_iter");
        log::assert_one_warning_of("an AffineTree runs serially");
    });
}

#[test]
fn more_workers_than_cores() {
    alone(|| {
        log::listen();
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let mut app = counting(Scheduling::lock_step(2 * cores + 1).app());
        assert_frames(&mut app, 100);
        assert_eq!(workers(&app), 2 * cores + 1);
        for workers in [1, 2 * cores + 1].into_iter().cycle().take(6) {
            app.insert_resource(Scheduling::lock_step(workers).settings());
            assert_frames(&mut app, 10);
        }
        log::assert_one_warning("they will take turns");
    });
}
