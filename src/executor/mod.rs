//! [`AffinityExecutor`]: a schedule runs in whichever way was measured to take least.
//!
//! `way.rs` has the ways; `race.rs` chooses, pure, by what runs take (`times.rs`), also where few
//! are heavy (`cycles.rs`), and by trials (`trial.rs`). `gang/` is the third way. `record.rs` is
//! what is told of a schedule, `installed.rs` what is kept of an executor outside of it, `which.rs`
//! says which ones the plugin gives the executor, and `main_thread.rs` does what others leave to
//! the main thread.

mod cycles;
mod forced;
mod gang;
mod installed;
mod main_thread;
mod mark;
mod race;
mod record;
mod times;
mod trial;
mod way;
mod which;

#[doc(hidden)]
pub use forced::Forced;
pub(crate) use gang::{OnLeader, is_sync_point};
pub(crate) use installed::Installed;
pub(crate) use mark::Mark;
pub(crate) use race::Standing;
pub(crate) use record::ScheduleRecord;
pub use way::ScheduleWay;
pub use which::AffinitySchedules;

use std::{fmt, mem, ops::Range, panic::resume_unwind, sync::Arc};

use bevy_ecs::{
    error::{BevyError, ErrorContext},
    prelude::World,
    schedule::{
        FixedBitSet, MainThreadExecutor, MultiThreadedExecutor, SingleThreadedExecutor, SystemExecutor, SystemSchedule,
        SystemWithAccess,
    },
    system::System,
};
use bevy_tasks::ComputeTaskPool;

use crate::{
    pool::{Payload, now},
    record::{StageLane, StageSpan},
    topology::process_ran,
};
use gang::{BlueprintSlot, Handler, SystemsOnGang, apply_deferred, names, systems_of};
use main_thread::{do_as_main_thread, is_main_thread_elsewhere};
use race::{Race, TimedRun, WayDecision};
use record::Traced;

/// Runs a schedule in whichever way takes least: by Bevy's single-threaded executor, by its
/// multi-threaded one, or on the gang. [`AffinityParallelPlugin`](crate::AffinityParallelPlugin)
/// gives it to every schedule but those that Bevy keeps on one thread; [`AffinitySchedules`]
/// changes that.
///
/// Bevy's default, the multi-threaded executor, makes a task of each system. For a schedule of a
/// few small systems that takes many times as long as the systems do. So all ways are measured: one
/// run in eight is timed (one in 25 where they take less than 1 us; all that take 100 us or more,
/// and among the first 64, or where some are far heavier, all of 8 us or more), and another way is
/// tried in turns with the current one, for at most 1.6% of the time (what was saved up counts, a
/// second at most) and ever less often while the answer stays the same. Four runs by each way
/// decide, or up to 32 where runs differ. What counts is the usual run, but where some take far
/// longer than the others, again and again, the average. When the schedule changes, measurements
/// are forgotten; when it takes much longer or shorter than it did, the other ways are tried again.
/// The first two runs go by Bevy's default.
/// [`AffinityDiagnostics::schedules`](crate::AffinityDiagnostics::schedules) tells what was chosen.
///
/// **On the gang** systems that do not conflict run at a time, dealt out to the workers by what
/// they were measured to take. Each stays on its core from frame to frame, and a worker that is
/// late is helped. A tagged system that its queries spread over all workers runs between these
/// rounds, and so do exclusive systems and sync points. Small tagged ones are dealt out as all
/// others are, and then sweep their rows by themselves. Systems that are bound to the main thread
/// by more than a tag run on it, beside the others. Systems that conflict run in the order of
/// Bevy's single-threaded executor for this schedule (where nothing orders them, another one maybe
/// than before the install, which adds a set).
/// Sweeps that would take less on one thread than as rounds run by themselves too, where nothing
/// else can run beside them: in a chain each round finds its rows in the caches of other cores.
/// It is tried for schedules that were [installed](Self::install), in a world with an
/// [`AffinityPool`](crate::AffinityPool) of two workers or more, if it can be expected to gain 30
/// us in each run, which is what workers take to wake up (2 us where it wakes none); and it stays
/// where it was measured to be faster. Schedules of more than 1,000 systems are left to Bevy's.
///
/// A worker is pinned to its core, and so is any thread that a system starts there. What a system
/// spawns for its own thread only ([`spawn_local`](bevy_tasks::TaskPool::spawn_local)) is run at
/// the end of the round, and polled on at the end of later ones.
///
/// What systems see is the same as with either of Bevy's executors: order, run conditions, sync
/// points, ticks, errors. Systems that wait for each other wait for ever where one thread runs
/// them, as by Bevy's single-threaded executor: leave their schedule alone
/// ([`AffinitySchedules`](crate::AffinitySchedules)).
///
/// Always by the multi-threaded one, as if this were it, goes a schedule
///
/// - of which [`Stepping`](bevy_ecs::schedule::Stepping) skips systems,
/// - with a system that asks for `Res<MainThreadExecutor>`,
/// - in which Bevy's executors differ: an exclusive system defers effects
///   (`exclusive.pipe(other)`), or, if it was [installed](Self::install), a run condition does,
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
/// the panic deferred are applied at its begin. On the gang, as on Bevy's threads, the systems that
/// do not wait for the one that panicked, and those that do, run all the same before.
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
    gang: SystemsOnGang,
    /// What the schedule's build pass saw.
    slot: BlueprintSlot,
    forced: Option<Forced>,
    apply_final_deferred: bool,
    race: Race,
    record: Arc<ScheduleRecord>,
    /// While a run is under way, and after one that was left by a panic.
    unfinished: bool,
    /// After a run that did not apply all deferred effects: what is left is known only to the
    /// multi-threaded executor.
    left_over: bool,
    /// Whether the schedule has to run as by Bevy's default; unknown before its first run.
    differs: Option<bool>,
}

