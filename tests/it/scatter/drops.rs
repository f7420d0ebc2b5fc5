//! Messages that own something: each is dropped exactly once, whatever happens to it.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::common::Scheduling;
use crate::scatter::{Received, Sender};

/// How many messages were made and dropped.
#[derive(Resource, Clone, Default)]
pub(super) struct Counts {
    made: Arc<AtomicUsize>,
    dropped: Arc<AtomicUsize>,
}

impl Counts {
    pub(super) fn message(&self) -> Message {
        self.made.fetch_add(1, Ordering::Relaxed);
        Message { dropped: self.dropped.clone(), _heap: Box::new(7) }
    }

    pub(super) fn read(&self) -> (usize, usize) {
        (self.made.load(Ordering::Relaxed), self.dropped.load(Ordering::Relaxed))
    }
}

pub(super) struct Message {
    dropped: Arc<AtomicUsize>,
    /// A second drop would free this twice.
    _heap: Box<u64>,
}

impl Drop for Message {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

/// Where a system is to panic.
#[derive(Resource, Clone, Copy, Debug, PartialEq)]
pub(super) enum Fault {
    None,
    Send,
    Receive,
}

/// Enough senders for a first sweep to go parallel.
pub(super) const SENDERS: usize = 5000;

/// The number of the sender (and of the receiver) that panics: neither the first nor the last of
/// its worker's run.
pub(super) const FAULTY: u64 = 2300;

fn deliver(
    senders: AffineQuery<&Sender>,
    mut receivers: AffineQuery<(&Sender, &mut Received)>,
    counts: Res<Counts>,
    fault: Res<Fault>,
) {
    let scatter = || {
        senders.par_iter().scatter(
            &mut receivers,
            |outbox, sender| {
                sender.targets.iter().for_each(|&target| outbox.send(target, counts.message()));
                assert!(*fault != Fault::Send || sender.message != FAULTY, "a sender fails");
            },
            |(sender, mut received), _message| {
                assert!(*fault != Fault::Receive || sender.message != FAULTY, "a receiver fails");
                received.0 += 1;
            },
        )
    };
    match catch_unwind(AssertUnwindSafe(scatter)) {
        Ok(report) => assert_eq!((*fault, report.delivered + report.despawned), (Fault::None, 2 * SENDERS as u64)),
        Err(payload) => {
            let message = payload.downcast_ref::<&str>().copied();
            let expected = if *fault == Fault::Send { "a sender fails" } else { "a receiver fails" };
            assert_eq!(message, Some(expected), "{:?}", *fault);
        }
    }
}

/// Senders that write to the next one and to an entity that does not exist.
fn app(scheduling: Scheduling, counts: &Counts) -> App {
    let mut app = scheduling.app();
    let world = app.world_mut();
    let entities: Vec<_> = (0..SENDERS).map(|_| world.spawn(Received::default()).id()).collect();
    let despawned = world.spawn_empty().id();
    world.despawn(despawned);
    for (number, &entity) in entities.iter().enumerate() {
        let targets = vec![entities[(number + 1) % SENDERS], despawned];
        world.entity_mut(entity).insert(Sender { targets, message: number as u64 });
    }
    app.insert_resource(counts.clone()).insert_resource(Fault::None).add_systems(Update, deliver.affine());
    app
}

#[test]
fn delivered_and_undeliverable_messages_are_dropped_once() {
    for scheduling in Scheduling::all() {
        let counts = Counts::default();
        let mut app = app(scheduling, &counts);
        for frames in 1..=3 {
            app.update();
            assert_eq!(counts.read(), (2 * SENDERS * frames, 2 * SENDERS * frames), "{scheduling:?}");
        }
    }
}

#[test]
fn messages_of_a_failed_call_are_dropped_once_and_the_next_call_works() {
    for scheduling in Scheduling::all() {
        let counts = Counts::default();
        let mut app = app(scheduling, &counts);
        for fault in [Fault::Send, Fault::Receive, Fault::None, Fault::Receive, Fault::Send, Fault::None] {
            app.insert_resource(fault);
            app.update();
            let (made, dropped) = counts.read();
            assert_eq!(dropped, made, "{fault:?}, {scheduling:?}");
        }
    }
}
