//! [`fused`]: systems that touch nothing but their own rows, one after another on each block of
//! rows while it is in the cache.

mod kernel;
mod kernels;
mod param;
mod ticks;

pub use kernel::{Kernel, KernelParam, Row};
pub use kernels::Kernels;

use std::{fmt, marker::PhantomData, panic::Location};

use bevy_ecs::system::{SystemParamFunction, SystemParamItem};

use crate::{
    context::longest_chunk,
    sweep::{Plan, SiteRef, split_by_length},
};
use param::FusedParam;

/// Supertraits that other crates cannot name, so that they cannot implement what has them.
mod sealed {
    pub trait Param {}
    pub trait Kernel<Marker> {}
    pub trait Kernels<Markers> {}
}

/// One system made of several *kernels*: functions of one row, each as good as a system over a
/// query. A worker goes through its rows block by block (16 KiB of all columns, 64 to 2,048 rows,
/// or [`chunk_rows`](crate::AffinitySettings::chunk_rows) if that is less) and calls all kernels,
/// one after another, for a block before it goes on to the next: the block stays in the core's
/// first-level cache, and no worker waits in between.
///
/// A kernel's first parameter is its [`Row`]: query data, and a filter if it has one. The others
/// are what all rows share, and only read: `&T` of a resource, [`Query`](bevy_ecs::system::Query)
/// over read-only data, and [`Option`] of these; eight at most. Kernels may be functions or
/// closures, one to twelve of them.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// #[derive(Component)]
/// struct Position(f32);
/// #[derive(Component)]
/// struct Velocity(f32);
/// #[derive(Component)]
/// struct Thrust(f32);
/// #[derive(Resource)]
/// struct Drag(f32);
///
/// fn steer(Row((mut velocity, thrust)): Row<(&mut Velocity, &Thrust)>, drag: &Drag) {
///     velocity.0 += thrust.0 - velocity.0 * drag.0;
/// }
///
/// fn drive(Row((mut position, velocity)): Row<(&mut Position, &Velocity)>) {
///     position.0 += velocity.0;
/// }
///
/// let mut app = App::new();
/// app.add_plugins(AffinityParallelPlugin).insert_resource(Drag(0.5)).add_systems(Update, fused((steer, drive)).affine());
/// let ship = app.world_mut().spawn((Position(0.0), Velocity(2.0), Thrust(3.0))).id();
/// app.update();
/// assert_eq!(app.world().get::<Position>(ship).unwrap().0, 4.0);
/// ```
///
/// The world is afterwards as if each kernel were a system and these were chained, to the bit and
/// to the change tick: a later kernel sees what an earlier one changed in the same run, an earlier
/// one what a later one changed in the run before. That is so because a kernel can look at nothing
/// that another one writes, except for the row that it is called with. What kernels write elsewhere
/// (a counter that a closure shares) is written in another order, and the summary tick of a
/// component that two of them write is that of either. Each kernel has a tick of its own, later
/// than its system's: do not call a fused function beside another one in one system of your own (by
/// a `ParamSet`), which would see the changes in its next run; `pipe` and chains are fine.
///
/// It is one system otherwise: one name, one place in the schedule, one line in the diagnostics,
/// run conditions and sets for all kernels or for none. What others were ordered by, as
/// `.after(drive)`, names a set then: `fused((steer, drive)).affine().in_set(Moving)`. If a
/// resource is missing, no kernel runs, and what has changed since the last run that ended is still
/// new in the next one. If one of the queries cannot visit whole tables (a component in a sparse
/// set), all go by archetype.
///
/// # Panics
/// When the system is initialised, if a kernel's data conflicts with itself, or if a `Query` that
/// rows share can read what a kernel writes.
#[must_use = "a system does nothing until it is added to a schedule"]
#[track_caller]
pub fn fused<M, K: Kernels<M>>(kernels: K) -> Fused<K> {
    Fused { kernels, location: Location::caller() }
}

/// A system made by [`fused`], to be tagged with [`.affine()`](crate::IntoAffine::affine).
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// #[derive(Component)]
/// struct Age(u32);
///
/// let older = fused((|Row(mut age): Row<&mut Age>| age.0 += 1,));
/// App::new().add_plugins(AffinityParallelPlugin).add_systems(Update, older.affine().run_if(|| true)).update();
/// ```
pub struct Fused<K> {
    kernels: K,
    /// Where it was made: what is known of its sweeps goes by that.
    location: &'static Location<'static>,
}

impl<K> fmt::Debug for Fused<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::any::type_name::<Self>())
    }
}

/// Tells fused systems from functions.
#[doc(hidden)]
pub struct FusedMarker<M>(PhantomData<M>);

impl<K: Kernels<M>, M: 'static> SystemParamFunction<FusedMarker<M>> for Fused<K> {
    type In = ();
    type Out = ();
    type Param = FusedParam<'static, 'static, K, M>;

    fn run(&mut self, (): (), run: SystemParamItem<Self::Param>) {
        let Self { kernels, location } = &*self;
        let FusedParam { rows, calls, passes, block_rows } = run;
        let length = longest_chunk().min(block_rows);
        let plan = Plan::new(rows, SiteRef::at(location, calls));
        plan.run(move |part| {
            part.for_each_range(|_, storage, rows| {
                for block in split_by_length(rows, length) {
                    // SAFETY: 'one kernel at a time' on `Kernels`, whose blocks are disjoint by
                    // 'parts' on `Part`; `run` is used up, so no other call visits these rows.
                    unsafe { kernels.visit(&passes, storage, block) };
                }
            });
        });
    }
}
