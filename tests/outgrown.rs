//! A small tagged system is dealt out, and sweeps by itself. When it has grown it gets the gang.
//!
//! In a process of its own: the gang leads one round at a time, and what is learned of a system
//! depends on whether it could lead.

#[path = "common/mod.rs"]
#[allow(dead_code, reason = "each test crate uses a part of it")]
mod common;

use std::{thread, time::Duration};

use bevy::prelude::*;
use bevy_affinity::{AffinityExecutor, AffinitySchedules, Forced, ScheduleWay, prelude::*};

use common::{Scheduling, swept_rows};

/// Enough for the system's cost to be seen, and for the plan to be made anew.
const FRAMES: u64 = 40;

/// How often it was swept.
#[derive(Component)]
struct Row(u64);

/// Rows sleep: that takes as long on a busy machine as on a quiet one.
fn sweep(mut rows: AffineQuery<&mut Row>) {
    rows.par_iter_mut().for_each(|mut row| {
        row.0 += 1;
        thread::sleep(Duration::from_micros(100));
    });
}

fn light() {}

#[test]
fn a_tagged_system_that_grows_gets_the_gang_for_itself() {
    let mut app = Scheduling::lock_step(2).bare_app();
    app.insert_resource(AffinitySchedules::all().except(Update)).add_plugins(AffinityParallelPlugin);
    app.add_systems(Update, (sweep.affine(), light, light));
    app.edit_schedule(Update, |schedule| {
        AffinityExecutor::install_forced(schedule, Forced::Always(ScheduleWay::OnTheGang))
    });
    app.world_mut().spawn(Row(0));
    (0..FRAMES).for_each(|_| app.update());
    assert_eq!(swept_rows(&app)[1], 0, "one row is not shared");
    app.world_mut().spawn_batch((0..30).map(|_| Row(FRAMES)));
    // Where the machine is busy it may take longer.
    let mut frames = FRAMES;
    while swept_rows(&app)[1] < 5 * FRAMES {
        assert!(frames < 50 * FRAMES, "{:?}", swept_rows(&app));
        (0..FRAMES).for_each(|_| app.update());
        frames += FRAMES;
    }
    let mut rows = app.world_mut().query::<&Row>();
    assert!(rows.iter(app.world()).all(|row| row.0 == frames));
}
