//! What runs around a tagged system: entering the context before, timing it after.

use std::{ops::Range, sync::Arc};

use bevy_ecs::{
    change_detection::Tick,
    prelude::{Res, Resource, System, World},
    system::{Adapt, RunSystemError, SystemAccess, SystemIn, SystemMeta, SystemParam, SystemParamValidationError},
    world::unsafe_world_cell::UnsafeWorldCell,
};

use crate::{
    context::{SystemContext, SystemScope, WorldContext, enter as enter_context, enter_nothing, with_system},
    executor::OnLeader,
    pool::now,
    record::SystemTiming,
    settings::{AffinitySettings, SchedulerMode},
};

/// The first half of every tagged system: keeps it on the leader's thread and hands it mode, pool
/// and placement. One function for all systems, for the reason of [`Tagged::begin`].
#[inline(never)]
pub(super) fn enter(
    _leader: OnLeader,
    Optional(mode): Optional<SchedulerMode>,
    Optional(settings): Optional<AffinitySettings>,
    Optional(world_context): Optional<WorldContext>,
    // Last, since it claims what the others read.
    _exclusive: Exclusive,
) {
    // Without the plugin a tagged system is an ordinary one: its queries say so when they are
    // iterated.
    let Some(world_context) = world_context else { return enter_nothing() };
    // Where a user has removed the mode the default one holds.
    enter_context(mode.copied().unwrap_or_default(), world_context, settings);
}

/// A resource that may be missing, without the times of its changes: the five fields of a `Res` are
/// written one by one and copied in pairs, for which a processor waits some 5 ns each time.
pub(super) struct Optional<'w, T>(Option<&'w T>);

// SAFETY: all is left to the parameter that it keeps a part of.
unsafe impl<T: Resource> SystemParam for Optional<'_, T> {
    type State = <Option<Res<'static, T>> as SystemParam>::State;
    type Item<'w, 's> = Optional<'w, T>;

    fn init_state(world: &mut World) -> Self::State {
        Option::<Res<T>>::init_state(world)
    }

    fn init_access(state: &Self::State, meta: &mut SystemMeta, access: &mut SystemAccess, world: &mut World) {
        Option::<Res<T>>::init_access(state, meta, access, world);
    }

    #[inline]
    unsafe fn get_param<'w>(
        state: &mut Self::State,
        meta: &SystemMeta,
        world: UnsafeWorldCell<'w>,
        change_tick: Tick,
    ) -> Result<Optional<'w, T>, SystemParamValidationError> {
        // SAFETY: the caller's promises are those that are asked for here.
        let resource = unsafe { Option::<Res<T>>::get_param(state, meta, world, change_tick) };
        Ok(Optional(resource?.map(Res::into_inner)))
    }
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
    /// What it was given in its last run.
    given: Option<SystemContext>,
}

/// A run that is under way.
struct OpenRun {
    scope: SystemScope,
    /// When it began, if it is timed.
    began: Option<u64>,
}

impl Tagged {
    pub(super) fn new(name: String) -> Self {
        Self { timing: Arc::new(SystemTiming::new(name)), given: None }
    }

    /// Whether this run is to be timed. While spans are recorded every run is.
    #[inline]
    fn is_due(&self) -> bool {
        let is_recorded = |given: &SystemContext| given.context.recorder.recording().is_on();
        self.timing.is_due() || self.given.as_ref().is_some_and(is_recorded)
    }

    /// To be called before a run. Like [`end`](Self::end) it is one function for all systems, with
    /// nearly all that it calls: after a pause it takes longer to fetch code than to run it.
    #[inline(never)]
    fn begin(&mut self) -> OpenRun {
        let began = self.is_due().then(now);
        OpenRun { scope: SystemScope::open(&self.timing, self.given.take()), began }
    }

    /// To be called after a run, in which the system was called or not.
    #[inline(never)]
    fn end(&mut self, run: OpenRun, was_called: bool) {
        let timed = run.began.map(|began| began..now());
        self.given = run.scope.close();
        if was_called {
            self.record(timed);
        }
    }

    /// Notes a run, which took this long if it was timed.
    #[inline]
    fn record(&self, timed: Option<Range<u64>>) {
        let nanoseconds = match &timed {
            Some(run) => self.timing.record(run.end.saturating_sub(run.start)),
            None => self.timing.record_untimed(),
        };
        let Some(SystemContext { mode, context }) = &self.given else { return };
        if let Some(run) = timed {
            context.record_system(&self.timing, run);
        }
        // The one that this one ran inside of takes its time too.
        let is_inside = with_system(|outer| Arc::ptr_eq(&outer.context.systems, &context.systems)).unwrap_or(false);
        context.count_system(*mode, if is_inside { 0 } else { nanoseconds });
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
        let run = self.begin();
        let result = run_system(input);
        self.end(run, was_called(&result));
        result
    }
}
