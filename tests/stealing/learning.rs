//! Cuts move to where the time goes, and then stay.

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::{Scheduling, app, diagnostics, sweep};

const ROWS: u32 = 400;

/// The dear tail: a tenth of the rows, which is all of the time.
fn in_the_tail(number: u32) -> bool {
    number >= ROWS - ROWS / 10
}

/// Frames until cuts have certainly moved: a busy machine, on which workers miss rounds, teaches
/// less.
fn learn(app: &mut App) {
    for _ in 0..1_000 {
        app.update();
        if diagnostics(app).migrated_rows > u64::from(ROWS / 3) {
            return;
        }
    }
    panic!("{} rows migrated in {} frames", diagnostics(app).migrated_rows, diagnostics(app).frames);
}

#[test]
fn a_dear_tail_is_shared() {
    let mut app = app(Scheduling::lock_step(2), ROWS, in_the_tail);
    app.add_systems(Update, sweep.affine());
    learn(&mut app);
    // Half of the rows at first, and nearly all in the end.
    let before = crate::common::swept_rows(&app);
    (0..20).for_each(|_| app.update());
    let led = crate::common::swept_rows(&app)[0] - before[0];
    assert!(led > u64::from(20 * ROWS * 3 / 4), "{led} of {}", 20 * ROWS);
    assert!(diagnostics(&app).migrations > 0);
}

#[test]
fn growth_keeps_learned_proportions() {
    let mut app = app(Scheduling::lock_step(2), ROWS, in_the_tail);
    app.add_systems(Update, sweep.affine());
    learn(&mut app);
    let (migrated, migrations) = (diagnostics(&app).migrated_rows, diagnostics(&app).migrations);
    // A few rows more change nothing; they belong to the last worker.
    app.world_mut().spawn((crate::Row { number: ROWS, dear: false }, crate::Swept::default()));
    app.update();
    let grown = diagnostics(&app);
    assert!(grown.migrated_rows == migrated || grown.migrations > migrations);
}
