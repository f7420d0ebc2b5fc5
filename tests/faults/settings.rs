//! Settings that change while the app runs, and extreme ones.

use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::{
    Count, MANY, assert_counted,
    common::{Scheduling, swept_rows},
    count_up, spawn_many,
};

const MODES: &[SchedulerMode] = SchedulerMode::ALL;
const PINNINGS: [Pinning; 3] = [Pinning::Core, Pinning::CacheDomain, Pinning::Off];

fn count_up_in_chunks(mut counts: AffineQuery<&mut Count>) {
    counts.par_iter_mut().for_each_chunk(|counts| counts.iter_mut().for_each(|count| count.0 += 1));
}

#[test]
fn all_settings_change_every_frame() {
    let mut app = Scheduling::lock_step(1).app();
    spawn_many(&mut app);
    app.add_systems(Update, (count_up, count_up_in_chunks).affine().chain());
    for frame in 0..200 {
        app.insert_resource(MODES[frame / 2 % MODES.len()]).insert_resource(AffinitySettings {
            workers: WorkerCount::Exactly(frame % 5),
            spare_cores: SpareCores::Exactly(frame % 3),
            pinning: PINNINGS[frame % PINNINGS.len()],
            chunk_rows: [0, 1, 7, 64, 4096, usize::MAX][frame % 6],
            spin: [Duration::ZERO, Duration::from_micros(20), Duration::from_millis(1)][frame / 3 % 3],
            heartbeat: [Duration::ZERO, Duration::from_micros(100)][frame % 2],
            exclusive: frame % 7 == 0,
            avoid_busy_cores: frame % 2 == 0,
        });
        app.update();
        assert_eq!(app.world().resource::<AffinityPool>().workers(), (frame % 5).max(1), "frame {frame}");
    }
    assert_counted(&mut app, 400);
}

#[test]
fn slices_are_as_short_as_asked_for() {
    fn count_slices(counts: AffineQuery<&Count>, settings: Res<AffinitySettings>) {
        let rows = AtomicUsize::new(0);
        counts.par_iter().for_each_chunk(|counts| {
            assert!(counts.len() <= settings.chunk_rows.max(1), "{} rows", counts.len());
            rows.fetch_add(counts.len(), Ordering::Relaxed);
        });
        assert_eq!(rows.into_inner(), MANY);
    }

    let sizes = [0, 1, 64, 1000, usize::MAX];
    let gangs = [Scheduling::lock_step(3), Scheduling::heartbeat(3)];
    for (chunk_rows, scheduling) in sizes.iter().flat_map(|&rows| gangs.map(|scheduling| (rows, scheduling))) {
        let mut app = scheduling.app();
        app.insert_resource(AffinitySettings { chunk_rows, ..scheduling.settings() });
        spawn_many(&mut app);
        app.add_systems(Update, count_slices.affine()).update();
    }
}

#[test]
fn a_system_changes_the_settings_between_others() {
    fn more_workers(mut settings: ResMut<AffinitySettings>, mut frame: Local<usize>) {
        *frame += 1;
        settings.workers = WorkerCount::Exactly(1 + *frame % 4);
    }

    let mut app = Scheduling::lock_step(1).app();
    spawn_many(&mut app);
    app.add_systems(Update, (count_up, more_workers, count_up).affine().chain());
    (0..20).for_each(|_| app.update());
    assert_counted(&mut app, 40);
}

#[test]
fn no_workers_are_one() {
    let mut app = Scheduling::lock_step(0).app();
    spawn_many(&mut app);
    app.add_systems(Update, count_up.affine()).update();
    assert_eq!(app.world().resource::<AffinityPool>().workers(), 1);
    assert_counted(&mut app, 1);
}

#[test]
fn more_workers_than_cores() {
    let workers = 2 * thread::available_parallelism().map_or(1, usize::from) + 3;
    let mut app = Scheduling::lock_step(workers).app();
    // A run for each: whole cache lines.
    let rows = MANY.max(64 * workers);
    app.world_mut().spawn_batch((0..rows).map(|_| Count(0)));
    app.add_systems(Update, count_up.affine());
    (0..20).for_each(|_| app.update());
    let mut counts = app.world_mut().query::<&Count>();
    assert_eq!(counts.iter(app.world()).filter(|count| count.0 == 20).count(), rows);
    let swept = swept_rows(&app);
    assert_eq!(swept.len(), workers);
    assert!(swept.iter().all(|&rows| rows > 0), "{swept:?}");
}

#[test]
fn idle_between_frames() {
    let mut app = Scheduling::lock_step(3).app();
    spawn_many(&mut app);
    app.insert_resource(AffinitySettings { spin: Duration::ZERO, ..Scheduling::lock_step(3).settings() });
    app.add_systems(Update, count_up.affine());
    for _ in 0..20 {
        // Long enough for every worker to block.
        thread::sleep(Duration::from_millis(1));
        app.update();
    }
    assert_counted(&mut app, 20);
}

#[test]
fn exclusive_systems_leave_others_out() {
    #[derive(Resource, Default)]
    struct Running(AtomicBool);

    fn alone(mut counts: AffineQuery<&mut Count>, running: Res<Running>) {
        running.0.store(true, Ordering::Relaxed);
        counts.par_iter_mut().for_each(|mut count| count.0 += 1);
        running.0.store(false, Ordering::Relaxed);
    }

    fn other(running: Res<Running>) {
        assert!(!running.0.load(Ordering::Relaxed), "a system ran beside an exclusive one");
    }

    let scheduling = Scheduling::lock_step(3);
    let mut app = scheduling.app();
    app.insert_resource(AffinitySettings { exclusive: true, ..scheduling.settings() });
    spawn_many(&mut app);
    app.init_resource::<Running>().add_systems(Update, (other, other, alone.affine(), other, other));
    (0..50).for_each(|_| app.update());
    assert_counted(&mut app, 50);
}
