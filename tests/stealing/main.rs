//! Rows that change hands: chunks of late workers are swept by others with the same results, and
//! cuts move to where the time goes.
//!
//! A row that is dear sleeps: that takes as long on a busy machine as on a quiet one, and does not
//! need cores.

#[path = "../common/mod.rs"]
#[allow(dead_code, reason = "each test crate uses a part of it")]
mod common;
mod learning;
mod panics;
mod results;
mod shapes;
#[path = "../common/tables.rs"]
mod tables;

use std::{thread, time::Duration};

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use common::Scheduling;

/// How long a dear row takes.
const DEAR: Duration = Duration::from_micros(200);

/// A row: its number, and whether it is dear.
#[derive(Component, Clone, Copy)]
struct Row {
    number: u32,
    dear: bool,
}

impl Row {
    fn work(self) {
        if self.dear {
            thread::sleep(DEAR);
        }
    }
}

/// An app with `rows` rows of which those in `dear` are dear.
fn app(scheduling: Scheduling, rows: u32, dear: impl Fn(u32) -> bool) -> App {
    let mut app = scheduling.app();
    let rows = (0..rows).map(|number| Row { number, dear: dear(number) });
    app.world_mut().spawn_batch(rows.map(|row| (row, Swept::default())).collect::<Vec<_>>());
    app
}

/// How often a row was swept.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
struct Swept(u32);

fn sweep(mut rows: AffineQuery<(&Row, &mut Swept)>) {
    rows.par_iter_mut().for_each(|(row, mut swept)| {
        row.work();
        swept.0 += 1;
    });
}

fn diagnostics(app: &App) -> &AffinityDiagnostics {
    app.world().resource()
}

fn stolen_rows(app: &App) -> u64 {
    diagnostics(app).workers.iter().map(|worker| worker.stolen_rows).sum()
}

/// Checks with one new app after the other, until rows were stolen in one: where the machine is
/// busy a worker may begin so late, frame after frame, that its whole share is taken over instead.
fn until_stolen(workers: usize, check: impl Fn(Scheduling) -> App) {
    const ATTEMPTS: u32 = 200;
    let stolen = (0..ATTEMPTS).any(|_| stolen_rows(&check(Scheduling::lock_step(workers))) > 0);
    assert!(stolen, "{workers} workers: nothing was stolen in {ATTEMPTS} attempts");
}
