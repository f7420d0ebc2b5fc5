//! What the gang did: pulled from the workers' own counters once a frame.

mod forecast;
mod frame;
mod modes;
mod places;
mod schedules;
mod shares;
mod sites;
mod store;
mod systems;
mod timeline;
#[cfg(feature = "trace-file")]
mod trace_file;

pub use forecast::Forecast;
pub(crate) use frame::{Observers, begin_frame};
pub use modes::ModeDiagnostics;
pub(crate) use places::Places;
pub use schedules::ScheduleDiagnostics;
pub use shares::WorkerShares;
pub use sites::{CallMeasurement, CallSiteDiagnostics};
pub use store::paths;
pub use systems::SystemDiagnostics;
pub use timeline::AffinityTimeline;

use std::time::Duration;

use bevy_ecs::prelude::Resource;

use crate::{
    context::Context,
    pool::{SweptRows, WorkerStats, now},
    record::{FrameSpan, Ring},
    schedule::LookedInto,
    settings::SchedulerMode,
    topology::{CoreId, Topology},
};
use schedules::pull_schedules;
use shares::Window;
use sites::pull_sites;

/// Where the time of tagged systems goes, brought up to date at the end of each frame. Frames,
/// modes and systems count from the app's start, workers and migrations from the last change of
/// [`AffinitySettings`](crate::AffinitySettings); take differences for a stretch of time.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// fn report(diagnostics: Res<AffinityDiagnostics>) {
///     for worker in &diagnostics.workers {
///         println!("worker {}: busy {:?}, waited {:?}", worker.index, worker.busy, worker.wait);
///     }
///     for mode in &diagnostics.modes {
///         println!("{:?}: {:?} a frame, {:?} of it tagged", mode.mode, mode.frame_time, mode.tagged_time);
///     }
/// }
/// # bevy::ecs::system::assert_is_system(report);
/// ```
///
/// Some figures sum up the others. Each is `None` until there is something to tell:
///
/// ```
/// # use bevy::prelude::*;
/// # use bevy_affinity::prelude::*;
/// fn sum_up(diagnostics: Res<AffinityDiagnostics>) {
///     if let Some(times) = diagnostics.speed_up(SchedulerMode::Auto) {
///         println!("{times:.1} x as fast as on one thread");
///     }
///     let (share, more) = (diagnostics.same_core_share(), diagnostics.imbalance());
///     println!("rows on the core of the time before: {share:?}; busiest by: {more:?}");
/// }
/// # App::new().add_plugins(AffinityParallelPlugin).add_systems(Last, sum_up).update();
/// # let new = AffinityDiagnostics::default();
/// # assert_eq!(new.speed_up(SchedulerMode::Auto), None);
/// # assert_eq!((new.same_core_share(), new.imbalance()), (None, None));
/// ```
#[derive(Resource, Clone, Debug)]
pub struct AffinityDiagnostics {
    /// Frames since the app started.
    pub frames: u64,
    /// The workers by index; the leader first.
    pub workers: Vec<WorkerDiagnostics>,
    /// The tagged systems that have run and still exist, each in a place that it keeps: new ones
    /// come behind the others, in the order of their first runs, or in the places of systems that
    /// are gone. A place that is vacant meanwhile has an empty [`name`](SystemDiagnostics::name).
    pub systems: Vec<SystemDiagnostics>,
    /// Every mode that frames have run in, in the order of their first frame. Kept when the mode
    /// changes, for before and after.
    pub modes: Vec<ModeDiagnostics>,
    /// The places that started parallel calls in mode [`Auto`](SchedulerMode::Auto), in the order
    /// of their first calls, as they were in the last one in that mode; refreshed some times a
    /// second. None where the gang has one worker.
    pub call_sites: Vec<CallSiteDiagnostics>,
    /// The schedules that the plugin gave an executor, by label; refreshed some times a second.
    pub schedules: Vec<ScheduleDiagnostics>,
    /// Rows that changed owner because tables grew, shrank or were cut anew, or because some rows
    /// were found to cost more than others.
    pub migrated_rows: u64,
    /// How often rows changed owner because some were found to cost more than others.
    pub migrations: u64,
    history: Ring<FrameSpan>,
    window: Window,
    /// Whether what is not computed in every frame was in this one.
    refreshed: bool,
    /// When the frame began, if that is known, and how long before it the one before, in
    /// nanoseconds.
    began: Option<u64>,
    delta: u64,
}

/// Frames in [`AffinityDiagnostics::history`]: some eight seconds at 60 a second. 36 KiB.
const HISTORY_FRAMES: usize = 512;

/// What recent runs say is computed every 16th frame of the first 128 too: who looks at an app that
/// has just started, or at a short test, need not wait for an eighth of a second.
const YOUNG_FRAMES: u64 = 128;
const FRAMES_WHEN_YOUNG: u64 = 16;

impl Default for AffinityDiagnostics {
    fn default() -> Self {
        Self {
            frames: 0,
            workers: Vec::new(),
            systems: Vec::new(),
            modes: Vec::new(),
            call_sites: Vec::new(),
            schedules: Vec::new(),
            migrated_rows: 0,
            migrations: 0,
            history: Ring::new(HISTORY_FRAMES),
            window: Window::default(),
            refreshed: false,
            began: None,
            delta: 0,
        }
    }
}

