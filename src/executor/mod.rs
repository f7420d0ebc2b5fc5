//! [`AffinityExecutor`]: a schedule runs in whichever way was measured to take least.

mod race;
mod record;
mod trial;
mod way;
mod which;

pub(crate) use race::Explanation;
pub(crate) use record::ScheduleRecord;
pub use way::ScheduleWay;
pub use which::AffinitySchedules;

use std::{mem, sync::Arc};

use bevy_ecs::{
    error::{BevyError, ErrorContext},
    prelude::World,
    schedule::{
        FixedBitSet, MainThreadExecutor, MultiThreadedExecutor, SingleThreadedExecutor, SystemExecutor, SystemSchedule,
    },
    system::System,
};
use bevy_tasks::ComputeTaskPool;

use crate::pool::now;
use race::{Decision, Race};

/// Runs a schedule in whichever way takes least: by Bevy's single-threaded executor, or by its
/// multi-threaded one. [`AffinityParallelPlugin`](crate::AffinityParallelPlugin) gives it to every
/// schedule; [`AffinitySchedules`] says to which not.
///
/// Bevy's default, the multi-threaded executor, makes a task of each system. For a schedule of a
/// few small systems that takes many times as long as the systems do. So both are measured: one run
/// in eight is timed, and the other way is tried in turns with the present one, for less than a
/// fiftieth of the time and ever less often while the answer stays the same. When the schedule
/// changes, measurements are forgotten; when it takes much longer or shorter than it did, the other
/// way is tried again. The first run goes by Bevy's default.
/// [`AffinityDiagnostics::schedules`](crate::AffinityDiagnostics::schedules) tells what was chosen.
///
/// What systems see is the same as with either of Bevy's executors: order, run conditions, sync
/// points, ticks, errors. Always by the multi-threaded one, as if this were it, goes a schedule
///
/// - of which [`Stepping`](bevy_ecs::schedule::Stepping) skips systems,
/// - that does not apply deferred effects at its end
///   ([`set_apply_final_deferred`](bevy_ecs::schedule::Schedule::set_apply_final_deferred)), as
///   what is left over is known only to the executor that ran last,
/// - that is run on another thread than that of a
///   [`MainThreadExecutor`](bevy_ecs::schedule::MainThreadExecutor) (by pipelined rendering).
///
/// On wasm everything runs on one thread.
///
/// # Panics
///
/// A panic that an error handler lets through leaves
/// [`Schedule::run`](bevy_ecs::schedule::Schedule::run), as with Bevy's executors. Other than with
/// those, the next run is a whole one: no systems are skipped, and effects that the systems before
/// the panic deferred are applied at its begin.
///
/// ```
/// use bevy::{ecs::schedule::Schedule, prelude::*};
/// use bevy_affinity::AffinityExecutor;
///
/// fn simulate() {}
///
/// let mut schedule = Schedule::default();
/// schedule.set_executor(AffinityExecutor::new()).add_systems(simulate);
/// schedule.run(&mut World::new());
/// ```
pub struct AffinityExecutor {
    single: SingleThreadedExecutor,
    multi: MultiThreadedExecutor,
    apply_final_deferred: bool,
    race: Race,
    record: Arc<ScheduleRecord>,
    /// While a run is under way, and after one that was left by a panic.
    unfinished: bool,
    /// After a run that did not apply all deferred effects: what is left is known only to the
    /// multi-threaded executor.
    left_over: bool,
}

impl Default for AffinityExecutor {
    fn default() -> Self {
        Self::new()
    }
}

impl AffinityExecutor {
    /// An executor that has measured nothing yet, for one schedule.
    pub fn new() -> Self {
        let race = Race::new();
        Self {
            single: SingleThreadedExecutor::new(),
            multi: MultiThreadedExecutor::new(),
            apply_final_deferred: true,
            record: ScheduleRecord::new(&race),
            race,
            unfinished: false,
            left_over: false,
        }
    }

    /// What is told of it, as long as the schedule has it.
    pub(crate) fn record(&self) -> Arc<ScheduleRecord> {
        self.record.clone()
    }

    /// The way of a run where there is no choice.
    fn only_way(&self, world: &World, skip_systems: Option<&FixedBitSet>) -> Option<ScheduleWay> {
        if cfg!(target_arch = "wasm32") {
            return Some(ScheduleWay::OneThread);
        }
        let as_bevy = skip_systems.is_some()
            || !self.apply_final_deferred
            || self.left_over
            || self.record.is_plain()
            // Systems that are bound to the main thread go to another thread then.
            || world.get_resource::<MainThreadExecutor>().is_some_and(|main| main.0.ticker().is_none());
        as_bevy.then_some(ScheduleWay::BevysThreads)
    }

    /// How the next run is to be; counts it.
    fn decide(&mut self, world: &World, skip_systems: Option<&FixedBitSet>) -> Decision {
        let decision = match self.only_way(world, skip_systems) {
            Some(way) => self.race.count(way),
            None => self.race.choose(),
        };
        self.record.set_runs(self.race.runs());
        decision
    }

    /// New ones in the place of Bevy's executors that a panic has left: they believe that they are
    /// in the middle of a run, and a lock of the multi-threaded one may be poisoned.
    fn renew(&mut self) {
        (self.single, self.multi) = (SingleThreadedExecutor::new(), MultiThreadedExecutor::new());
        self.set_apply_final_deferred(self.apply_final_deferred);
    }

    fn init_both(&mut self, schedule: &SystemSchedule) {
        self.single.init(schedule);
        if cfg!(not(target_arch = "wasm32")) {
            self.multi.init(schedule);
        }
    }

    /// Makes good for a run that was left by a panic.
    fn recover(&mut self, schedule: &mut SystemSchedule, world: &mut World) {
        self.renew();
        self.init_both(schedule);
        if self.apply_final_deferred {
            // SAFETY: no system is replaced, moved or removed: only a method of each is called.
            let systems = unsafe { schedule.systems_mut() };
            systems.iter_mut().for_each(|system| system.apply_deferred(world));
        }
    }
}

impl SystemExecutor for AffinityExecutor {
    fn init(&mut self, schedule: &SystemSchedule) {
        if self.unfinished {
            self.renew();
        }
        self.init_both(schedule);
        self.race.forget();
        self.record.explain(&self.race);
    }

    fn run(
        &mut self,
        schedule: &mut SystemSchedule,
        world: &mut World,
        skip_systems: Option<&FixedBitSet>,
        error_handler: fn(BevyError, ErrorContext),
    ) {
        if mem::replace(&mut self.unfinished, true) {
            self.recover(schedule, world);
        }
        let Decision { way, timed } = self.decide(world, skip_systems);
        let began = timed.then(now);
        match way {
            ScheduleWay::OneThread => self.single.run(schedule, world, skip_systems, error_handler),
            ScheduleWay::BevysThreads => self.multi.run(schedule, world, skip_systems, error_handler),
        }
        (self.unfinished, self.left_over) = (false, !self.apply_final_deferred);
        if let Some(began) = began {
            self.race.observe(now().saturating_sub(began), compute_threads);
            self.record.explain(&self.race);
        }
    }

    fn set_apply_final_deferred(&mut self, value: bool) {
        self.apply_final_deferred = value;
        self.single.set_apply_final_deferred(value);
        self.multi.set_apply_final_deferred(value);
    }
}

fn compute_threads() -> usize {
    ComputeTaskPool::try_get().map_or(1, |pool| pool.thread_num())
}
