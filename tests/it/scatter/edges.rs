//! The smallest cases: no senders, no receivers, no size, and tables that come and go.

use bevy::{ecs::system::SystemState, prelude::*};
use bevy_affinity::prelude::*;

use crate::common::Scheduling;
use crate::scatter::{Received, Sender};

/// What the last scatter did.
#[derive(Resource, Default)]
struct Last(ScatterReport);

/// A message that says all by being there.
struct Nudge;

fn nudge(senders: AffineQuery<&Sender>, mut receivers: AffineQuery<&mut Received>, mut last: ResMut<Last>) {
    last.0 = senders.par_iter().scatter(
        &mut receivers,
        |outbox, sender| sender.targets.iter().for_each(|&target| outbox.send(target, Nudge)),
        |mut received, Nudge| received.0 += 1,
    );
}

fn app(scheduling: Scheduling) -> App {
    let mut app = scheduling.app();
    app.init_resource::<Last>().add_systems(Update, nudge.affine());
    app
}

fn report(app: &mut App) -> ScatterReport {
    app.update();
    app.world().resource::<Last>().0
}

#[test]
fn nobody_sends() {
    for scheduling in Scheduling::all() {
        let mut app = app(scheduling);
        assert_eq!(report(&mut app), ScatterReport::default());
        app.world_mut().spawn_batch((0..5000).map(|_| (Sender::default(), Received::default())));
        assert_eq!(report(&mut app), ScatterReport::default(), "{scheduling:?}");
        let mut changed = app.world_mut().query_filtered::<(), Changed<Received>>();
        app.world_mut().clear_trackers();
        report(&mut app);
        assert_eq!(changed.iter(app.world()).count(), 0, "{scheduling:?}: who receives nothing is not changed");
    }
}

#[test]
fn messages_without_size() {
    for scheduling in Scheduling::all() {
        let mut app = app(scheduling);
        let target = app.world_mut().spawn(Received(0)).id();
        app.world_mut().spawn_batch((0..5000).map(move |_| Sender { targets: vec![target; 3], message: 0 }));
        for frames in 1..=2 {
            assert_eq!(report(&mut app).delivered, 15_000, "{scheduling:?}");
            assert_eq!(app.world().get(target), Some(&Received(15_000 * frames)), "{scheduling:?}");
        }
    }
}

#[test]
fn targets_that_do_not_receive_or_are_gone() {
    for scheduling in Scheduling::all() {
        let mut app = app(scheduling);
        let world = app.world_mut();
        let (receiver, other, gone) =
            (world.spawn(Received(0)).id(), world.spawn_empty().id(), world.spawn(Received(0)).id());
        world.spawn_batch((0..5000).map(move |_| Sender { targets: vec![receiver, other, gone], message: 0 }));
        world.despawn(gone);
        let expected = ScatterReport { delivered: 5000, despawned: 5000, unmatched: 5000 };
        assert_eq!(report(&mut app), expected, "{scheduling:?}");
        // The despawned entity's place is taken by another one: messages to the old one do not
        // reach it.
        let heir = app.world_mut().spawn(Received(0)).id();
        assert_eq!(report(&mut app), expected, "{scheduling:?}");
        assert_eq!(app.world().get(heir), Some(&Received(0)), "{scheduling:?}");
    }
}

#[test]
fn rows_that_a_filter_skips_receive_nothing() {
    fn to_changed(
        senders: AffineQuery<&Sender>,
        mut receivers: AffineQuery<&mut Received, Added<Received>>,
        mut last: ResMut<Last>,
    ) {
        last.0 = senders.par_iter().scatter(
            &mut receivers,
            |outbox, sender| sender.targets.iter().for_each(|&target| outbox.send(target, 1_u64)),
            |mut received, message| received.0 += message,
        );
    }

    for scheduling in Scheduling::all() {
        let mut app = scheduling.app();
        app.init_resource::<Last>().add_systems(Update, to_changed.affine());
        let target = app.world_mut().spawn(Received(0)).id();
        app.world_mut().spawn_batch((0..5000).map(move |_| Sender { targets: vec![target], message: 0 }));
        assert_eq!(report(&mut app), ScatterReport { delivered: 5000, ..default() }, "{scheduling:?}");
        assert_eq!(report(&mut app), ScatterReport { unmatched: 5000, ..default() }, "{scheduling:?}");
        assert_eq!(app.world().get(target), Some(&Received(5000)), "{scheduling:?}");
    }
}

/// The messages that all of `receivers` have got so far.
fn received(app: &App, receivers: &[Entity]) -> u64 {
    receivers.iter().filter_map(|&receiver| app.world().get::<Received>(receiver)).map(|received| received.0).sum()
}

#[test]
fn receivers_that_come_and_go_between_frames() {
    for scheduling in Scheduling::all() {
        let mut app = app(scheduling);
        let mut receivers: Vec<_> = (0..100).map(|_| app.world_mut().spawn(Received(0)).id()).collect();
        for frame in 0..10 {
            let world = app.world_mut();
            world.despawn(receivers.remove(frame));
            receivers.extend((0..frame * 50).map(|_| world.spawn(Received(0)).id()));
            let targets = receivers.clone();
            world.spawn_batch((0..50).map(move |_| Sender { targets: targets.clone(), message: 0 }));
            let before = received(&app, &receivers);
            let delivered = report(&mut app).delivered;
            assert_eq!(received(&app, &receivers) - before, delivered, "frame {frame}, {scheduling:?}");
        }
    }
}

/// Rows of two worlds go by the same numbers: they cannot be owned by the same workers.
#[test]
#[should_panic(expected = "of another world")]
fn receivers_of_another_world() {
    #[derive(Resource)]
    struct Elsewhere(World);

    fn across(senders: AffineQuery<&Sender>, mut elsewhere: ResMut<Elsewhere>) {
        let world = &mut elsewhere.0;
        let mut state = SystemState::<AffineQuery<&mut Received>>::new(world);
        let mut receivers = state.get_mut(world).expect("a query can always be had");
        senders.par_iter().scatter(
            &mut receivers,
            |outbox, sender| sender.targets.iter().for_each(|&target| outbox.send(target, Nudge)),
            |mut received, Nudge| received.0 += 1,
        );
    }

    let mut app = Scheduling::lock_step(2).app();
    app.insert_resource(Elsewhere(World::new())).add_systems(Update, across.affine());
    app.world_mut().spawn_batch((0..5000).map(|_| Sender::default()));
    app.update();
}
