//! Messages for later that own something: each is dropped exactly once, and a call that panics
//! leaves those alone that were to come after it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::common::Scheduling;
use crate::scatter::{
    Received, Sender,
    drops::{Counts, FAULTY, Fault, Message, SENDERS},
};

/// Which call delivers.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Verb {
    All,
    Due,
    Deliver,
}

/// What a frame does.
#[derive(Resource, Clone, Copy)]
struct Frame {
    verb: Verb,
    now: u64,
    fault: Fault,
}

impl Frame {
    /// Sends a message for now and one for the time after the next one.
    fn send(self, outbox: &mut TimedOutbox<'_, '_, Message>, sender: &Sender, counts: &Counts) {
        for &target in &sender.targets {
            outbox.send_at(target, self.now, counts.message());
            outbox.send_at(target, self.now + 2, counts.message());
        }
        assert!(self.fault != Fault::Send || sender.message != FAULTY, "a sender fails");
    }

    fn receive(self, sender: &Sender, received: &mut Received) {
        assert!(self.fault != Fault::Receive || sender.message != FAULTY, "a receiver fails");
        received.0 += 1;
    }
}

type Rows<'w, 's> = AffineQuery<'w, 's, (&'static Sender, &'static mut Received)>;

fn call(
    rows: &mut Rows,
    agenda: &mut Agenda,
    calendar: &mut Calendar<Message>,
    frame: Frame,
    counts: &Counts,
) -> ScatterReport {
    let (rows, now) = (rows.par_iter_mut(), frame.now);
    match frame.verb {
        Verb::All => rows.scatter_timed_within(
            calendar,
            now,
            |outbox, (sender, _)| frame.send(outbox, sender, counts),
            |(sender, mut received), _message| frame.receive(sender, &mut received),
        ),
        Verb::Due => rows.due(agenda, now).scatter_timed_within(
            calendar,
            |outbox, (sender, _)| {
                frame.send(outbox, sender, counts);
                Some(now)
            },
            |(sender, mut received), _message| {
                frame.receive(sender, &mut received);
                None
            },
        ),
        Verb::Deliver => {
            rows.deliver(calendar, now, |(sender, mut received), _message| frame.receive(sender, &mut received))
        }
    }
}

/// How many messages the last call delivered; `None` if it panicked.
#[derive(Resource, Default)]
struct Delivered(Option<u64>);

fn deliver(
    mut rows: Rows,
    mut agenda: Agenda,
    mut calendar: ResMut<Calendar<Message>>,
    (frame, counts): (Res<Frame>, Res<Counts>),
    mut delivered: ResMut<Delivered>,
) {
    let report = catch_unwind(AssertUnwindSafe(|| call(&mut rows, &mut agenda, &mut calendar, *frame, &counts)));
    if let Err(payload) = &report {
        let expected = if frame.fault == Fault::Send { "a sender fails" } else { "a receiver fails" };
        assert_eq!(payload.downcast_ref::<&str>().copied(), Some(expected), "{:?}", frame.fault);
    }
    delivered.0 = report.ok().map(|report| report.delivered);
}

/// Senders that write to the next one. In the calendar there is a message to each for time 1, and
/// one for time 3.
fn app(scheduling: Scheduling, counts: &Counts) -> App {
    let mut app = scheduling.app();
    let entities: Vec<_> =
        (0..SENDERS).map(|_| app.world_mut().spawn((Received::default(), Due::<()>::at(0))).id()).collect();
    let mut calendar = Calendar::default();
    for (number, &entity) in entities.iter().enumerate() {
        let targets = vec![entities[(number + 1) % SENDERS]];
        app.world_mut().entity_mut(entity).insert(Sender { targets, message: number as u64 });
        [1, 3].into_iter().for_each(|time| calendar.send_at(entity, time, counts.message()));
    }
    app.insert_resource(calendar).insert_resource(counts.clone()).init_resource::<Delivered>();
    app.add_systems(Update, deliver.affine());
    app
}

/// What a frame delivered, how many messages there are after it, and how many of them in the
/// calendar; in messages to all rows, which leave no rest.
fn step(app: &mut App, frame: Frame) -> (Option<u64>, usize, usize) {
    app.insert_resource(frame).update();
    let (made, dropped) = app.world().resource::<Counts>().read();
    let (alive, waiting) = (made - dropped, app.world().resource::<Calendar<Message>>().len());
    let delivered = app.world().resource::<Delivered>().0;
    assert!(alive % SENDERS == 0 && waiting % SENDERS == 0 && delivered.unwrap_or(0).is_multiple_of(SENDERS as u64));
    (delivered.map(|delivered| delivered / SENDERS as u64), alive / SENDERS, waiting / SENDERS)
}

/// How many messages each row received, which is the same for all.
fn received(app: &mut App) -> u64 {
    let mut rows = app.world_mut().query::<&Received>();
    let first = rows.iter(app.world()).next().expect("there are rows").0;
    assert!(rows.iter(app.world()).all(|received| received.0 == first));
    first
}

/// A call that panics at time 1, and those after it.
fn fail(scheduling: Scheduling, verb: Verb, fault: Fault) {
    let counts = Counts::default();
    let mut app = app(scheduling, &counts);
    let failed = step(&mut app, Frame { verb, now: 1, fault });
    assert_eq!(failed, (None, 1, 1), "only those for time 3 are left, {verb:?}, {fault:?}, {scheduling:?}");
    assert_eq!(app.world().resource::<Calendar<Message>>().next_time(), Some(3));
    // Those that were delivered before the panic.
    app.world_mut().query::<&mut Received>().iter_mut(app.world_mut()).for_each(|mut received| received.0 = 0);
    let after = [2, 3, 4].map(|now| step(&mut app, Frame { verb, now, fault: Fault::None }));
    let (expected, total) = match verb {
        Verb::All | Verb::Due => ([(Some(1), 2, 2), (Some(2), 2, 2), (Some(2), 2, 2)], 5),
        Verb::Deliver => ([(Some(0), 1, 1), (Some(1), 0, 0), (Some(0), 0, 0)], 1),
    };
    assert_eq!(after, expected, "{verb:?}, {fault:?}, {scheduling:?}");
    assert_eq!(received(&mut app), total, "{verb:?}, {fault:?}, {scheduling:?}");
    drop(app);
    let (made, dropped) = counts.read();
    assert_eq!(made, dropped, "{verb:?}, {fault:?}, {scheduling:?}");
}

#[test]
fn a_call_that_panics_drops_what_it_was_to_deliver_and_nothing_else() {
    for scheduling in Scheduling::all() {
        for verb in [Verb::All, Verb::Due] {
            fail(scheduling, verb, Fault::Send);
            fail(scheduling, verb, Fault::Receive);
        }
        fail(scheduling, Verb::Deliver, Fault::Receive);
    }
}
