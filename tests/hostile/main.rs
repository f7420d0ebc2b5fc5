//! Attacks on the public API, one idea a test: programs that are allowed and that should not be
//! written. Results stay those of plain Bevy, values are dropped once, panics arrive, and nothing
//! hangs.
//!
//! A process of its own: where a test hangs after all, [`Watch`] ends the process, and with it the
//! tests that are still to run.

#[allow(dead_code, reason = "each test crate uses a part of it")]
#[path = "../common/mod.rs"]
mod common;
mod data;
mod drops;
mod missing;
mod reentry;
mod states;
mod verbs;
mod worlds;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    process,
    sync::mpsc::{self, RecvTimeoutError, Sender},
    thread,
    time::Duration,
};

use bevy::prelude::*;
use bevy_affinity::prelude::*;
use common::Scheduling;

/// Enough rows for a first sweep, whose cost is not known yet, to go parallel.
const MANY: u64 = 5000;

/// A row, and what was done to it.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Count(u64);

/// The number of a row.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Number(u64);

fn spawn_many(world: &mut World) {
    world.spawn_batch((0..MANY).map(|number| (Number(number), Count(0))));
}

fn count_up(mut counts: AffineQuery<&mut Count>) {
    counts.par_iter_mut().for_each(|mut count| count.0 += 1);
}

#[track_caller]
fn assert_counted(world: &mut World, times: u64) {
    let mut counts = world.query::<&Count>();
    assert_eq!(counts.iter(world).filter(|count| count.0 == times).count() as u64, MANY);
}

/// Every mode once, with workers enough.
fn each_mode() -> impl Iterator<Item = Scheduling> {
    [Scheduling::SERIAL, Scheduling::BEVY, Scheduling::lock_step(3), Scheduling::heartbeat(3), Scheduling::auto(2)]
        .into_iter()
}

/// The message of the panic that `f` ends with, if it does.
fn message(f: impl FnOnce()) -> Option<String> {
    let payload = catch_unwind(AssertUnwindSafe(f)).err()?;
    let text = payload.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| payload.downcast_ref::<String>().cloned()).or_else(|| Some("not a text".into()))
}

/// Ends the process if a test hangs: that would otherwise hang all.
struct Watch {
    _ended: Sender<()>,
}

impl Watch {
    fn over(test: &'static str) -> Self {
        let (sender, ended) = mpsc::channel::<()>();
        thread::spawn(move || {
            if ended.recv_timeout(Duration::from_secs(300)) == Err(RecvTimeoutError::Timeout) {
                eprintln!("{test} hangs");
                process::abort();
            }
        });
        Self { _ended: sender }
    }
}
