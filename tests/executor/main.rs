//! What `AffinityExecutor` promises: whichever way it takes, systems see what they would see with
//! Bevy's executors; the plugin gives it to every schedule that is not left alone.

#[allow(dead_code, reason = "each test program needs a part of it")]
#[path = "../common/mod.rs"]
mod common;
mod conditions;
mod differential;
mod installed;
mod left_alone;
mod panics;
mod parameters;
mod same_as_bevy;
mod stepping;
mod threads;
mod ticks;
#[path = "../common/ways.rs"]
mod ways;

use std::{
    fmt::Debug,
    mem,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use bevy::{
    ecs::{
        error::{BevyError, ErrorContext},
        schedule::{
            FixedBitSet, MultiThreadedExecutor, ScheduleConfigs, ScheduleLabel, SingleThreadedExecutor, SystemExecutor,
            SystemSchedule,
        },
        system::ScheduleSystem,
    },
    prelude::*,
};
use bevy_affinity::{AffinityExecutor, Forced, ScheduleDiagnostics, ScheduleWay, prelude::*};

use common::Scheduling;
use ways::ways_and_modes;

/// A schedule that is none of Bevy's.
#[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
struct Own;

/// Enough runs for a few trials: both ways are taken.
const RUNS: usize = 40;

/// Who runs a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Executor {
    Single,
    Multi,
    Ours,
    /// Ours, always on a gang of so many workers. With one there is no gang.
    Gang(usize),
    /// Ours, any way in each run, the gang of so many workers among them.
    Any(usize),
}

impl Executor {
    const ALL: [Self; 8] = [
        Self::Single,
        Self::Multi,
        Self::Ours,
        Self::Gang(2),
        Self::Gang(3),
        Self::Gang(4),
        Self::Any(2),
        Self::Any(3),
    ];

    fn give_to(self, schedule: &mut Schedule) {
        common::start_compute_threads();
        match self {
            Self::Single => _ = schedule.set_executor(SingleThreadedExecutor::new()),
            Self::Multi => _ = schedule.set_executor(MultiThreadedExecutor::new()),
            Self::Ours => AffinityExecutor::install(schedule),
            Self::Gang(_) => AffinityExecutor::install_forced(schedule, Forced::Always(ScheduleWay::OnTheGang)),
            Self::Any(order) => AffinityExecutor::install_forced(schedule, Forced::Any(order as u64)),
        }
    }

    /// A world for schedules that it was given to.
    fn world(self) -> World {
        let mut world = World::new();
        match self {
            Self::Single | Self::Multi => {}
            Self::Ours => world.insert_resource(AffinityPool::new(&Scheduling::auto(2).settings())),
            Self::Gang(workers) | Self::Any(workers) => {
                world.insert_resource(AffinityPool::new(&Scheduling::auto(workers).settings()))
            }
        }
        world
    }

    /// What it runs schedules and worlds on.
    fn schedule_and_world(self) -> (Schedule, World) {
        let mut schedule = Schedule::default();
        self.give_to(&mut schedule);
        (schedule, self.world())
    }
}

/// Tells of each system, by a number of its own, whether it is tagged.
type Tags = fn(usize) -> bool;

const TAGS: [Tags; 3] = [|_| true, |_| false, |number| number.is_multiple_of(2)];

fn tag<M>(tagged: bool, system: impl IntoSystem<(), (), M>) -> ScheduleConfigs<ScheduleSystem> {
    if tagged { system.affine() } else { system.into_configs() }
}

/// Each way and mode, with tags on all systems, on none and on some.
fn ways_modes_and_tags() -> impl Iterator<Item = (Scheduling, Forced, Tags)> {
    ways_and_modes().flat_map(|(scheduling, forced)| TAGS.map(|tags| (scheduling, forced, tags)))
}

/// A schedule that goes this way, and a world with the plugin in this mode.
fn forced_schedule_and_world(scheduling: Scheduling, forced: Forced) -> (Schedule, World) {
    let mut schedule = Schedule::default();
    AffinityExecutor::install_forced(&mut schedule, forced);
    (schedule, mem::take(scheduling.app().world_mut()))
}

/// Asserts that systems find the same each way, in each mode and with any tags as in plain Bevy.
/// Returns what that is.
fn compare_with_bevy<T: PartialEq + Debug>(find: impl Fn(Schedule, World, Tags) -> T) -> T {
    let [single, multi] = [Executor::Single, Executor::Multi].map(|executor| {
        let (schedule, world) = executor.schedule_and_world();
        find(schedule, world, |_| false)
    });
    assert_eq!(multi, single, "Bevy's executors differ");
    for (scheduling, forced, tags) in ways_modes_and_tags() {
        let (schedule, world) = forced_schedule_and_world(scheduling, forced);
        let found = find(schedule, world, tags);
        assert_eq!(found, single, "{scheduling:?}, {forced:?}, tags: {:?}", [0, 1].map(tags));
    }
    single
}

/// Bevy's executor, counting its runs.
struct Counting {
    runs: Arc<AtomicUsize>,
    executor: MultiThreadedExecutor,
}

impl Counting {
    /// Gives it to a schedule of `app`; returns its count.
    fn give_to(app: &mut App, label: impl ScheduleLabel) -> Arc<AtomicUsize> {
        let runs = Arc::new(AtomicUsize::new(0));
        app.edit_schedule(label, |schedule| {
            schedule.set_executor(Self { runs: runs.clone(), executor: MultiThreadedExecutor::new() });
        });
        runs
    }
}

impl SystemExecutor for Counting {
    fn init(&mut self, schedule: &SystemSchedule) {
        self.executor.init(schedule);
    }

    fn run(
        &mut self,
        schedule: &mut SystemSchedule,
        world: &mut World,
        skip_systems: Option<&FixedBitSet>,
        error_handler: fn(BevyError, ErrorContext),
    ) {
        self.runs.fetch_add(1, Ordering::Relaxed);
        self.executor.run(schedule, world, skip_systems, error_handler);
    }

    fn set_apply_final_deferred(&mut self, value: bool) {
        self.executor.set_apply_final_deferred(value);
    }
}

/// What is said of a schedule, if the plugin gave it an executor.
fn said_of(app: &App, label: impl ScheduleLabel) -> Option<ScheduleDiagnostics> {
    let label = format!("{label:?}");
    app.world().resource::<AffinityDiagnostics>().schedules.iter().find(|schedule| schedule.label == label).cloned()
}

/// Runs frames until `holds`: what is said is refreshed some times a second.
fn update_until(app: &mut App, holds: impl Fn(&App) -> bool) {
    for _ in 0..500 {
        app.update();
        if holds(app) {
            return;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("{:#?}", app.world().resource::<AffinityDiagnostics>().schedules);
}
