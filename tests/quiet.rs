//! The gang takes no CPU time while nobody needs it. A process of its own, since the gangs of all
//! apps of a process are one.
#![cfg(target_os = "linux")]

use std::{
    fs,
    hint::black_box,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use bevy::{
    prelude::*,
    tasks::{ComputeTaskPool, TaskPoolBuilder},
};
use bevy_affinity::prelude::*;

#[path = "common/skip.rs"]
mod skip;

use skip::skip;

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

/// Takes tens of microseconds, which is worth a round.
fn count_up(mut counts: AffineQuery<&mut Count>) {
    counts.par_iter_mut().for_each(|mut count| {
        (0..20).for_each(|round| _ = black_box(round));
        count.0 += 1;
    });
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
    // The system may be slow to run a new thread, which then has no name yet.
    let has_worker = (0..1_000).any(|_| {
        thread::sleep(PERIOD);
        !workers().is_empty()
    });
    assert!(has_worker, "the gang has no thread");
    app
}

/// Tagged systems run while it is there.
#[derive(Resource)]
struct Swept;

/// The folders of the gang's threads.
fn workers() -> Vec<PathBuf> {
    let tasks = fs::read_dir("/proc/self/task").expect("Linux lists the threads").flatten().map(|task| task.path());
    let is_worker =
        |task: &PathBuf| fs::read_to_string(task.join("comm")).is_ok_and(|name| name.starts_with("affinity worker"));
    tasks.filter(is_worker).collect()
}

/// The CPU time that a thread has taken so far; `None` where the system does not tell.
fn time_of(task: &Path) -> Option<Duration> {
    let account = fs::read_to_string(task.join("schedstat")).ok()?;
    account.split_whitespace().next()?.parse::<u64>().ok().map(Duration::from_nanos)
}

/// Whether the system tells what a thread has taken once it has left its core, as this one has.
fn tells_times() -> bool {
    thread::sleep(PERIOD);
    time_of(Path::new("/proc/thread-self")).is_some_and(|time| !time.is_zero())
}

/// The CPU time that the threads of the gang have taken so far.
fn workers_time() -> Duration {
    let workers = workers();
    assert!(!workers.is_empty(), "the gang has no thread any more");
    workers.iter().map(|task| time_of(task).expect("the system tells of all threads")).sum()
}

/// What the workers take while `frame` is called again and again.
fn taken_during(mut frame: impl FnMut()) -> Duration {
    // Whoever was awake blocks first.
    thread::sleep(PERIOD);
    let before = workers_time();
    for _ in 0..FRAMES {
        frame();
        thread::sleep(PERIOD);
    }
    workers_time() - before
}

/// One test, for the tests of a process run at the same time and share the gang.
#[test]
fn workers_rest_while_nobody_needs_them() {
    if !tells_times() {
        return skip("needs a system that tells what threads take");
    }
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
    let takes_time = |_| {
        let working = taken_during(|| app.update());
        assert!(working < FRAMES * PERIOD / 4, "between the frames of a running app: {working:?}");
        !working.is_zero()
    };
    // On a busy machine it may be left out of rounds for a while.
    assert!((0..20).any(takes_time), "no worker swept anything");
}
