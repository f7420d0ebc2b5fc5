//! A lock of the user's is held across a round: none of its threads runs another system meanwhile,
//! which would wait for itself.

use std::{
    cell::Cell,
    sync::{Mutex, PoisonError},
};

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::{Count, assert_counted, common::Scheduling, spawn_many};

thread_local! {
    /// Whether this thread holds the lock, or sweeps rows for the system that does.
    static TAKES_PART: Cell<bool> = const { Cell::new(false) };
}

/// What systems lock, and how often they did.
#[derive(Resource, Default)]
struct Ledger(Mutex<u64>);

/// Sets the flag of this thread while it calls `work`.
fn taking_part(work: impl FnOnce()) {
    let before = TAKES_PART.replace(true);
    work();
    TAKES_PART.set(before);
}

fn hold_the_lock(mut counts: AffineQuery<&mut Count>, ledger: Res<Ledger>) {
    taking_part(|| {
        let mut entries = ledger.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.par_iter_mut().for_each(|mut count| taking_part(|| count.0 += 1));
        *entries += 1;
    });
}

fn take_the_lock(ledger: Res<Ledger>) {
    assert!(!TAKES_PART.get(), "a system ran on a thread of a round, in which a lock was held");
    *ledger.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
}

#[test]
fn a_lock_is_held_across_rounds() {
    const FRAMES: u64 = 50;
    // Bevy's `par_iter` promises less: a thread that waits for others may run any system.
    for scheduling in Scheduling::all().filter(|scheduling| scheduling.mode != SchedulerMode::Bevy) {
        let mut app = scheduling.app();
        spawn_many(&mut app);
        let others = (take_the_lock, take_the_lock, take_the_lock, take_the_lock);
        app.init_resource::<Ledger>().add_systems(Update, (others, hold_the_lock.affine()));
        (0..FRAMES).for_each(|_| app.update());
        assert_counted(&mut app, FRAMES);
        let entries = *app.world().resource::<Ledger>().0.lock().unwrap_or_else(PoisonError::into_inner);
        assert_eq!(entries, 5 * FRAMES, "{scheduling:?}");
    }
}
