//! Rows that are dear enough for several threads to visit them, and who does.

use std::{
    collections::HashSet,
    mem,
    sync::{Mutex, PoisonError},
    thread::{self, ThreadId},
    time::Duration,
};

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::common::Scheduling;

/// One row in this many is dear.
const ONE_IN: u64 = 40;

/// What a dear row takes. It sleeps: that takes as long on a busy machine as on a quiet one, and
/// does not need cores.
const DEAR: Duration = Duration::from_micros(50);

/// Frames of a rehearsal: enough for what rows cost to be measured, and tries for a second thread.
const FEWEST: u32 = 10;
const MOST: u32 = 1_000;

/// Notes who visits rows.
#[derive(Resource, Default)]
pub(super) struct Visitors {
    seen: Mutex<HashSet<ThreadId>>,
    rehearse: bool,
}

impl Visitors {
    /// To be called in the visit of a row. True in a rehearsal: then nothing is to come of the
    /// visit, and the row is to be due again.
    pub(super) fn meet(&self, row: u64) -> bool {
        if row.is_multiple_of(ONE_IN) {
            self.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(thread::current().id());
            thread::sleep(DEAR);
        }
        self.rehearse
    }
}

/// Runs frames of which nothing comes, so that what the due rows cost is known: a call of unknown
/// cost stays on one thread. Where the gang is sure to sweep them then, a second thread has to be
/// among those who visit rows.
pub(super) fn rehearse(app: &mut App, scheduling: Scheduling) {
    app.world_mut().resource_mut::<Visitors>().rehearse = true;
    // The leader takes over from workers that are late, so one frame proves nothing.
    let enough = (0..MOST).find(|&frame| {
        let visitors = visitors_of_a_frame(app);
        assert!(visitors > 0, "no dear row is due, {scheduling:?}");
        frame >= FEWEST && (visitors > 1 || !is_shared(scheduling))
    });
    assert!(enough.is_some(), "one thread visited all rows in each of {MOST} frames, {scheduling:?}");
    app.world_mut().resource_mut::<Visitors>().rehearse = false;
}

fn visitors_of_a_frame(app: &mut App) -> usize {
    app.update();
    let seen = mem::take(&mut app.world_mut().resource_mut::<Visitors>().seen);
    seen.into_inner().unwrap_or_else(PoisonError::into_inner).len()
}

/// Whether several workers share each sweep that is known to be worth a round.
fn is_shared(scheduling: Scheduling) -> bool {
    scheduling.workers > 1 && matches!(scheduling.mode, SchedulerMode::LockStep | SchedulerMode::Heartbeat)
}
