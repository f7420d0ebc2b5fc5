//! The cores of a process change while an app runs: `WorkerCount::Auto` follows. A process of its
//! own, since all gangs of one share what is known of the cores.
#![cfg(target_os = "linux")]

use std::{
    ffi::OsString,
    fs::{self, DirEntry},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use bevy::prelude::*;
use bevy_affinity::prelude::*;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

#[derive(Component)]
struct Count(u64);

/// Enough rows for a first sweep, whose cost is not known yet, to go parallel.
const ROWS: usize = 5000;

fn count_up(mut counts: AffineQuery<&mut Count>) {
    counts.par_iter_mut().for_each(|mut count| count.0 += 1);
}

/// The mask is the process's, so tests take turns.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs frames until the pool has so many workers; how many frames that took.
fn frames_until(app: &mut App, workers: usize) -> u64 {
    let began = Instant::now();
    for frame in 1.. {
        app.update();
        if app.world().resource::<AffinityPool>().workers() == workers {
            return frame;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "the pool never had {workers} workers");
        thread::sleep(Duration::from_millis(10));
    }
    unreachable!("the loop is endless")
}

/// The threads of the gang, and the cores that each may run on.
fn workers_and_cores() -> Vec<(OsString, String)> {
    let tasks = fs::read_dir("/proc/self/task").expect("Linux lists the threads").flatten();
    let with_status = |task: DirEntry| Some((task.file_name(), fs::read_to_string(task.path().join("status")).ok()?));
    let is_worker = |(_, status): &(_, String)| status.starts_with("Name:\taffinity worker");
    let with_cores = |(task, status): (_, String)| (task, cores_in(&status));
    tasks.filter_map(with_status).filter(is_worker).map(with_cores).collect()
}

/// The cores that a thread may run on, by its `status`.
fn cores_in(status: &str) -> String {
    let cores = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    cores.expect("every thread has cores").trim().to_owned()
}

/// As [`workers_and_cores`], once each worker is on a core of its own: the first round after a
/// change pins it.
fn pinned_workers(app: &mut App, frames: &mut u64) -> Vec<(OsString, String)> {
    let began = Instant::now();
    loop {
        app.update();
        *frames += 1;
        let (workers, all) = (workers_and_cores(), app.world().resource::<AffinityPool>().workers());
        if workers.len() == all - 1 && workers.iter().all(|(_, cores)| cores.parse::<usize>().is_ok()) {
            return workers;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "not pinned: {workers:?}");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_mask_is_followed_there_and_back() {
    let _turn = turn();
    let everywhere = sched_getaffinity(None).expect("the system tells");
    let cores: Vec<_> = (0..CpuSet::MAX_CPU).filter(|&core| everywhere.is_set(core)).collect();
    let mut app = App::new();
    app.insert_resource(AffinitySettings { spare_cores: SpareCores::Exactly(0), ..default() })
        .insert_resource(SchedulerMode::LockStep)
        .add_plugins(AffinityParallelPlugin)
        .add_systems(Update, count_up.affine());
    app.world_mut().spawn_batch((0..ROWS).map(|_| Count(0)));
    let all = app.world().resource::<AffinityPool>().workers();
    let mut frames = frames_until(&mut app, all);
    let before = pinned_workers(&mut app, &mut frames);
    // On one core there is nothing to take away; under a quota or in a container that forbids it
    // nothing changes.
    let mut one = CpuSet::new();
    one.set(cores[0]);
    if all < 2 || sched_setaffinity(None, &one).is_err() {
        return;
    }
    frames += frames_until(&mut app, 1);
    sched_setaffinity(None, &everywhere).expect("what was allowed before");
    frames += frames_until(&mut app, all);
    assert_eq!(pinned_workers(&mut app, &mut frames), before, "the same threads on the same cores");
    let mut counts = app.world_mut().query::<&Count>();
    assert!(counts.iter(app.world()).all(|count| count.0 == frames));
}

/// Runs frames until the workers may run where this thread may.
fn frames_until_all_have_one_mask(app: &mut App) {
    let own = || {
        let status = fs::read_to_string("/proc/thread-self/status");
        cores_in(&status.expect("Linux tells"))
    };
    let began = Instant::now();
    loop {
        app.update();
        let workers = workers_and_cores();
        if !workers.is_empty() && workers.iter().all(|(_, cores)| *cores == own()) {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{workers:?}, this thread {}", own());
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn workers_that_are_not_pinned_follow_it_too() {
    let _turn = turn();
    let everywhere = sched_getaffinity(None).expect("the system tells");
    let first = (0..CpuSet::MAX_CPU).find(|&core| everywhere.is_set(core)).expect("this thread runs somewhere");
    let mut app = App::new();
    let workers = WorkerCount::Exactly(2);
    app.insert_resource(AffinitySettings { workers, pinning: Pinning::Off, ..default() })
        .insert_resource(SchedulerMode::LockStep)
        .add_plugins(AffinityParallelPlugin)
        .add_systems(Update, count_up.affine());
    app.world_mut().spawn_batch((0..ROWS).map(|_| Count(0)));
    frames_until_all_have_one_mask(&mut app);
    let mut one = CpuSet::new();
    one.set(first);
    if sched_setaffinity(None, &one).is_err() {
        return;
    }
    frames_until_all_have_one_mask(&mut app);
    sched_setaffinity(None, &everywhere).expect("what was allowed before");
    frames_until_all_have_one_mask(&mut app);
}
