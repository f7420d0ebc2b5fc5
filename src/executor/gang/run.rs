//! One run of a schedule's tasks, as Bevy's executors run systems.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use bevy_ecs::{
    error::{BevyError, ErrorContext},
    prelude::{System, World},
    schedule::SystemWithAccess,
    system::RunSystemError,
    world::unsafe_world_cell::UnsafeWorldCell,
};

use super::{
    condition::SharedCondition,
    tasks::{Act, Tasks},
};
use crate::{
    pool::{FirstPanic, Payload, now},
    sync::{AtomicBool, AtomicU64, Ordering},
};

/// What Bevy calls with errors and panics of systems.
pub(in crate::executor) type Handler = fn(BevyError, ErrorContext);

/// What is noted during a run. Relaxed: tasks that others wait for are ordered by that, and all by
/// the end of their round.
#[derive(Default)]
pub(super) struct Notes {
    /// By set, whether its conditions hold.
    holds: Vec<AtomicBool>,
    /// By system, whether it has run since its effects were last applied.
    unapplied: Vec<AtomicBool>,
    /// By task, what it took in nanoseconds if runs are timed, or [`KEPT`].
    took: Vec<AtomicU64>,
}

/// Of a task that its conditions kept from running.
const KEPT: u64 = u64::MAX;

impl Notes {
    pub(super) fn new(tasks: &Tasks) -> Self {
        let flags = |count| (0..count).map(|_| AtomicBool::new(false)).collect();
        Self {
            holds: flags(tasks.sets.len()),
            unapplied: flags(tasks.conditions.len()),
            took: tasks.list.iter().map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// By task, what it took in the last run that was timed, but for those that their conditions
    /// kept from running.
    pub(super) fn took(&self) -> impl Iterator<Item = Option<u64>> + '_ {
        self.took.iter().map(|took| Some(took.load(Ordering::Relaxed)).filter(|&took| took != KEPT))
    }
}

/// A run of a schedule.
///
/// # Invariant (tasks)
/// Each task is run once, by one thread at a time, after those before it have been run. So by the
/// order of [`Tasks`] no other thread touches its system meanwhile, nor what it writes, nor writes
/// what it reads; and a task that is alone has the world to itself. This borrows systems and world
/// for as long as it lives, and has made sure of the number of systems.
pub(super) struct ScheduleRun<'r> {
    tasks: &'r Tasks,
    notes: &'r Notes,
    systems: *mut SystemWithAccess,
    world: UnsafeWorldCell<'r>,
    handler: Handler,
    timed: bool,
    /// What an error handler let through.
    panic: FirstPanic,
}

// SAFETY: 'tasks' on the type: no two threads touch a system, or what it accesses, at a time;
// systems are `Send`, and those that are not run on the thread that made this.
unsafe impl Sync for ScheduleRun<'_> {}

impl<'r> ScheduleRun<'r> {
    /// A run of `tasks`, which are those of `systems`.
    pub(super) fn new(
        tasks: &'r Tasks,
        notes: &'r Notes,
        systems: &'r mut [SystemWithAccess],
        world: &'r mut World,
        handler: Handler,
        timed: bool,
    ) -> Self {
        assert_eq!(systems.len(), tasks.conditions.len(), "a schedule that changes is looked at anew");
        let world = world.as_unsafe_world_cell();
        Self { tasks, notes, systems: systems.as_mut_ptr(), world, handler, timed, panic: FirstPanic::default() }
    }

