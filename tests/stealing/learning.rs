//! Cuts move to where the time goes, and then stay.

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::{Scheduling, app, diagnostics, stolen_rows, sweep};

const ROWS: u32 = 400;

/// The dear tail: a tenth of the rows, which is all of the time.
fn in_the_tail(number: u32) -> bool {
    number >= ROWS - ROWS / 10
}

#[test]
fn a_dear_tail_is_shared_evenly_and_then_left_alone() {
    let mut app = app(Scheduling::lock_step(2), ROWS, in_the_tail);
    app.add_systems(Update, sweep.affine());
    (0..60).for_each(|_| app.update());
    let (migrations, migrated) = (diagnostics(&app).migrations, diagnostics(&app).migrated_rows);
    assert!(migrations > 0 && migrated > u64::from(ROWS / 4), "{migrations} migrations of {migrated} rows");
    let stolen = stolen_rows(&app);
    (0..100).for_each(|_| app.update());
    assert!(diagnostics(&app).migrations <= migrations + 1, "{} after {migrations}", diagnostics(&app).migrations);
    // Each worker has its half of the tail: now and then one is late by a row or two.
    let stolen = stolen_rows(&app) - stolen;
    assert!(stolen <= 200, "{stolen} rows stolen in 100 frames");
}

#[test]
fn growth_keeps_learned_proportions() {
    let mut app = app(Scheduling::lock_step(2), ROWS, in_the_tail);
    app.add_systems(Update, sweep.affine());
    (0..60).for_each(|_| app.update());
    let migrated = diagnostics(&app).migrated_rows;
    app.update();
    let before = crate::common::swept_rows(&app);
    // A few rows more change nothing; they belong to the last worker.
    app.world_mut().spawn((crate::Row { number: ROWS, dear: false }, crate::Swept::default()));
    app.update();
    let swept: Vec<_> = crate::common::swept_rows(&app).iter().zip(before).map(|(now, before)| now - before).collect();
    assert_eq!(swept.iter().sum::<u64>(), u64::from(ROWS) + 1);
    assert_eq!(diagnostics(&app).migrated_rows, migrated);
    assert!(swept[0] > u64::from(ROWS / 2 + ROWS / 5), "{swept:?}");
}

#[test]
fn even_rows_never_move() {
    let mut app = app(Scheduling::lock_step(2), 64, |_| true);
    app.add_systems(Update, sweep.affine());
    (0..60).for_each(|_| app.update());
    assert_eq!(diagnostics(&app).migrations, 0);
}
