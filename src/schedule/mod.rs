//! The tag: [`.affine()`](IntoAffine::affine) puts systems on the leader and gives them the gang;
//! small ones the gang may run elsewhere. `looked_into.rs` goes through the app's schedules: it
//! tags the systems that are waiting for that (`configured.rs`), and installs executors, as users
//! do for their own (`install.rs`).

mod configured;
mod install;
mod looked_into;
mod sets;
mod tagged;

pub(crate) use looked_into::{BeforeStartup, LookedInto, look_into_first, look_into_schedules};
pub use sets::{AffineSystems, AffinitySystems};

use std::{any::TypeId, collections::BTreeSet, sync::Mutex};

use bevy_ecs::{
    prelude::{IntoScheduleConfigs, IntoSystem, System},
    schedule::ScheduleConfigs,
    system::{AdapterSystem, BoxedSystem, PipeSystem, ScheduleSystem},
};
use bevy_utils::prelude::DebugName;
use variadics_please::all_tuples;

use crate::{executor::is_sync_point, record::known_name, sync::lock};
use tagged::{Tagged, enter};

/// What can be tagged: a system, a (nested) tuple of systems, or systems that were configured
/// before.
///
/// A system is a function of system parameters without input and output (Bevy's `Result` is
/// allowed), an exclusive one too. The tag is the system's: `app.add_systems(Update,
/// drive.affine())`. What can not be tagged, and what to do instead:
///
/// | | |
/// |---|---|
/// | a one-shot system | register [`affine_system(system)`](affine_system); input: by a resource |
/// | a system with output | `system.pipe(next)`, tagged as a whole; as a one-shot system it may have output |
/// | an observer | leave wide work to a tagged system, or to such a one by `run_system` |
/// | a run condition | Bevy runs conditions on any thread: write what it looks at in a tagged system before |
/// | more than 20 systems | tuples in a tuple: `((a, b, ..), (k, l, ..)).affine()` |
///
/// An [`AffineQuery`](crate::AffineQuery) in what is not tagged runs on Bevy's threads, with a
/// warning.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// /// Adds systems of a library, tagged.
/// fn add<M>(app: &mut App, systems: impl IntoAffine<M>) {
///     app.add_systems(FixedUpdate, systems.affine());
/// }
///
/// fn simulate() {}
///
/// add(App::new().add_plugins(AffinityParallelPlugin), (simulate, || {}));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be tagged with `.affine()`",
    label = "not a system without input and output, nor a tuple of such",
    note = "a system takes system parameters only, and returns nothing or Bevy's `Result` (`?` takes other errors in): give output on by `.pipe(next)`",
    note = "which parameter is not one, Bevy says where the system is added without `.affine()`",
    note = "a tuple has at most 20 systems: put tuples in a tuple",
    note = "an observer or a run condition cannot be tagged; a one-shot system can: `affine_system(system)`"
)]
pub trait IntoAffine<Marker>: Sized {
    /// Tags these systems: they run on the schedule's main thread, which leads the gang, and each
    /// parallel call of an [`AffineQuery`](crate::AffineQuery) in them (`par_iter`, not `iter` or a
    /// `for` loop) runs as [`SchedulerMode`](crate::SchedulerMode) says. They are in the set
    /// [`AffineSystems`] and timed by name.
    ///
    /// But where the schedule runs [on the gang](crate::ScheduleWay::OnTheGang), in any mode, those
    /// that are too small to be spread over the workers are dealt out to them whole, so that
    /// several run at a time, and each sweeps by itself. A system that has to be on the main thread
    /// says so as in Bevy, by a [`NonSendMarker`](bevy_ecs::system::NonSendMarker) or data that
    /// cannot be sent; one that asks for `Res<AffinityPool>` stays there too.
    ///
    /// Before or behind `.chain()`, `.run_if(..)` and the like: both are the same, except for
    /// systems that are run before the app has started or in the frame in which they are added.
    /// Those can be tagged only before they are configured; a warning says so. Without the plugin
    /// systems that were configured first are not bound to the main thread. And where Bevy is
    /// built without its feature `debug`, diagnostics know systems that were configured first by
    /// the place of their tag, others by their names.
    ///
    /// For Bevy a tagged system is another type than its function. Sets and orders find it by its
    /// function all the same; `Stepping` finds it by its node only (`never_run_node` and the like).
    ///
    /// With the plugin the schedule itself runs by the executor that was measured to take least
    /// (see [`AffinityExecutor`](crate::AffinityExecutor)). By Bevy's multi-threaded one each step
    /// in a chain from a tagged system to an untagged one or back takes some 25 microseconds, as
    /// one thread wakes another: mind that where a schedule is left alone, or runs only once.
    ///
    /// ```
    /// use bevy::prelude::*;
    /// use bevy_affinity::prelude::*;
    ///
    /// fn steer() {}
    /// fn drive() {}
    /// fn report() {}
    ///
    /// App::new()
    ///     .add_plugins(AffinityParallelPlugin)
    ///     .add_systems(Update, (steer, drive).affine().chain())
    ///     .add_systems(Update, report.after(drive))
    ///     .update();
    /// ```
    #[track_caller]
    fn affine(self) -> ScheduleConfigs<ScheduleSystem>;
}