    /// Runs a task. Does not panic: what an error handler lets through is kept.
    ///
    /// # Safety
    /// As 'tasks' on the type says. A task whose place is the leader's is run on the thread that
    /// made this.
    pub(super) unsafe fn task(&self, task: usize) {
        let began = self.timed.then(now);
        // SAFETY: as the caller promises.
        let run = || unsafe { self.act(task) };
        let ran = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|payload| {
            self.panic.keep(payload);
            true
        });
        if let Some(began) = began {
            let took = if ran { now().saturating_sub(began) } else { KEPT };
            self.notes.took[task].store(took, Ordering::Relaxed);
        }
    }

    /// Returns whether its conditions let it run.
    ///
    /// # Safety
    /// As for [`task`](Self::task).
    unsafe fn act(&self, task: usize) -> bool {
        match self.tasks.list[task].act {
            Act::Sets { ref sets, first } => {
                // Before the first: a panic leaves those behind it as they are.
                sets.iter().for_each(|&set| self.notes.holds[set].store(false, Ordering::Relaxed));
                for &set in sets {
                    // SAFETY: as the caller promises.
                    let holds = unsafe { self.hold(&self.tasks.sets[set], first, true) };
                    self.notes.holds[set].store(holds, Ordering::Relaxed);
                }
                true
            }
            Act::System(system) => {
                // SAFETY: as the caller promises.
                let is_to_run = unsafe { self.is_to_run(system) };
                if is_to_run {
                    // SAFETY: as the caller promises.
                    unsafe { self.system(system) };
                }
                is_to_run
            }
            Act::Sync(system) => {
                // SAFETY: as the caller promises.
                let is_to_run = unsafe { self.is_to_run(system) };
                if is_to_run {
                    // SAFETY: as the caller promises: a sync point is alone.
                    unsafe { self.apply_all_deferred() };
                }
                is_to_run
            }
        }
    }

    /// Whether the conditions of a system and of its sets hold. All are evaluated, as by Bevy.
    ///
    /// # Safety
    /// As for [`task`](Self::task), of the task of this system.
    unsafe fn is_to_run(&self, system: usize) -> bool {
        let sets = self.tasks.sets_of[system].iter();
        let sets_hold = sets.fold(true, |hold, &set| hold & self.notes.holds[set].load(Ordering::Relaxed));
        // SAFETY: as the caller promises.
        sets_hold & unsafe { self.hold(&self.tasks.conditions[system], system, false) }
    }

    /// Whether all of these conditions hold, which stand before `system`.
    ///
    /// # Safety
    /// As for [`task`](Self::task), of a task that evaluates them.
    unsafe fn hold(&self, conditions: &[Arc<SharedCondition>], system: usize, on_set: bool) -> bool {
        conditions.iter().fold(true, |hold, condition| {
            // SAFETY: 'tasks' on the type: what the condition reads is not written meanwhile.
            let evaluate = || unsafe { condition.evaluate_as_bevy(self.world) };
            let error = match catch_unwind(AssertUnwindSafe(evaluate)) {
                Ok(Ok(holds)) => return hold & holds,
                Ok(Err(RunSystemError::Skipped(_))) => return false,
                Ok(Err(RunSystemError::Failed(error))) => error,
                Err(payload) => BevyError::panic("Encountered panic", payload),
            };
            let (name, last_run) = condition.name_and_last_run();
            // SAFETY: 'tasks' on the type: the task of this system has not begun, or is this one.
            let system = unsafe { self.name_of(system) };
            (self.handler)(error, ErrorContext::RunCondition { name, last_run, system, on_set });
            false
        })
    }

    /// A system; of those that there are, or the pointer leads nowhere.
    fn pointer_to(&self, place: usize) -> *mut SystemWithAccess {
        self.systems.wrapping_add(place)
    }

    /// # Safety
    /// No other thread touches the system.
    unsafe fn name_of(&self, system: usize) -> bevy_utils::prelude::DebugName {
        // SAFETY: as the caller promises; there are as many systems as `new` has counted.
        let system = unsafe { &*self.pointer_to(system) };
        system.name()
    }

    /// Runs a system.
    ///
    /// # Safety
    /// As for [`task`](Self::task), of the task of this system.
    unsafe fn system(&self, place: usize) {
        // SAFETY: 'tasks' on the type; there are as many systems as `new` has counted.
        let system = unsafe { &mut *self.pointer_to(place) };
        self.notes.unapplied[place].store(true, Ordering::Relaxed);
        // SAFETY: 'tasks' on the type.
        let run = || unsafe { system.run_unsafe((), self.world) };
        let error = match catch_unwind(AssertUnwindSafe(run)) {
            Ok(Ok(()) | Err(RunSystemError::Skipped(_))) => return,
            Ok(Err(RunSystemError::Failed(error))) => error,
            Err(payload) => BevyError::panic("System panicked", payload),
        };
        report(self.handler, error, system);
    }

    /// Applies what systems have deferred, in the order of Bevy's list.
    ///
    /// # Safety
    /// No other thread touches systems or world.
    unsafe fn apply_all_deferred(&self) {
        for (place, unapplied) in self.notes.unapplied.iter().enumerate() {
            if !unapplied.load(Ordering::Relaxed) {
                continue;
            }
            unapplied.store(false, Ordering::Relaxed);
            // SAFETY: as the caller promises; there are as many systems as `new` has counted.
            let system = unsafe { &mut *self.pointer_to(place) };
            // SAFETY: as the caller promises.
            let world = unsafe { self.world.world_mut() };
            apply_deferred(system, world, self.handler);
        }
    }

    /// Ends the run: applies what is left.
    ///
    /// # Errors
    /// The payload of the first panic that an error handler let through.
    pub(super) fn finish(self) -> Result<(), Payload> {
        // SAFETY: this is the only reference to the run, so no thread runs a task of it.
        let apply = || unsafe { self.apply_all_deferred() };
        // An error handler that panics leaves the rest for the next call.
        while let Err(payload) = catch_unwind(AssertUnwindSafe(apply)) {
            self.panic.keep(payload);
        }
        self.panic.take().map_or(Ok(()), Err)
    }
}

/// Applies what a system has deferred, with panics as by Bevy's executors.
pub(in crate::executor) fn apply_deferred(system: &mut SystemWithAccess, world: &mut World, handler: Handler) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| system.apply_deferred(world))) {
        let error = BevyError::panic("Encountered a panic while applying system buffers", payload);
        report(handler, error, system);
    }
}

fn report(handler: Handler, error: BevyError, system: &SystemWithAccess) {
    handler(error, ErrorContext::System { name: system.name(), last_run: system.get_last_run() });
}
