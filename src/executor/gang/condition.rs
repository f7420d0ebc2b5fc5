//! Run conditions that two executors can evaluate: Bevy's, and the one that runs systems on the
//! gang.
//!
//! Bevy shows conditions to build passes only, and keeps those that its own executors evaluate to
//! itself. So a condition moves behind a lock, and Bevy gets a system in its place that evaluates
//! it there. Whichever executor runs, the state of the condition is one.
//!
//! When ticks come of age Bevy reminds the systems that it has, not the conditions behind them: it
//! tells of that by an observer only, and an entity more would give the archetypes of all worlds
//! with the plugin other numbers. Most conditions are evaluated often enough to stay young.

use std::{
    any::TypeId,
    sync::{Arc, Mutex, Weak},
};

use bevy_ecs::{
    change_detection::Tick,
    prelude::{System, World},
    schedule::{BoxedCondition, ConditionWithAccess},
    system::{
        ReadOnlySystem, ReadOnlySystemParam, RunSystemError, SystemAccess, SystemMeta, SystemParam, SystemParamBuilder,
        SystemParamValidationError,
    },
    world::unsafe_world_cell::UnsafeWorldCell,
};
use bevy_platform::collections::HashMap;
use bevy_utils::prelude::DebugName;

use crate::sync::lock;

/// A condition that executors share.
pub(super) struct SharedCondition {
    /// Locked by one executor at a time: only one runs the schedule.
    system: Mutex<BoxedCondition>,
    pub(super) access: SystemAccess,
    pub(super) is_send: bool,
}

impl SharedCondition {
    /// Evaluates it as Bevy's executors do by the stand-in. That is a system too, which takes a
    /// change tick of its own before the condition takes its tick: so does this, or the ticks of
    /// all that comes later would tell which executor ran.
    ///
    /// # Safety
    /// As for [`evaluate`](Self::evaluate).
    pub(super) unsafe fn evaluate_as_bevy(&self, world: UnsafeWorldCell<'_>) -> Result<bool, RunSystemError> {
        world.increment_change_tick();
        // SAFETY: as the caller promises.
        unsafe { self.evaluate(world) }
    }

    /// Evaluates it.
    ///
    /// # Safety
    /// `world` may be read as [`access`](Self::access) says, and nothing that is read is written
    /// meanwhile.
    unsafe fn evaluate(&self, world: UnsafeWorldCell<'_>) -> Result<bool, RunSystemError> {
        let mut system = lock(&self.system);
        // SAFETY: as the caller promises.
        unsafe { system.run_unsafe((), world) }
    }

    /// What an error handler is told of it.
    pub(super) fn name_and_last_run(&self) -> (DebugName, Tick) {
        let system = lock(&self.system);
        (system.name(), system.get_last_run())
    }
}

/// The conditions of one schedule that are shared, by the address of what Bevy has in their place.
#[derive(Default)]
pub(super) struct SharedConditions(HashMap<usize, Entry>);

struct Entry {
    condition: Arc<SharedCondition>,
    stand_in: TypeId,
    /// Gone with the stand-in, whose address may be another one's from then on.
    is_there: Weak<()>,
}

impl SharedConditions {
    /// Takes out the conditions of systems and sets that are gone: code of users drops them.
    #[must_use]
    pub(super) fn take_removed(&mut self) -> Vec<Arc<SharedCondition>> {
        let removed = self.0.extract_if(|_, entry| entry.is_there.strong_count() == 0);
        removed.map(|(_, entry)| entry.condition).collect()
    }

    /// Shares the condition, if it is not yet. Nothing if it defers effects: of these Bevy's
    /// executors make different things.
    pub(super) fn share(&mut self, world: &mut World, given: &mut ConditionWithAccess) -> Option<Arc<SharedCondition>> {
        let known = self.0.get(&address(&given.condition));
        if let Some(entry) = known.filter(|entry| entry.stand_in == given.condition.system_type()) {
            return Some(entry.condition.clone());
        }
        if given.condition.has_deferred() {
            return None;
        }
        let (access, is_send, name) = (given.access.clone(), given.condition.is_send(), given.condition.name());
        let never: BoxedCondition = Box::new(bevy_ecs::prelude::IntoSystem::into_system(|| false));
        let system = Mutex::new(std::mem::replace(&mut given.condition, never));
        let condition = Arc::new(SharedCondition { system, access, is_send });
        let there = Arc::new(());
        let is_there = Arc::downgrade(&there);
        given.condition = stand_in(world, condition.clone(), there, name);
        let stand_in = given.condition.system_type();
        self.0.insert(address(&given.condition), Entry { condition: condition.clone(), stand_in, is_there });
        Some(condition)
    }
}

fn address(condition: &BoxedCondition) -> usize {
    (&raw const **condition).cast::<()>() as usize
}

/// What Bevy evaluates in the place of `condition`.
fn stand_in(world: &mut World, condition: Arc<SharedCondition>, there: Arc<()>, name: DebugName) -> BoxedCondition {
    let reads = Reads { access: condition.access.clone(), is_send: condition.is_send };
    let state = (reads,).build_state(world);
    let mut system = state
        .build_system(move |world: ReadWorld| -> Result<bool, RunSystemError> {
            let _there = &there;
            // SAFETY: Bevy gave this system the access of the condition, which `Reads` registered.
            unsafe { condition.evaluate(world.0) }
        })
        .with_name(name.to_string());
    system.initialize(world);
    Box::new(system)
}

/// The world, for a condition that reads it.
struct ReadWorld<'w>(UnsafeWorldCell<'w>);

/// What a shared condition reads.
struct Reads {
    access: SystemAccess,
    is_send: bool,
}

// SAFETY: it registers the access of a condition, and hands on the world for no more than that.
unsafe impl SystemParam for ReadWorld<'_> {
    type State = Reads;
    type Item<'w, 's> = ReadWorld<'w>;

    fn init_state(_: &mut World) -> Reads {
        Reads { access: SystemAccess::default(), is_send: true }
    }

    fn init_access(reads: &Reads, meta: &mut SystemMeta, access: &mut SystemAccess, _: &mut World) {
        access.extend(reads.access.clone());
        if !reads.is_send {
            meta.set_non_send();
        }
    }

    unsafe fn get_param<'w>(
        _: &mut Reads,
        _: &SystemMeta,
        world: UnsafeWorldCell<'w>,
        _: Tick,
    ) -> Result<ReadWorld<'w>, SystemParamValidationError> {
        Ok(ReadWorld(world))
    }
}

// SAFETY: conditions are read-only systems, and their access is all that is registered.
unsafe impl ReadOnlySystemParam for ReadWorld<'_> {}

// SAFETY: the state is one of `ReadWorld`, with the access that is registered for it.
unsafe impl SystemParamBuilder<ReadWorld<'static>> for Reads {
    fn build(self, _: &mut World) -> Reads {
        self
    }
}

/// Conditions are systems that only read.
const _: fn(&BoxedCondition) -> &dyn ReadOnlySystem<In = (), Out = bool> = |condition| &**condition;
