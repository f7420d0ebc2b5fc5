//! A small tagged system is dealt out, and sweeps by itself. When it has grown it gets the gang.
//! Systems of a chain sweep by themselves where that takes less than rounds.
//!
//! In a process of its own: the gang leads one round at a time, and what is learned of a system
//! depends on whether it could lead.

#[path = "common/mod.rs"]
#[allow(dead_code, reason = "each test crate uses a part of it")]
mod common;

use std::{
    hint::spin_loop,
    sync::{Mutex, MutexGuard, PoisonError},
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

use bevy::prelude::*;
use bevy_affinity::{AffinityExecutor, AffinitySchedules, ScheduleWay, prelude::*};

use common::{Scheduling, swept_rows};

/// One test at a time leads the gang.
fn the_gang() -> MutexGuard<'static, ()> {
    static GANG: Mutex<()> = Mutex::new(());
    GANG.lock().unwrap_or_else(PoisonError::into_inner)
}

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
    let _gang = the_gang();
    let mut app = Scheduling::lock_step(2).bare_app();
    app.insert_resource(AffinitySchedules::all().except(Update)).add_plugins(AffinityParallelPlugin);
    app.add_systems(Update, (sweep.affine(), light, light));
    app.edit_schedule(Update, |schedule| AffinityExecutor::install_forced(schedule, Some(ScheduleWay::OnTheGang)));
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

/// Which thread runs the schedule.
#[derive(Resource)]
struct Leader(ThreadId);

fn spin(nanoseconds: u64) {
    let (began, time) = (Instant::now(), Duration::from_nanos(nanoseconds));
    while began.elapsed() < time {
        spin_loop();
    }
}

/// Rows take ten times as long on another core, as if they were far away from it.
fn sweep_here<const N: usize>(mut rows: AffineQuery<&mut Row>, leader: Res<Leader>) {
    rows.par_iter_mut().for_each(|mut row| {
        row.0 += 1;
        spin(if thread::current().id() == leader.0 { 100 } else { 1_000 });
    });
}

#[test]
fn a_chain_of_sweeps_that_take_less_on_one_thread_runs_there() {
    const ROWS: u64 = 100;
    let _gang = the_gang();
    let mut app = Scheduling::lock_step(2).bare_app();
    app.insert_resource(AffinitySchedules::all().except(Update)).add_plugins(AffinityParallelPlugin);
    app.insert_resource(Leader(thread::current().id()));
    app.add_systems(Update, (sweep_here::<0>.affine(), sweep_here::<1>.affine(), sweep_here::<2>.affine()).chain());
    app.edit_schedule(Update, |schedule| AffinityExecutor::install_forced(schedule, Some(ScheduleWay::OnTheGang)));
    app.world_mut().spawn_batch((0..ROWS).map(|_| Row(0)));
    let mut frames = 0;
    let mut swept_by_worker = || {
        (0..FRAMES).for_each(|_| app.update());
        frames += FRAMES;
        swept_rows(&app)[1]
    };
    // Where the machine is busy it may take longer until times are what they should be.
    let mut before = swept_by_worker();
    let stopped = (0..500).any(|_| {
        let now = swept_by_worker();
        std::mem::replace(&mut before, now) == now
    });
    assert!(stopped, "{before} rows in {frames} frames");
    let mut rows = app.world_mut().query::<&Row>();
    assert!(rows.iter(app.world()).all(|row| row.0 == 3 * frames));
}
