//! What runs around a tagged system: entering the context before, timing it after.

use std::{ops::Range, sync::Arc};

use bevy_ecs::{
    change_detection::Tick,
    prelude::{Res, System, World},
    system::{
        Adapt, NonSendMarker, RunSystemError, SystemAccess, SystemIn, SystemMeta, SystemParam,
        SystemParamValidationError,
    },
    world::unsafe_world_cell::UnsafeWorldCell,
};

use crate::{
    context::{SystemContext, SystemScope, WorldContext, enter as enter_context, with_system},
    pool::now,
    record::{Recorder, SystemTiming},
    settings::{AffinitySettings, SchedulerMode},
};

/// The first half of every tagged system: runs on the leader's thread and hands it mode, pool and
/// placement.
pub(super) fn enter(
    _leader: NonSendMarker,
    mode: Option<Res<SchedulerMode>>,
    settings: Option<Res<AffinitySettings>>,
    world_context: Option<Res<WorldContext>>,
    // Last, since it claims what the others read.
    _exclusive: Exclusive,
) {
    // Without the plugin a tagged system is an ordinary one: its queries say so when they are
    // iterated.
    let Some(world_context) = world_context else { return };
    // Where a user has removed the settings the last ones hold, and the default mode for the mode.
    let context = settings.map_or_else(|| world_context.current(), |settings| world_context.for_settings(&settings));
    enter_context(SystemContext { mode: mode.map(|mode| *mode).unwrap_or_default(), context });
}

/// Keeps all systems that touch the world from running beside a tagged one, if
/// [`AffinitySettings::exclusive`] says so.
///
/// It claims all access rather than Bevy's exclusive flag: with that, the deferred effects of a
/// system would be applied at other points by one executor than by the other.
pub(super) struct Exclusive;

// SAFETY: it accesses nothing; what it claims only keeps others away.
unsafe impl SystemParam for Exclusive {
    type State = ();
    type Item<'w, 's> = Self;

    fn init_state(_: &mut World) {}

    fn init_access(_: &(), meta: &mut SystemMeta, access: &mut SystemAccess, world: &mut World) {
        if world.get_resource::<AffinitySettings>().is_some_and(|settings| settings.exclusive) {
            access.require_shared_access::<Self>(meta).write_all();
        }
    }

    unsafe fn get_param<'w, 's>(
        _: &'s mut (),
        _: &SystemMeta,
        _: UnsafeWorldCell<'w>,
        _: Tick,
    ) -> Result<Self, SystemParamValidationError> {
        Ok(Self)
    }
}

/// Runs a tagged system in a scope of its own and records how long it took, if it was called.
pub(super) struct Tagged {
    timing: Arc<SystemTiming>,
    /// Of the world it ran in last: while spans are recorded every run is timed.
    recorder: Option<Arc<Recorder>>,
}

impl Tagged {
    pub(super) fn new(name: String) -> Self {
        Self { timing: Arc::new(SystemTiming::new(name)), recorder: None }
    }

    fn is_due(&self) -> bool {
        self.timing.is_due() || self.recorder.as_ref().is_some_and(|recorder| recorder.recording().is_on())
    }

    fn record(&mut self, run: Range<u64>) {
        let Self { timing, recorder } = self;
        timing.record(run.end.saturating_sub(run.start));
        with_system(|entered| {
            let context = &entered.context;
            context.record_system(timing, run);
            if recorder.as_ref().is_none_or(|known| !Arc::ptr_eq(known, &context.recorder)) {
                *recorder = Some(context.recorder.clone());
            }
        });
    }

    fn record_untimed(&self) {
        let nanoseconds = self.timing.record_untimed();
        with_system(|entered| entered.context.systems.count(nanoseconds));
    }
}

/// Whether the system was called: it is not if a parameter is missing, be that an error or a reason
/// to skip it.
fn was_called<Out>(result: &Result<Out, RunSystemError>) -> bool {
    match result {
        Ok(_) => true,
        Err(RunSystemError::Skipped(_)) => false,
        Err(RunSystemError::Failed(error)) => !error.is::<SystemParamValidationError>(),
    }
}

impl<S: System<In = ()>> Adapt<S> for Tagged {
    type In = ();
    type Out = S::Out;

    fn adapt(
        &mut self,
        input: (),
        run_system: impl FnOnce(SystemIn<'_, S>) -> Result<S::Out, RunSystemError>,
    ) -> Result<S::Out, RunSystemError> {
        #[cfg(feature = "trace")]
        let _span = tracing::info_span!("affine_system", name = &*self.timing.name).entered();
        let _scope = SystemScope::open(self.timing.clone());
        let began = self.is_due().then(now);
        let result = run_system(input);
        if was_called(&result) {
            match began {
                Some(began) => self.record(began..now()),
                None => self.record_untimed(),
            }
        }
        result
    }
}
