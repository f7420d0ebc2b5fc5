//! The tag: [`.affine()`](IntoAffine::affine) puts systems on the leader and gives them the gang.

mod alone;
mod overlap;
mod tagged;

pub(crate) use alone::choose_executors;

use bevy_ecs::{
    prelude::{IntoScheduleConfigs, IntoSystem, System, SystemSet},
    schedule::ScheduleConfigs,
    system::{AdapterSystem, PipeSystem, ScheduleSystem},
};
use bevy_utils::prelude::DebugName;
use variadics_please::all_tuples;

use tagged::{Tagged, enter};

/// The set of all systems that were tagged with [`.affine()`](IntoAffine::affine), in every schedule.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AffineSystems;

/// Systems that can be tagged: a system, or a (nested) tuple of systems.
///
/// Tag first, configure after: `(a, b).affine().chain().run_if(condition)`. Systems that are configured already cannot be wrapped
/// any more, which is a compile error.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be tagged with `.affine()`",
    note = "tag systems before they are configured: `(a, b).affine().chain()`, not `(a, b).chain().affine()`"
)]
pub trait IntoAffine<Marker>: Sized {
    /// Tags these systems: they run on the schedule's main thread, which leads the gang, and each [`AffineQuery`](crate::AffineQuery) in them
    /// iterates in parallel as [`SchedulerMode`](crate::SchedulerMode) says. They are in the set [`AffineSystems`] and timed by name.
    ///
    /// A schedule with tagged systems gets Bevy's single-threaded executor as long as no two of its systems could run at the same time anyway: each of
    /// its untagged systems is ordered before or after every other system (by `.chain()`, sets and the like), conflicts with it in access, or is
    /// exclusive or bound to the main thread. Changes of threads would only cost there. One untagged system that could run beside
    /// another keeps the schedule on Bevy's multi-threaded executor, and each step in a chain from a tagged system to an untagged one or back then
    /// takes some microseconds.
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
    fn affine(self) -> ScheduleConfigs<ScheduleSystem>;
}

impl<S, Marker> IntoAffine<Marker> for S
where
    S: IntoSystem<(), (), Marker>,
{
    fn affine(self) -> ScheduleConfigs<ScheduleSystem> {
        let system = IntoSystem::into_system(self);
        let shown = shown_name::<S>(&system.name());
        tag(system, shown).in_set(AffineSystems)
    }
}

/// A system that leads the gang, with its name in diagnostics.
pub(crate) fn tag<S: System<In = (), Out = ()>>(system: S, shown: String) -> impl System<In = (), Out = ()> {
    let name = system.name();
    // What `enter` declares (the leader's thread, reading the settings) becomes part of the access
    // of the pair.
    let entered = PipeSystem::new(IntoSystem::into_system(enter), system, name.clone());
    AdapterSystem::new(Tagged::new(shown), entered, name)
}

/// The name of a system in diagnostics: Bevy's, or that of its type where Bevy was built without its `debug` feature and has the same
/// placeholder for all names.
fn shown_name<S>(name: &DebugName) -> String {
    let name = name.to_string();
    if name == DebugName::type_name::<()>().to_string() { std::any::type_name::<S>().into() } else { name }
}

/// Tells tuples of systems from systems; a type of this crate, so that no other crate can make a tuple a system.
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