impl fmt::Debug for AffinityExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let way = self.forced_way().unwrap_or(self.race.current());
        let mut executor = f.debug_struct("AffinityExecutor");
        executor.field("way", &way).field("runs", &self.race.runs()).finish_non_exhaustive()
    }
}

impl Default for AffinityExecutor {
    fn default() -> Self {
        Self::new()
    }
}

/// A run that is recorded or measured.
struct WatchedRun {
    traced: bool,
    /// For how long the process had run before, if that is measured too; in nanoseconds.
    ran: Option<u64>,
    began: u64,
}

impl AffinityExecutor {
    /// An executor that has measured nothing yet, for one schedule. It chooses among Bevy's
    /// executors: the gang needs a schedule that it was [installed](Self::install) in.
    pub fn new() -> Self {
        Self::reading(BlueprintSlot::default(), None)
    }

    fn reading(slot: BlueprintSlot, forced: Option<Forced>) -> Self {
        let race = Race::new();
        Self {
            single: SingleThreadedExecutor::new(),
            multi: MultiThreadedExecutor::new(),
            gang: SystemsOnGang::new(slot.clone(), forced.is_some()),
            slot,
            forced,
            apply_final_deferred: true,
            record: ScheduleRecord::new(&race),
            race,
            unfinished: false,
            left_over: false,
            differs: None,
        }
    }

    /// Whether it makes a difference to systems by which of Bevy's executors the schedule runs: the
    /// multi-threaded one applies what an exclusive system defers at once, and what a condition
    /// defers never; and a system that asks the main thread for something, and waits for it, has to
    /// run on another one. Found out once for each build.
    fn differs(&mut self, schedule: &mut SystemSchedule, world: &World) -> bool {
        *self.differs.get_or_insert_with(|| {
            let main_thread = world.components().component_id::<MainThreadExecutor>();
            let differs = |system: &SystemWithAccess| {
                let defers = system.access().is_exclusive() && system.has_deferred();
                defers || main_thread.is_some_and(|resource| names(system.access(), resource))
            };
            systems_of(schedule).iter().any(differs) || self.slot.conditions_defer()
        })
    }

    /// The way of a run where there is no choice.
    fn only_way(
        &mut self,
        schedule: &mut SystemSchedule,
        world: &World,
        skip_systems: Option<&FixedBitSet>,
    ) -> Option<ScheduleWay> {
        if cfg!(target_arch = "wasm32") {
            return Some(ScheduleWay::OneThread);
        }
        let as_bevy = skip_systems.is_some()
            || self.differs(schedule, world)
            || !self.apply_final_deferred
            || self.left_over
            || self.record.is_plain()
            || is_main_thread_elsewhere(world);
        as_bevy.then_some(ScheduleWay::BevysThreads)
    }

    /// How the next run is to be; counts it.
    fn decide(
        &mut self,
        schedule: &mut SystemSchedule,
        world: &World,
        skip_systems: Option<&FixedBitSet>,
    ) -> WayDecision {
        let only_way = self.only_way(schedule, world, skip_systems);
        self.record.set_only_way(only_way);
        let decision = match only_way.or(self.forced_way()) {
            Some(way) => self.race.count(way),
            None => self.race.choose(),
        };
        self.record.set_runs(self.race.runs());
        self.possible(decision, schedule, world)
    }

    fn forced_way(&self) -> Option<ScheduleWay> {
        self.forced.map(|forced| forced.way(self.race.runs()))
    }

