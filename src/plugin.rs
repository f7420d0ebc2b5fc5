//! [`AffinityParallelPlugin`]: the one line to add.

use bevy_app::{App, First, Last, MainScheduleOrder, Plugin, PreStartup};
use bevy_ecs::{
    prelude::{AppTypeRegistry, Commands, IntoScheduleConfigs, Res, ResMut, Resource, Schedules, World},
    schedule::ScheduleLabel,
    system::NonSendMarker,
};

use log::{info, warn};

use crate::{
    context::WorldContext,
    diagnostics::{AffinityDiagnostics, AffinityTimeline, Observers, Places, begin_frame},
    due::Due,
    executor::AffinitySchedules,
    once::Once,
    pool::{AffinityPool, worker_of_round},
    schedule::{AffinitySystems, BeforeStartup, LookedInto, look_into_first, look_into_schedules},
    settings::{AffinitySettings, SchedulerMode},
    topology::Topology,
};

/// Runs systems that are tagged with [`.affine()`](crate::IntoAffine::affine) on a pinned gang, as
/// [`SchedulerMode`] says, and gives every schedule but `Main`, `FixedMain` and `RunFixedMainLoop`
/// an [`AffinityExecutor`](crate::AffinityExecutor), tagged systems in it or not: insert
/// [`AffinitySchedules::none()`](AffinitySchedules::none) before the plugin to keep Bevy's.
///
/// Brings the resources [`AffinitySettings`], [`SchedulerMode`], [`AffinitySchedules`] (all kept if
/// they are there already), [`AffinityPool`], [`AffinityDiagnostics`] and [`AffinityTimeline`]. The
/// pool follows the settings: one that a program inserts is replaced, with a warning. The plugin's
/// order among others is free. What it does in every frame is in [`AffinitySystems`].
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// fn simulate() {}
///
/// App::new().add_plugins(AffinityParallelPlugin).add_systems(FixedUpdate, simulate.affine()).update();
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct AffinityParallelPlugin;

impl Plugin for AffinityParallelPlugin {
    fn build(&self, app: &mut App) {
        add_choices(app);
        add_context(app);
        add_systems(app);
        #[cfg(feature = "overlay")]
        app.add_plugins(crate::overlay::AffinityOverlayPlugin);
        // `First` cannot be looked into while the system runs in it, and not all apps are finished.
        look_now(app.world_mut());
    }

    fn finish(&self, app: &mut App) {
        if let Some(mut looked_into) = app.world_mut().get_resource_mut::<LookedInto>() {
            looked_into.look_again();
        }
        look_now(app.world_mut());
        if let Some(pool) = app.world().get_resource::<AffinityPool>() {
            let (workers, cores) = (pool.workers(), pool.topology());
            info!("bevy_affinity: workers: {workers}, the main thread among them, on {cores}");
        }
    }
}

/// Adds what users choose, unless it is there already.
fn add_choices(app: &mut App) {
    // An app that is made empty, such as a `SubApp`, has no types yet.
    app.init_resource::<AppTypeRegistry>()
        .init_resource::<AffinitySettings>()
        .init_resource::<SchedulerMode>()
        .init_resource::<AffinitySchedules>()
        .register_type::<AffinitySettings>()
        .register_type::<SchedulerMode>()
        .register_type::<AffinitySchedules>()
        // Other agendas are the program's.
        .register_type::<Due>()
        // Every tagged system reads these; writing them does not conflict with the simulation.
        .allow_ambiguous_resource::<AffinitySettings>()
        .allow_ambiguous_resource::<SchedulerMode>()
        .allow_ambiguous_resource::<AffinitySchedules>()
        .allow_ambiguous_resource::<WorldContext>();
}

/// Adds the pool for the settings, and what is told of it.
fn add_context(app: &mut App) {
    let settings = app.world().resource::<AffinitySettings>();
    let context = WorldContext::new(settings, Topology::get());
    let (recorder, pool) = (context.current().recorder.clone(), context.current().pool.clone());
    if app.world().contains_resource::<AffinityPool>() {
        warn!("{FOREIGN_POOL}");
    }
    app.init_resource::<AffinityDiagnostics>()
        .init_resource::<Places>()
        .insert_resource(AffinityTimeline::new(recorder.clone()))
        .insert_resource(LookedInto::new(recorder))
        .insert_resource(pool.clone())
        .insert_resource(Given { pool, exclusive: None })
        .insert_resource(context);
}