/// A system that [`IntoAffine`] can wrap. A trait of its own, for the message where something is
/// none.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be tagged with `.affine()`",
    label = "not a system without input and output, nor a tuple of such",
    note = "a system takes system parameters only, and returns nothing or Bevy's `Result` (`?` takes other errors in): give output on by `.pipe(next)`",
    note = "which parameter is not one, Bevy says where the system is added without `.affine()`",
    note = "a tuple has at most 20 systems: put tuples in a tuple",
    note = "an observer or a run condition cannot be tagged; a one-shot system can: `affine_system(system)`"
)]
pub trait Taggable<Marker>: IntoSystem<(), (), Marker> {}

#[diagnostic::do_not_recommend]
impl<S: IntoSystem<(), (), Marker>, Marker> Taggable<Marker> for S {}

impl<S, Marker> IntoAffine<Marker> for S
where
    S: Taggable<Marker>,
{
    fn affine(self) -> ScheduleConfigs<ScheduleSystem> {
        let system = IntoSystem::into_system(self);
        if is_sync_point(system.system_type()) || is_tagged(&system) {
            return system.in_set(AffineSystems);
        }
        let shown = shown_name::<S>(&system.name());
        tag(system, shown).in_set(AffineSystems)
    }
}

impl IntoAffine<Boxed> for BoxedSystem<(), ()> {
    fn affine(self) -> ScheduleConfigs<ScheduleSystem> {
        self.into_configs().affine()
    }
}

/// Tells boxed systems from others.
#[doc(hidden)]
pub struct Boxed;

/// A tagged system for all that takes a system and no configuration: one-shot systems above all. In
/// a schedule write [`.affine()`](IntoAffine::affine), which also puts it into [`AffineSystems`].
/// It may have output. Bevy's `run_system_cached` takes systems without a size only, which this is
/// not: register it and keep the id.
///
/// ```
/// use bevy::{ecs::system::RunSystemOnce, prelude::*};
/// use bevy_affinity::{affine_system, prelude::*};
///
/// #[derive(Component)]
/// struct Health(u32);
///
/// fn weakest(healths: AffineQuery<&Health>) -> u32 {
///     healths.par_iter().map_reduce(|| u32::MAX, |health| health.0, u32::min)
/// }
///
/// let mut app = App::new();
/// app.add_plugins(AffinityParallelPlugin);
/// app.world_mut().spawn_batch([Health(7), Health(3)]);
/// let weakest = app.register_system(affine_system(weakest));
/// assert_eq!(app.world_mut().run_system(weakest).unwrap(), 3);
/// ```
pub fn affine_system<Out: 'static, Marker>(
    system: impl IntoSystem<(), Out, Marker>,
) -> impl System<In = (), Out = Out> {
    named(system)
}

fn named<S: IntoSystem<(), Out, Marker>, Out: 'static, Marker>(system: S) -> impl System<In = (), Out = Out> {
    let system = IntoSystem::into_system(system);
    let shown = shown_name::<S>(&system.name());
    tag(system, shown)
}

/// A system that leads the gang, with its name in diagnostics.
pub(crate) fn tag<S: System<In = ()>>(system: S, shown: String) -> impl System<In = (), Out = S::Out> {
    let name = system.name();
    // What `enter` declares (the leader's thread, reading the settings) becomes part of the access
    // of the pair. Bevy warns of it, and records it, like a system of its own.
    let enter = IntoSystem::into_system(enter).with_name(format!("tag of {name}"));
    let entered = PipeSystem::new(enter, system, name.clone());
    let tagged = AdapterSystem::new(Tagged::new(shown), entered, name);
    lock(&TAGGED).insert(tagged.system_type());
    tagged
}

/// The types of the systems that [`tag`] made.
static TAGGED: Mutex<BTreeSet<TypeId>> = Mutex::new(BTreeSet::new());

/// Whether a system is one that [`tag`] made. What is put together from such is not: half of it may
/// have no tag.
fn is_tagged(system: &(impl System + ?Sized)) -> bool {
    let made_by = system.system_type();
    lock(&TAGGED).contains(&made_by)
}

/// The name of a system in diagnostics: Bevy's, or that of its type where Bevy was built without
/// names.
fn shown_name<S>(name: &DebugName) -> String {
    known_name(name).unwrap_or_else(|| std::any::type_name::<S>().into())
}

/// Tells tuples of systems from systems; a type of this crate, so that no other crate can make a
/// tuple a system.
#[doc(hidden)]
pub struct TupleMarker<Markers>(std::marker::PhantomData<Markers>);

macro_rules! impl_into_affine {
    ($(($marker:ident, $system:ident)),*) => {
        impl<$($marker, $system),*> IntoAffine<TupleMarker<($($marker,)*)>> for ($($system,)*)
        where
            $($system: IntoAffine<$marker>),*
        {
            #[allow(non_snake_case, reason = "the macro's caller names the types")]
            fn affine(self) -> ScheduleConfigs<ScheduleSystem> {
                let ($($system,)*) = self;
                ($($system.affine(),)*).into_configs()
            }
        }
    };
}

all_tuples!(impl_into_affine, 1, 20, P, S);
