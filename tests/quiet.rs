//! The gang takes no CPU time while nobody needs it. A process of its own, since the gangs of all
//! apps of a process are one.
#![cfg(target_os = "linux")]

use std::{fs, thread, time::Duration};

use bevy::{
    prelude::*,
    tasks::{ComputeTaskPool, TaskPoolBuilder},
};
use bevy_affinity::prelude::*;

#[derive(Component)]
struct Count(u64);

/// Enough rows for a first sweep, whose cost is not known yet, to go parallel.
const ROWS: usize = 5000;

/// Frames that are observed, and the time from one to the next: 0.4 s together.
const FRAMES: u32 = 40;
const PERIOD: Duration = Duration::from_millis(10);

/// What the workers may take together in the time of all frames. A single one that stayed awake
/// would take most of it, and on a machine that is shared with ten busy processes a tenth.
const NOTHING: Duration = Duration::from_millis(5);

fn count_up(mut counts: AffineQuery<&mut Count>) {
    counts.par_iter_mut().for_each(|mut count| count.0 += 1);
}

fn untagged(mut counts: Query<&mut Count>) {
    counts.par_iter_mut().for_each(|mut count| count.0 += 1);
}

/// An app whose gang has threads that have worked.
fn app_that_swept() -> App {
    // With one thread Bevy's `par_iter` would be serial.
    ComputeTaskPool::get_or_init(|| TaskPoolBuilder::new().num_threads(2).build());
    let mut app = App::new();
    app.insert_resource(AffinitySettings { workers: WorkerCount::Exactly(2), ..default() })
        .insert_resource(SchedulerMode::LockStep)
        .add_plugins(AffinityParallelPlugin);
    app.world_mut().spawn_batch((0..ROWS).map(|_| Count(0)));
    app.add_systems(Update, count_up.affine().run_if(resource_exists::<Swept>)).insert_resource(Swept);
    (0..10).for_each(|_| app.update());
    app
}

/// Tagged systems run while it is there.
#[derive(Resource)]
struct Swept;

/// The CPU time that the threads of the gang have taken so far; `None` where the system does not
/// tell.
fn workers_time() -> Option<Duration> {
    let tasks = fs::read_dir("/proc/self/task").ok()?.flatten().map(|task| task.path());
    let is_worker = |task: &std::path::PathBuf| {
        fs::read_to_string(task.join("comm")).is_ok_and(|name| name.starts_with("affinity worker"))
    };
    let times: Option<Vec<u64>> = tasks
        .filter(is_worker)
        .map(|task| fs::read_to_string(task.join("schedstat")).ok()?.split_whitespace().next()?.parse().ok())
        .collect();
    let times = times.filter(|times| !times.is_empty())?;
    Some(Duration::from_nanos(times.iter().sum()))
}

/// What the workers take while `frame` is called again and again; zero where the system does not
/// tell.
fn taken_during(mut frame: impl FnMut()) -> Duration {
    // Whoever was awake blocks first.
    thread::sleep(PERIOD);
    let before = workers_time();
    for _ in 0..FRAMES {
        frame();
        thread::sleep(PERIOD);
    }
    workers_time().zip(before).map_or(Duration::ZERO, |(after, before)| after - before)
}

/// One test, for the tests of a process run at the same time and share the gang.
#[test]
fn workers_rest_while_nobody_needs_them() {
    let mut app = app_that_swept();
    let paused = taken_during(|| {});
    assert!(paused < NOTHING, "a paused app: {paused:?}");

    for mode in [SchedulerMode::Serial, SchedulerMode::Bevy] {
        app.insert_resource(mode);
        let elsewhere = taken_during(|| app.update());
        assert!(elsewhere < NOTHING, "{mode:?}: {elsewhere:?}");
    }

    app.insert_resource(SchedulerMode::LockStep).add_systems(Update, untagged);
    app.world_mut().remove_resource::<Swept>();
    let untagged = taken_during(|| app.update());
    assert!(untagged < NOTHING, "no tagged system runs: {untagged:?}");

    // In each frame a worker sweeps for some microseconds and stays awake for 50 us.
    app.insert_resource(Swept);
    let working = taken_during(|| app.update());
    assert!(working < FRAMES * PERIOD / 4, "between the frames of a running app: {working:?}");
}
