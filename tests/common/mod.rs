//! Apps that schedule in a given way, and what to ask them afterwards.

use bevy::{
    prelude::*,
    tasks::{ComputeTaskPool, TaskPoolBuilder},
};
use bevy_affinity::prelude::*;

/// Threads of Bevy's compute pool: with a single one its `par_iter` is serial.
const COMPUTE_THREADS: usize = 3;

/// A way to run the parallel calls of tagged systems.
#[derive(Clone, Copy, Debug)]
pub struct Scheduling {
    pub mode: SchedulerMode,
    pub workers: usize,
}

impl Scheduling {
    pub const SERIAL: Self = Self { mode: SchedulerMode::Serial, workers: 1 };
    pub const BEVY: Self = Self { mode: SchedulerMode::Bevy, workers: 1 };

    pub const fn lock_step(workers: usize) -> Self {
        Self { mode: SchedulerMode::LockStep, workers }
    }

    pub const fn heartbeat(workers: usize) -> Self {
        Self { mode: SchedulerMode::Heartbeat, workers }
    }

    pub const fn auto(workers: usize) -> Self {
        Self { mode: SchedulerMode::Auto, workers }
    }

    /// Every mode; the gang with one to four workers.
    pub fn all() -> impl Iterator<Item = Self> {
        let on_gang = |workers| [Self::lock_step(workers), Self::heartbeat(workers), Self::auto(workers)];
        [Self::SERIAL, Self::BEVY].into_iter().chain((1..=4).flat_map(on_gang))
    }

    /// An app with the plugin that schedules this way.
    pub fn app(self) -> App {
        let mut app = self.bare_app();
        app.add_plugins(AffinityParallelPlugin);
        app
    }

    /// An app that schedules this way when it gets the plugin.
    pub fn bare_app(self) -> App {
        start_compute_threads();
        let mut app = App::new();
        app.insert_resource(self.settings()).insert_resource(self.mode);
        app
    }

    /// Whether sweeps that are worth it go to a gang of several workers.
    pub fn is_parallel(self) -> bool {
        self.mode == SchedulerMode::LockStep && self.workers > 1
    }

    pub fn settings(self) -> AffinitySettings {
        // Every worker takes part, however busy the machine is.
        AffinitySettings { workers: WorkerCount::Exactly(self.workers), avoid_busy_cores: false, ..default() }
    }
}

/// Gives the process its compute pool; Bevy keeps the first one.
pub fn start_compute_threads() {
    ComputeTaskPool::get_or_init(|| TaskPoolBuilder::new().num_threads(COMPUTE_THREADS).build());
}

/// How many rows each worker of the gang swept, by worker index.
pub fn swept_rows(app: &App) -> Vec<u64> {
    app.world().resource::<AffinityDiagnostics>().workers.iter().map(|worker| worker.swept_rows).collect()
}