    /// The decision, or another one if it needs the gang and that is not to be had.
    fn possible(&mut self, decision: WayDecision, schedule: &mut SystemSchedule, world: &World) -> WayDecision {
        if decision.lesson {
            if self.gang.prepare(schedule, world) {
                return decision;
            }
            self.race.cancel_lessons();
            return WayDecision::plainly(self.race.current());
        }
        if decision.way != ScheduleWay::OnTheGang || self.gang.is_planned(world) {
            return decision;
        }
        self.race.lose_gang();
        if self.forced.is_none() {
            return WayDecision::plainly(self.race.current());
        }
        let lesson = self.gang.prepare(schedule, world);
        WayDecision { lesson, ..WayDecision::plainly(ScheduleWay::OneThread) }
    }

    #[inline]
    fn run_by(
        &mut self,
        WayDecision { way, lesson, closely, .. }: WayDecision,
        schedule: &mut SystemSchedule,
        world: &mut World,
        skip_systems: Option<&FixedBitSet>,
        handler: Handler,
    ) {
        match way {
            _ if lesson => self.learn(schedule, world, handler),
            ScheduleWay::OneThread => self.single.run(schedule, world, skip_systems, handler),
            ScheduleWay::BevysThreads => self.multi.run(schedule, world, skip_systems, handler),
            ScheduleWay::OnTheGang => {
                let result = self.gang.run(schedule, world, handler, closely || self.forced.is_some());
                self.rethrow(result);
            }
        }
        if way != ScheduleWay::BevysThreads {
            do_as_main_thread(world);
        }
    }

    /// To be called before a run: what is to be known when it is over, if that is recorded or
    /// measured.
    #[inline]
    fn watch(&self, WayDecision { way, timed, closely, .. }: WayDecision) -> Option<WatchedRun> {
        let traced = self.record.traced().is_some();
        let ran = (closely && way != ScheduleWay::OnTheGang).then(process_ran).flatten();
        (timed || traced).then(|| WatchedRun { traced, ran, began: now() })
    }

    /// Records a run that is over, and learns what it took, as far as that is asked for.
    fn note_run(&mut self, WayDecision { way, timed, .. }: WayDecision, WatchedRun { traced, ran, began }: WatchedRun) {
        let ended = now();
        if traced {
            self.trace(way, began..ended);
        }
        if timed {
            let work = ran.and_then(|before| Some(process_ran()?.saturating_sub(before)));
            self.race.observe(TimedRun { nanoseconds: ended.saturating_sub(began), work }, compute_threads);
            self.record.explain(&self.race);
        }
    }

    /// Runs the schedule on one thread and learns what its systems take.
    fn learn(&mut self, schedule: &mut SystemSchedule, world: &mut World, handler: Handler) {
        let began = now();
        let result = self.gang.learn(schedule, world, handler);
        if self.race.end_lesson(now().saturating_sub(began)) || self.forced.is_some() {
            let span = self.gang.plan();
            self.race.plan(span);
        }
        self.rethrow(result);
    }

    /// Throws on what a system of a run on the gang has thrown: unlike one of Bevy's executors that
    /// run has finished.
    fn rethrow(&mut self, result: Result<(), Payload>) {
        if let Err(payload) = result {
            self.race.drop_trial();
            self.unfinished = false;
            resume_unwind(payload);
        }
    }

    /// Records a run.
    fn trace(&self, way: ScheduleWay, Range { start: begin, end }: Range<u64>) {
        let Some(Traced { name, recorder }) = self.record.traced() else { return };
        let (lane, name, detail) = (StageLane::Main, name.clone(), way.name());
        recorder.write_stage(StageSpan { lane, name, detail, begin, end });
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

    /// Makes good for a run that was left by a panic: applies what its systems have deferred, also
    /// where runs leave that to others, since an executor that is new does not know of it.
    fn recover(&mut self, schedule: &mut SystemSchedule, world: &mut World, handler: Handler) {
        self.renew();
        self.init_both(schedule);
        self.race.drop_trial();
        systems_of(schedule).iter_mut().for_each(|system| apply_deferred(system, world, handler));
    }
}

impl SystemExecutor for AffinityExecutor {
    fn init(&mut self, schedule: &SystemSchedule) {
        if self.unfinished {
            self.renew();
        }
        self.init_both(schedule);
        self.slot.keep_if_new();
        self.gang.forget();
        self.race.forget();
        self.differs = None;
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
            self.recover(schedule, world, error_handler);
        }
        let decision = self.decide(schedule, world, skip_systems);
        let watched = self.watch(decision);
        self.run_by(decision, schedule, world, skip_systems, error_handler);
        (self.unfinished, self.left_over) = (false, !self.apply_final_deferred);
        if let Some(watched) = watched {
            self.note_run(decision, watched);
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