/// What one worker did on the gang: calls that stayed on one thread, and those on Bevy's threads,
/// are not in it.
///
/// Others' work comes to a worker in three ways: it is `taken_over` where one did not start in
/// time, the last chunks of its rows are `stolen_rows`, and fork/join counts `jobs_taken`.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// fn report(diagnostics: Res<AffinityDiagnostics>) {
///     for worker in &diagnostics.workers {
///         println!("{}: busy for {:?}, waited {:?}, {} rows", worker.index, worker.busy, worker.wait, worker.swept_rows);
///     }
/// }
/// # App::new().add_plugins(AffinityParallelPlugin).add_systems(Last, report).update();
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct WorkerDiagnostics {
    /// The worker's index; 0 is the leader.
    pub index: usize,
    /// The core that is the worker's by topology: where it is pinned, if it is. `None` for the
    /// leader and for workers beyond the number of cores. [`Topology::find`] tells what it shares
    /// with others.
    pub core: Option<CoreId>,
    /// As [`WorkerStats::busy`].
    pub busy: Duration,
    /// As [`WorkerStats::wait`].
    pub wait: Duration,
    /// As [`WorkerStats::rounds`].
    pub rounds: u64,
    /// As [`WorkerStats::taken_over`].
    pub taken_over: u64,
    /// As [`WorkerStats::rounds_left_out`].
    pub rounds_left_out: u64,
    /// Rows of the worker's shares that were swept in calls on the gang, also by the leader where
    /// the worker did not start in time, and with them those that it took from other workers.
    pub swept_rows: u64,
    /// Those of them that were swept on a core that is known: all, on Linux and Android. Other
    /// systems do not tell where a thread that is not pinned runs, as the leader.
    pub located_rows: u64,
    /// Located rows swept on the same core as the last time, and by the same worker where they have
    /// an owner. Rows that were never swept before count too.
    pub same_core_rows: u64,
    /// Rows swept for other workers, which were late with them.
    pub stolen_rows: u64,
    /// As [`WorkerStats::jobs_taken`].
    pub jobs_taken: u64,
    /// As [`WorkerStats::joins_published`].
    pub joins_published: u64,
    /// How the last second of the worker was spent; refreshed some times a second.
    pub recent: WorkerShares,
}

impl AffinityDiagnostics {
    /// The share of rows that were swept on the core that swept them last time, of those whose core
    /// is known; `None` before any were.
    pub fn same_core_share(&self) -> Option<f64> {
        let sum = |rows: fn(&WorkerDiagnostics) -> u64| self.workers.iter().map(rows).sum::<u64>();
        let located = sum(|worker| worker.located_rows);
        (located > 0).then(|| sum(|worker| worker.same_core_rows) as f64 / located as f64)
    }

    /// How much busier than the mean the busiest worker was in the last second: 0 if all were as
    /// busy, 1 if it was twice as busy. `None` if none was busy at all.
    pub fn imbalance(&self) -> Option<f64> {
        let busy = || self.workers.iter().map(|worker| worker.recent.busy);
        let mean = busy().sum::<f64>() / self.workers.len().max(1) as f64;
        (mean > 0.0).then(|| busy().fold(0.0, f64::max) / mean - 1.0)
    }

    /// The last 512 frames, the oldest first.
    pub fn history(&self) -> impl DoubleEndedIterator<Item = &FrameSpan> + ExactSizeIterator {
        self.history.values().iter()
    }

    /// What is known of `mode`, if frames have run in it.
    pub fn mode(&self, mode: SchedulerMode) -> Option<&ModeDiagnostics> {
        self.modes.iter().find(|known| known.mode == mode)
    }

    /// How many times faster tagged systems were in `mode` than in [`SchedulerMode::Serial`], in
    /// frames in which they ran equally often, when both modes last were on; `None` until both have
    /// had some such frames. What a call does may have changed in between: a comparison in turns,
    /// as the overlay's, is more to be trusted.
    pub fn speed_up(&self, mode: SchedulerMode) -> Option<f64> {
        self.mode(SchedulerMode::Serial)?.ratio_to(self.mode(mode)?)
    }

    fn is_young(&self) -> bool {
        self.frames < YOUNG_FRAMES && self.frames % FRAMES_WHEN_YOUNG == 1
    }

    fn pull(&mut self, context: &Context, places: &Places, looked_into: Option<&LookedInto>) {
        if let Some(ownership) = context.try_ownership() {
            (self.migrated_rows, self.migrations) = (ownership.placement.migrated(), ownership.placement.migrations());
        }
        self.workers.resize_with(context.pool.workers(), WorkerDiagnostics::default);
        let counted = context.pool.worker_stats().zip(&*context.pool.swept);
        for ((index, worker), (stats, rows)) in self.workers.iter_mut().enumerate().zip(counted) {
            worker.pull(index, stats, rows, context.pool.topology());
        }
        let alone = Duration::from_nanos(context.systems.alone());
        let outside_rounds = alone.saturating_sub(context.pool.rounds_in_systems());
        let is_time = self.window.observe(now(), outside_rounds, &mut self.workers);
        self.refreshed = is_time || self.is_young();
        self.pull_systems(places, self.refreshed);
        // A place that was vacated is not that of their systems any more.
        if self.refreshed || !places.vacated().is_empty() {
            pull_sites(&mut self.call_sites, context, places);
            pull_schedules(&mut self.schedules, looked_into);
        }
    }
}

impl WorkerDiagnostics {
    fn pull(&mut self, index: usize, stats: WorkerStats, rows: &SweptRows, topology: &Topology) {
        self.index = index;
        self.core = topology.cores.get(index).map(|core| core.id).filter(|_| index > 0);
        WorkerStats {
            busy: self.busy,
            wait: self.wait,
            rounds: self.rounds,
            taken_over: self.taken_over,
            rounds_left_out: self.rounds_left_out,
            jobs_taken: self.jobs_taken,
            joins_published: self.joins_published,
        } = stats;
        self.swept_rows = rows.all();
        (self.located_rows, self.same_core_rows) = rows.located();
        self.stolen_rows = rows.stolen();
    }
}
