//! What a user sets: how many workers, where they stay, how long they stay awake, and how systems
//! are scheduled.

use std::time::Duration;

use bevy_ecs::{prelude::Resource, reflect::ReflectResource};
use bevy_reflect::Reflect;
use bevy_reflect::std_traits::ReflectDefault;

/// How many workers a gang has. The leader (the thread that runs the tagged systems) counts as one.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// fn use_two(mut settings: ResMut<AffinitySettings>) {
///     settings.workers = WorkerCount::Exactly(2);
/// }
/// # App::new().add_plugins(AffinityParallelPlugin).add_systems(Startup, use_two).update();
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Reflect)]
#[non_exhaustive]
#[type_path = "bevy_affinity"]
pub enum WorkerCount {
    /// As many as can run at once, less the [spare cores](AffinitySettings::spare_cores): no more
    /// than the affinity mask has cores, nor than a CPU quota keeps busy
    /// ([`Topology::available`](crate::topology::Topology::available)). Both are followed while an
    /// app runs: they are read again about once a second, for the thread that runs the app. So an
    /// app that pins that thread to one core is left with one worker.
    #[default]
    Auto,
    /// This many, with a warning if there are fewer cores. `Exactly(1)` sweeps on the leader alone;
    /// 0 counts as 1, and no pool has more than
    /// [`AffinityPool::MAX_WORKERS`](crate::AffinityPool::MAX_WORKERS).
    Exactly(usize),
}

/// How many cores [`WorkerCount::Auto`] leaves to all that runs beside the gang: the render thread,
/// audio, IO, other programs.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// // A server draws nothing: the gang may have every core.
/// let settings = AffinitySettings { spare_cores: SpareCores::Exactly(0), ..default() };
/// App::new().insert_resource(settings).add_plugins(AffinityParallelPlugin).update();
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Reflect)]
#[non_exhaustive]
#[type_path = "bevy_affinity"]
pub enum SpareCores {
    /// One of every eight cores, and no more than two: none on 2 and 4 cores, one on 8, two on 16
    /// and more.
    ///
    /// Pipelined rendering keeps one thread busy; audio, IO and drivers want a second core now and
    /// then, and nothing else of Bevy's runs for long beside tagged systems. On a few cores the
    /// gang needs each of them more: of 2 a spare one is half of the work, of 4 a quarter.
    #[default]
    Auto,
    /// This many; one worker, the leader, is left in any case. `Exactly(0)` suits simulations that
    /// draw nothing.
    Exactly(usize),
}

impl SpareCores {
    /// How many of `cores` cores the gang has; at least 1.
    pub(crate) fn leave_of(self, cores: usize) -> usize {
        let spare = match self {
            Self::Auto => (cores / 8).min(2),
            Self::Exactly(spare) => spare,
        };
        cores.saturating_sub(spare).max(1)
    }
}

/// Where the worker threads are allowed to run. The leader is never pinned.
///
/// On Linux and Android threads that are started on a pinned worker, by a system or for a row,
/// inherit its core, and a library that is used there first, as rayon, counts one: start those on
/// the main thread before the app runs. An app warns once of a thread without a name that was
/// started so.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// let settings = AffinitySettings { pinning: Pinning::CacheDomain, ..default() };
/// App::new().insert_resource(settings).add_plugins(AffinityParallelPlugin).update();
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Reflect)]
#[non_exhaustive]
#[type_path = "bevy_affinity"]
pub enum Pinning {
    /// Each worker on one core of its own: rows stay in that core's caches.
    #[default]
    Core,
    /// Each worker on the cores that share a last-level cache with its core: the system may move
    /// it, but not far. Linux and Android only; elsewhere it counts as [`Pinning::Off`], with one
    /// warning.
    CacheDomain,
    /// Wherever the system puts them.
    Off,
}