/// Adds what is done in every frame.
fn add_systems(app: &mut App) {
    let begin = (look_into_schedules, follow_settings_and_cores, begin_frame).in_set(AffinitySystems::BeginFrame);
    // Some of Bevy's own systems in `First` are exclusive; no system can see what these change
    // before the frame's end.
    app.add_systems(First, begin.ambiguous_with_all());
    app.add_systems(Last, (look_into_first.ambiguous_with_all(), end_frame).in_set(AffinitySystems::EndFrame));
    look_before_startup(app);
}

/// Has schedules looked into before the first of them runs: what is configured and tagged is
/// wrapped before its schedule is built, and `First` comes behind `Startup`.
fn look_before_startup(app: &mut App) {
    app.add_systems(BeforeStartup, look_into_schedules.ambiguous_with_all());
    if let Some(mut order) = app.world_mut().get_resource_mut::<MainScheduleOrder>() {
        order.startup_labels.insert(0, BeforeStartup.intern());
    }
    // An app that got its order later, or one of its own.
    app.add_systems(PreStartup, look_into_schedules.ambiguous_with_all());
}

/// Looks into all schedules.
fn look_now(world: &mut World) {
    let Some(mut looked_into) = world.remove_resource::<LookedInto>() else { return };
    let which = world.get_resource::<AffinitySchedules>().cloned().unwrap_or_else(AffinitySchedules::none);
    looked_into.look(&mut world.resource_mut::<Schedules>(), &which);
    world.insert_resource(looked_into);
}

/// A pool of the program's own does not last.
const FOREIGN_POOL: &str = "bevy_affinity: the resource `AffinityPool` that the program inserted is replaced: it \
                            follows `AffinitySettings`, so insert these; keep a pool of your own in a resource of \
                            your own";

/// What the plugin gave the world, and found there.
#[derive(Resource)]
struct Given {
    pool: AffinityPool,
    /// What [`AffinitySettings::exclusive`] was in the first frame.
    exclusive: Option<bool>,
}

/// Gives the world the pool for the settings that it now has and for the cores that it may now use.
///
/// Runs on the thread that leads the gang: the system tells each thread of its own cores. Where a
/// user has removed the settings the last ones stay; a pool that is not the world's own, or was
/// removed, is put back.
fn follow_settings_and_cores(
    _leader: NonSendMarker,
    settings: Option<Res<AffinitySettings>>,
    world_context: Option<Res<WorldContext>>,
    pool: Option<Res<AffinityPool>>,
    given: Option<ResMut<Given>>,
    mut commands: Commands,
) {
    let (Some(world_context), Some(mut given)) = (world_context, given) else { return };
    // An app that runs inside a round may be on a pinned worker, which is told of one core.
    let is_pinned = worker_of_round().is_some_and(|worker| worker > 0);
    let context = match &settings {
        None => world_context.current(),
        Some(settings) if is_pinned => world_context.for_settings(settings),
        Some(settings) => world_context.for_cores(settings, &Topology::follow()),
    };
    if let Some(settings) = settings {
        given.warn_of_late_change(settings.exclusive);
    }
    context.pool.watch_children();
    if pool.as_ref().is_none_or(|pool| !context.pool.is_same(pool)) {
        static WARNED: Once = Once::new();
        if pool.is_some_and(|pool| !given.pool.is_same(&pool)) && WARNED.first() {
            warn!("{FOREIGN_POOL}");
        }
        given.pool = context.pool.clone();
        commands.insert_resource(given.pool.clone());
    }
}

impl Given {
    /// Says once that systems do not follow a setting that they have read before.
    fn warn_of_late_change(&mut self, exclusive: bool) {
        static WARNED: Once = Once::new();
        if *self.exclusive.get_or_insert(exclusive) != exclusive && WARNED.first() {
            warn!(
                "bevy_affinity: `AffinitySettings::exclusive` was changed in a running app: only systems that have not \
                 run yet follow it, so insert it before the plugin"
            );
        }
    }
}

/// Moves cuts between the rows of workers where the frame showed that it pays, and brings the
/// diagnostics up to date. Cuts move without diagnostics too.
fn end_frame(world_context: Option<Res<WorldContext>>, observers: Observers) {
    let Some(world_context) = world_context else { return };
    let context = world_context.current();
    if let Some(mut ownership) = context.try_ownership() {
        ownership.placement.end_frame();
    }
    observers.end_frame(&context);
}
