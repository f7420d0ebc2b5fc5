//! Messages that wait in a calendar: none is lost, and none comes at the end of time.

use std::time::{Duration, Instant};

use bevy::{ecs::system::RunSystemOnce, prelude::*};
use bevy_affinity::{affine_system, prelude::*};

use crate::common::Scheduling;
use crate::scatter::{Received, Sender, chain};

/// Takes some time where it is dear.
#[derive(Component)]
struct Slow {
    dear: bool,
}

#[derive(Resource, Default)]
struct Now(u64);

fn say_nothing(
    senders: AffineQuery<&Slow>,
    mut receivers: AffineQuery<&mut Received>,
    mut calendar: ResMut<Calendar<u64>>,
    mut now: ResMut<Now>,
) {
    now.0 += 1;
    let wait = |_: &mut TimedOutbox<'_, '_, u64>, slow: &Slow| {
        let began = Instant::now();
        while slow.dear && began.elapsed() < Duration::from_nanos(600) {}
    };
    let receive = |mut received: Mut<Received>, message| received.0 += message;
    senders.par_iter().scatter_timed(&mut calendar, now.0, &mut receivers, wait, receive);
}

/// Also where `Auto` goes by fork/join, as it does with rows of uneven cost, and then has none.
#[test]
fn what_arrives_is_delivered_where_nobody_sends() {
    const TURNS: u64 = 150;
    for scheduling in Scheduling::all().chain([Scheduling::auto(2)]) {
        let mut app = scheduling.app();
        app.init_resource::<Calendar<u64>>().init_resource::<Now>().add_systems(Update, say_nothing.affine());
        let to = app.world_mut().spawn(Received(0)).id();
        for turn in 0..TURNS {
            let senders = app.world_mut().spawn_batch((0..256).map(|number| Slow { dear: number < 20 }));
            let senders: Vec<Entity> = senders.collect();
            (0..4 + turn % 3).for_each(|_| app.update());
            senders.into_iter().for_each(|sender| _ = app.world_mut().despawn(sender));
            let next = app.world().resource::<Now>().0 + 1;
            app.world_mut().resource_mut::<Calendar<u64>>().send_at(to, next, 1);
            app.update();
            assert_eq!(app.world().get::<Received>(to), Some(&Received(turn + 1)), "{scheduling:?}");
        }
    }
}

/// How many messages were received, and how many are left in the calendar.
fn at_the_end_of_time<M>(system: impl IntoSystem<(), (), M>) -> (u64, usize) {
    let mut app = Scheduling::lock_step(2).app();
    app.init_resource::<Calendar<u64>>();
    let row = app.world_mut().spawn((Received(0), Due::<()>::at(0))).id();
    app.world_mut().run_system_once(affine_system(system)).expect("it has all that it asks for");
    (app.world().get::<Received>(row).expect("it was spawned").0, app.world().resource::<Calendar<u64>>().len())
}

#[test]
fn messages_for_the_end_of_time_are_never_delivered() {
    type Rows<'w, 's> = AffineQuery<'w, 's, (Entity, &'static mut Received)>;
    let by_all = |mut rows: Rows, mut calendar: ResMut<Calendar<u64>>| {
        rows.par_iter_mut().scatter_timed_within(
            &mut calendar,
            u64::MAX,
            |outbox, (entity, _)| outbox.send_at(entity, u64::MAX, 1),
            |(_, mut received), message| received.0 += message,
        );
    };
    assert_eq!(at_the_end_of_time(by_all), (0, 1));
    let by_due = |mut rows: Rows, mut agenda: Agenda, mut calendar: ResMut<Calendar<u64>>| {
        rows.par_iter_mut().due(&mut agenda, u64::MAX).scatter_timed_within(
            &mut calendar,
            |outbox, (entity, _)| {
                outbox.send_at(entity, u64::MAX, 1);
                None
            },
            |(_, mut received), message| {
                received.0 += message;
                None
            },
        );
    };
    assert_eq!(at_the_end_of_time(by_due), (0, 1));
}

/// Each row sends to some others, for the next steps.
fn send_ahead(
    mut rows: AffineQuery<(&Sender, &mut Received)>,
    mut calendar: ResMut<Calendar<u64>>,
    mut now: ResMut<Now>,
) {
    now.0 += 1;
    let now = now.0;
    rows.par_iter_mut().scatter_timed_within(
        &mut calendar,
        now,
        |outbox, (sender, _)| {
            for (&target, ahead) in sender.targets.iter().zip(0..) {
                outbox.send_at(target, now + ahead, sender.message);
            }
        },
        |(_, mut received), message| received.0 = chain(received.0, message),
    );
}

/// Thousands arrive at a time, and workers share the work of addressing them.
#[test]
fn many_that_arrive_at_a_time_keep_their_order() {
    const ROWS: usize = 3_000;
    let outcome = |scheduling: Scheduling| {
        let mut app = scheduling.app();
        app.init_resource::<Calendar<u64>>().init_resource::<Now>().add_systems(Update, send_ahead.affine());
        let rows: Vec<_> = app.world_mut().spawn_batch(vec![Received::default(); ROWS]).collect();
        for (number, &row) in rows.iter().enumerate() {
            // Many to a few rows, so that their order tells.
            let targets = [number * 7 % 40, number * 11 % ROWS, number * 13 % 90].map(|target| rows[target]);
            app.world_mut().entity_mut(row).insert(Sender { targets: targets.into(), message: number as u64 });
        }
        // Some of what is on its way to the last ones has nowhere to go.
        (0..4).for_each(|_| app.update());
        rows[ROWS - 500..].iter().for_each(|&row| _ = app.world_mut().despawn(row));
        (0..4).for_each(|_| app.update());
        let received = rows.iter().map(|&row| app.world().get::<Received>(row).copied());
        (received.collect::<Vec<_>>(), app.world().resource::<Calendar<u64>>().len())
    };
    let serial = outcome(Scheduling::SERIAL);
    for scheduling in Scheduling::all() {
        assert_eq!(outcome(scheduling), serial, "{scheduling:?}");
    }
}