/// Settings of the plugin, and of a pool without an app. Insert the resource before the plugin or
/// change it while the app runs: changes apply between rounds, before the next tagged system, but
/// for [`exclusive`](Self::exclusive), which systems read once. The resource
/// [`AffinityPool`](crate::AffinityPool) is exchanged in the next frame, in `First`.
///
/// Write the others as `..default()`: there may be more of them in a later version.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// App::new()
///     .insert_resource(AffinitySettings { workers: WorkerCount::Exactly(2), ..default() })
///     .add_plugins(AffinityParallelPlugin);
/// ```
#[derive(Resource, Clone, Debug, PartialEq, Eq, Reflect)]
#[reflect(Resource, Default)]
#[type_path = "bevy_affinity"]
pub struct AffinitySettings {
    /// How many workers take part. Default: [`WorkerCount::Auto`].
    pub workers: WorkerCount,
    /// How many cores [`WorkerCount::Auto`] leaves to others. Default: [`SpareCores::Auto`]. What
    /// Bevy's own threads take is another matter: see [`task_pool_plugin`](Self::task_pool_plugin).
    pub spare_cores: SpareCores,
    /// Where the worker threads may run. Default: [`Pinning::Core`].
    pub pinning: Pinning,
    /// The most rows, 0 counting as 1, in
    /// - a slice of [`for_each_chunk`](crate::AffineParIter::for_each_chunk),
    /// - a run of [`contiguous_par_iter`](crate::AffineQuery::contiguous_par_iter),
    /// - a block of [`fused`](crate::fused),
    /// - a grain of a sweep by fork/join, rounded up to whole cache lines (64 rows); not of one
    ///   that sends messages.
    ///
    /// Default: 4,096 rows, 16 KiB of an `f32` column: two such columns fit a first-level cache.
    pub chunk_rows: usize,
    /// How long a worker stays awake after its last round before it blocks. Longer keeps the first
    /// round of the next system fast, shorter leaves the core to others; `Duration::MAX` is for
    /// ever. Default: 50 us, one to two wake-ups of a blocked thread. At most 1 us counts where
    /// there are more workers than cores.
    pub spin: Duration,
    /// From one time that a worker inside
    /// [`AffinityPool::heartbeat`](crate::AffinityPool::heartbeat) gives work away to the next, at
    /// least; on 2^n workers it gives away up to n jobs each time. Shorter spreads work sooner,
    /// longer costs less. Default: 100 us; giving a job away costs about 1 us. A worker that sleeps
    /// looks for work no sooner than after 50 us. Zero also has every call call the workers, short
    /// ones too.
    pub heartbeat: Duration,
    /// Whether workers mind other processes on their cores. One that shares its core sleeps as soon
    /// as it has nothing to do, whatever [`spin`](Self::spin) says: then the system gives it the
    /// core when it is called. One that is left less than a third of it is left out of rounds, and
    /// its rows swept by the others, if the leader is better off: a round would wait for it. It
    /// rests for 160 ms at first, and is left out for 20 ms (5 ms if it only stayed away), then for
    /// ever longer times, up to 1.3 s. Threads of this process, such as Bevy's, rayon's or a
    /// software rasteriser's, do not count. Nor does anything where workers share cores. A pool for
    /// which this is off calls all its workers, whichever the other pools of the process leave out.
    /// Default: on.
    pub avoid_busy_cores: bool,
    /// Whether tagged systems keep every other system that has access to the world from running
    /// beside them, so that the gang has the cores to itself. (One without parameters, or with
    /// nothing but `Local` and `Commands`, conflicts with none and may run still.) Read when a
    /// system is initialised (before its first run), so set it before the plugin. They claim access
    /// to everything for that, so Bevy's detection of ambiguities, if it is on, reports each system
    /// that is not ordered before or after them. Default: off.
    pub exclusive: bool,
}

impl AffinitySettings {
    pub(crate) const DEFAULT_CHUNK_ROWS: usize = 4096;
}

impl Default for AffinitySettings {
    fn default() -> Self {
        Self {
            workers: WorkerCount::Auto,
            spare_cores: SpareCores::Auto,
            pinning: Pinning::Core,
            chunk_rows: Self::DEFAULT_CHUNK_ROWS,
            spin: Duration::from_micros(50),
            heartbeat: Duration::from_micros(100),
            avoid_busy_cores: true,
            exclusive: false,
        }
    }
}

