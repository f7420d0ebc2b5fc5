//! The third way: systems on the gang. What can run at a time is dealt out to workers by what it
//! took, each system to the same core in every frame; what needs the gang itself, or the whole
//! world, runs on the leader in between.
//!
//! | file | what |
//! |---|---|
//! | `blueprint.rs` | what Bevy shows of a schedule while it builds it |
//! | `on_leader.rs` | what binds a tagged system to the leader, and how to see it without |
//! | `condition.rs` | run conditions that Bevy's executors and this one share |
//! | `tasks.rs` | from that to tasks, and which wait for which |
//! | `costs.rs`, `plan.rs` | what tasks take; who does which |
//! | `prepared.rs` | what is kept of a schedule: tasks, costs, the current plan and when it goes |
//! | `run.rs` | one run, with errors and panics as Bevy handles them |
//!
//! What each worker takes when, and who waits for whom: `pool/job_board.rs`.

mod blueprint;
mod condition;
mod costs;
mod on_leader;
mod plan;
mod prepared;
mod run;
mod tasks;
#[cfg(test)]
mod tests;

pub(super) use blueprint::{BlueprintSlot, WeakBlueprintSlot};
pub(crate) use on_leader::OnLeader;
pub(super) use on_leader::names;
pub(super) use run::{Handler, apply_deferred};
pub(crate) use tasks::is_sync_point;

use std::panic::{AssertUnwindSafe, catch_unwind};

use bevy_ecs::{
    prelude::World,
    schedule::{SystemSchedule, SystemWithAccess},
};
use bevy_tasks::ComputeTaskPool;

use crate::{
    context::Raised,
    pool::{AffinityPool, Led, Payload},
};
use costs::Costs;
use prepared::{Planned, Prepared, Step};
use run::ScheduleRun;

/// Runs a schedule's systems on the gang.
pub(super) struct SystemsOnGang {
    slot: BlueprintSlot,
    prepared: Option<Prepared>,
    /// Whether every round is worth it: for tests.
    forced: bool,
}

/// Borrows the systems of a schedule.
pub(super) fn systems_of(schedule: &mut SystemSchedule) -> &mut [SystemWithAccess] {
    // SAFETY: systems are neither replaced nor moved nor removed: methods of each are called.
    unsafe { schedule.systems_mut() }
}

impl SystemsOnGang {
    /// For the schedule whose build pass fills `slot`.
    pub(super) fn new(slot: BlueprintSlot, forced: bool) -> Self {
        Self { slot, prepared: None, forced }
    }

    /// Forgets what was known: the schedule has changed.
    pub(super) fn forget(&mut self) {
        self.prepared = None;
    }

    /// Whether there is a plan for this world as it is.
    pub(super) fn is_planned(&self, world: &World) -> bool {
        self.prepared.as_ref().is_some_and(|prepared| prepared.plan.is_some() && prepared.fits(world))
    }

    /// Whether the schedule could be run on the gang of this world; makes ready to learn what its
    /// tasks take.
    pub(super) fn prepare(&mut self, schedule: &mut SystemSchedule, world: &World) -> bool {
        if !self.prepared.as_ref().is_some_and(|prepared| prepared.fits(world)) {
            self.prepared = Prepared::new(&self.slot, systems_of(schedule), world, self.forced);
        }
        self.prepared.is_some()
    }

    /// Runs the schedule on this thread alone and learns what each task takes. Before it, `prepare`
    /// was true.
    ///
    /// # Errors
    /// The payload of the first panic that `handler` let through, after the run has finished.
    pub(super) fn learn(
        &mut self,
        schedule: &mut SystemSchedule,
        world: &mut World,
        handler: Handler,
    ) -> Result<(), Payload> {
        let Some(prepared) = &mut self.prepared else { unreachable!("it was prepared") };
        let Prepared { pool, tasks, notes, costs, learned, .. } = prepared;
        if std::mem::take(learned) {
            // They take something else by now.
            *costs = Costs::new(tasks.list.len(), pool.workers());
        }
        let run = ScheduleRun::new(tasks, notes, systems_of(schedule), world, handler, true);
        for task in 0..tasks.list.len() {
            // SAFETY: 'tasks' on `ScheduleRun`: in the order of the list, on this thread, one at a
            // time.
            costs.tasks[task].note_led(pool.watch(|| unsafe { run.task(task) }));
        }
        let result = run.finish();
        costs.observe(notes.took());
        result
    }

    /// Makes a plan from what was learned. Returns what a run by it is expected to take, in
    /// nanoseconds, if it gains enough.
    pub(super) fn plan(&mut self) -> Option<f32> {
        self.prepared.as_mut()?.plan(self.forced)
    }

    /// Runs the schedule by the plan. Before it, `is_planned` was true for this world.
    ///
    /// # Errors
    /// The payload of the first panic that `handler` let through, after the run has finished.
    pub(super) fn run(
        &mut self,
        schedule: &mut SystemSchedule,
        world: &mut World,
        handler: Handler,
        timed: bool,
    ) -> Result<(), Payload> {
        let Some(prepared) = &mut self.prepared else { unreachable!("it was planned") };
        let Prepared { pool, tasks, notes, costs, plan, .. } = prepared;
        let Some(Planned { steps, by_itself, .. }) = plan else { unreachable!("it was planned") };
        let run = ScheduleRun::new(tasks, notes, systems_of(schedule), world, handler, timed);
        for step in steps {
            match step {
                Step::Here(tasks) => {
                    for &task in &*tasks {
                        // SAFETY: 'tasks' on `ScheduleRun`: phases keep the order, and nothing else
                        // runs now.
                        let run_task = || unsafe { run.task(task) };
                        let led = run_on_leader(run_task, by_itself[task], timed.then_some(&*pool));
                        led.into_iter().for_each(|led| costs.tasks[task].note_led(led));
                    }
                }
                Step::Round(board, tasks) => {
                    // SAFETY: 'jobs' on `JobBoard`; bound jobs are run by who leads.
                    let run_job = |job: usize| unsafe { run.task(tasks[job]) };
                    pool.run_jobs(board, run_job, run_local_tasks);
                }
            }
        }
        let result = run.finish();
        if timed {
            prepared.observe();
        }
        result
    }
}

/// How often at most a worker polls local tasks in a round: as often as Bevy does in a frame on the
/// main thread. A task may be ready again and again.
const MOST_POLLS: u32 = 100;

/// Runs what systems have spawned for their own thread only
/// ([`spawn_local`](bevy_tasks::TaskPool::spawn_local)): Bevy's threads do so all the time, and
/// Bevy for the main thread, between frames.
fn run_local_tasks() {
    let Some(any) = ComputeTaskPool::try_get() else { return };
    any.with_local_executor(|tasks| {
        // One that panics ends, and no other one with it.
        let poll = || catch_unwind(AssertUnwindSafe(|| tasks.try_tick())).unwrap_or(true);
        _ = (0..MOST_POLLS).try_for_each(|_| poll().then_some(()));
    });
}

/// Runs a task on this thread, between rounds; its sweeps are rounds unless it is `by_itself`.
/// Returns what it led, if a pool is given that watches it.
fn run_on_leader(run_task: impl FnOnce(), by_itself: bool, watching: Option<&AffinityPool>) -> Option<Led> {
    let _by_itself = by_itself.then(Raised::by_itself);
    match watching.filter(|_| !by_itself) {
        Some(pool) => Some(pool.watch(run_task)),
        None => {
            run_task();
            None
        }
    }
}
