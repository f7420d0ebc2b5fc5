//! What the gang did: pulled from the workers' own counters once a frame.

use std::time::Duration;

use bevy::prelude::{Res, ResMut, Resource};

use crate::{
    context::{Context, SweptRows, SystemTiming, WorldContext},
    pool::WorkerTimes,
    topology::{CoreId, Topology},
};

/// Where the time of tagged systems goes, brought up to date at the end of each frame. Frames and systems count from the app's start, workers and
/// migrations from the last change of [`AffinitySettings`](crate::AffinitySettings); take differences for a stretch of time.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// fn report(diagnostics: Res<AffinityDiagnostics>) {
///     for worker in &diagnostics.workers {
///         println!("worker {}: busy {:?}, waited {:?}", worker.index, worker.busy, worker.wait);
///     }
/// }
/// # bevy::ecs::system::assert_is_system(report);
/// ```
#[derive(Resource, Clone, Debug, Default)]
pub struct AffinityDiagnostics {
    /// Frames since the app started.
    pub frames: u64,
    /// The workers by index; the leader first.
    pub workers: Vec<WorkerDiagnostics>,
    /// The tagged systems that have run, in the order of their first run.
    pub systems: Vec<SystemDiagnostics>,
    /// Rows that changed owner because tables grew, shrank or were cut anew.
    pub migrated_rows: u64,
}

/// What one worker did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerDiagnostics {
    /// The worker's index; 0 is the leader.
    pub index: usize,
    /// The core that is the worker's by topology: where it is pinned, if it is. `None` for the leader and for workers beyond the number of cores.
    pub core: Option<CoreId>,
    /// Time inside closures.
    pub busy: Duration,
    /// Time in rounds outside closures: starting late, or waiting for others at the barrier.
    pub wait: Duration,
    /// Rounds taken part in.
    pub rounds: u64,
    /// Indices run for workers that did not start in time.
    pub taken_over: u64,
    /// Rows swept.
    pub swept_rows: u64,
    /// Rows swept by the worker that swept them last time, on the same core as then.
    pub same_core_rows: u64,
}

/// How long one tagged system takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SystemDiagnostics {
    /// The system's name.
    pub name: String,
    /// How often it ran.
    pub calls: u64,
    /// Mean duration of a run.
    pub mean: Duration,
    /// 95 of 100 recent runs took no longer; refreshed every 16 frames.
    pub p95: Duration,
    /// The longest run.
    pub max: Duration,
}

impl AffinityDiagnostics {
    /// The share of rows that were swept on the core that swept them last time; `None` before any were.
    pub fn same_core_share(&self) -> Option<f64> {
        let sum = |rows: fn(&WorkerDiagnostics) -> u64| self.workers.iter().map(rows).sum::<u64>();
        let swept = sum(|worker| worker.swept_rows);
        (swept > 0).then(|| sum(|worker| worker.same_core_rows) as f64 / swept as f64)
    }

    fn pull(&mut self, context: &Context) {
        self.migrated_rows = context.placement().migrated();
        self.workers.resize_with(context.pool.workers(), WorkerDiagnostics::default);
        let counted = context.pool.worker_times().zip(&context.affinity);
        for ((index, worker), (times, rows)) in self.workers.iter_mut().enumerate().zip(counted) {
            worker.pull(index, times, rows);
        }
        let systems = context.systems.all();
        self.systems.resize_with(systems.len(), SystemDiagnostics::default);
        // Sorting the recent calls of each system takes a microsecond or so: not in every frame.
        let with_p95 = self.frames % FRAMES_PER_P95 == 1;
        for (system, timing) in self.systems.iter_mut().zip(systems.iter()) {
            system.pull(timing, with_p95);
        }
    }
}

/// How often the 95th percentiles are computed: some times a second, as fast as one can read them.
const FRAMES_PER_P95: u64 = 16;

impl WorkerDiagnostics {
    fn pull(&mut self, index: usize, times: WorkerTimes, rows: &SweptRows) {
        let (swept_rows, same_core_rows) = rows.read();
        let core = Topology::get().cores.get(index).map(|core| core.id).filter(|_| index > 0);
        let WorkerTimes { busy, wait, rounds, taken_over } = times;
        *self = Self { index, core, busy, wait, rounds, taken_over, swept_rows, same_core_rows };
    }
}

impl SystemDiagnostics {
    fn pull(&mut self, timing: &SystemTiming, with_p95: bool) {
        if self.name != timing.name {
            *self = Self { name: timing.name.clone(), ..Self::default() };
        }
        self.calls = timing.calls();
        self.mean = timing.total() / u32::try_from(self.calls).unwrap_or(u32::MAX).max(1);
        self.max = timing.longest();
        if with_p95 {
            self.p95 = timing.p95();
        }
    }
}

/// Brings the diagnostics up to date.
pub(crate) fn pull_diagnostics(mut diagnostics: ResMut<AffinityDiagnostics>, world_context: Res<WorldContext>) {
    diagnostics.frames += 1;
    diagnostics.pull(&world_context.current());
}