/// How the parallel calls of tagged systems run. A resource; live: each tagged system reads it when
/// it starts. All modes give the same results. A system that the gang deals out to a worker as a
/// whole ([`ScheduleWay::OnTheGang`](crate::ScheduleWay::OnTheGang)) sweeps there by itself,
/// whatever the mode.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// /// In turns as Bevy would run it; `AffinityDiagnostics::modes` compares them. Frames in which
/// /// the mode changes do not count there.
/// fn compare(mut mode: ResMut<SchedulerMode>, mut frame: Local<u32>) {
///     *frame += 1;
///     if *frame % 20 == 0 {
///         *mode = if *mode == SchedulerMode::Bevy { SchedulerMode::Auto } else { SchedulerMode::Bevy };
///     }
/// }
/// # let mut app = App::new();
/// # app.add_plugins(AffinityParallelPlugin).add_systems(Update, compare);
/// # (0..60).for_each(|_| app.update());
/// # let diagnostics = app.world().resource::<AffinityDiagnostics>();
/// # for mode in [SchedulerMode::Auto, SchedulerMode::Bevy] {
/// #     assert!(diagnostics.mode(mode).unwrap().frames > 10);
/// # }
/// ```
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Reflect)]
#[reflect(Resource, Default)]
#[non_exhaustive]
#[type_path = "bevy_affinity"]
pub enum SchedulerMode {
    /// Whichever of three is fastest, measured at each place that starts parallel calls: on the
    /// leader alone, in lock step, or by fork/join. The others are tried seldom: once they are
    /// known, that is expected to take a hundredth of the time at most.
    /// [`AffinityDiagnostics`](crate::AffinityDiagnostics) tells what was chosen and why.
    ///
    /// Trees ([`AffineTree`](crate::AffineTree)) are walked by fork/join in this mode, in
    /// `LockStep` and in `Heartbeat`; on one thread in `Bevy` and in `Serial`.
    #[default]
    Auto,
    /// On the pinned gang: each worker sweeps the same rows every time, and chunks of another only
    /// if that one is late. Sweeps that cost less than a round stay on the leader.
    LockStep,
    /// On the same workers, by fork/join: rows go to workers that have nothing to do, in ever
    /// smaller halves. For rows of very uneven cost. Small sweeps stay on the leader here too.
    /// [`AffinitySettings::heartbeat`] matters to trees and to joins of your own, not to sweeps.
    Heartbeat,
    /// On Bevy's compute threads: through its own `par_iter` where that has the same verb, and else
    /// in even parts, one for each thread.
    Bevy,
    /// Each call on the thread that starts it.
    Serial,
}

impl SchedulerMode {
    /// Every mode: to let a user choose.
    pub const ALL: &[Self] = &[Self::Auto, Self::LockStep, Self::Heartbeat, Self::Bevy, Self::Serial];
}

#[cfg(test)]
mod tests {
    use bevy_reflect::{TypeInfo, Typed};

    use super::*;

    #[test]
    fn small_machines_are_the_gangs_and_large_ones_keep_a_core_or_two() {
        let gang_of = |cores| SpareCores::Auto.leave_of(cores);
        assert_eq!([1, 2, 4, 6, 8, 12, 16, 32, 128].map(gang_of), [1, 2, 4, 6, 7, 11, 14, 30, 126]);
    }

    #[test]
    fn the_leader_is_left_whatever_is_spared() {
        assert_eq!([0, 1, 3, 4, usize::MAX].map(|spare| SpareCores::Exactly(spare).leave_of(4)), [4, 3, 1, 1, 1]);
    }

    #[test]
    fn no_mode_is_missing_from_the_list() {
        let TypeInfo::Enum(modes) = SchedulerMode::type_info() else { panic!("not an enum") };
        let listed: Vec<_> = SchedulerMode::ALL.iter().map(|mode| format!("{mode:?}")).collect();
        assert_eq!(listed, modes.variant_names());
    }
}
