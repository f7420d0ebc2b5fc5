//! Kernels: functions of one row and of parameters that are only read.

use std::ops::Range;

use bevy_ecs::{
    prelude::{Query, Res},
    query::{QueryData, QueryFilter, ReadOnlyQueryData, SingleEntityQueryData},
    resource::Resource,
    system::{ReadOnlySystemParam, SystemParam, SystemParamItem},
};
use variadics_please::all_tuples;

use super::sealed;
use crate::{placement::Storage, sweep::Sweep};

/// The row that a kernel of [`fused`](super::fused()) is called with: the item of the query data
/// `D` of an entity that passes the filter `F`.
///
/// It is taken apart in the kernel's signature, as [`In`](bevy_ecs::system::In) is:
///
/// ```
/// # use bevy::prelude::*;
/// # use bevy_affinity::prelude::*;
/// # #[derive(Component)] struct Position(f32);
/// # #[derive(Component)] struct Velocity(f32);
/// # #[derive(Component)] struct Parked;
/// fn drive(Row((mut position, velocity)): Row<(&mut Position, &Velocity), Without<Parked>>, time: &Time) {
///     position.0 += velocity.0 * time.delta_secs();
/// }
/// # App::new().add_plugins(AffinityParallelPlugin).init_resource::<Time>().add_systems(Update, fused((drive,)).affine()).update();
/// ```
pub struct Row<'w, 's, D: RowData<F>, F: QueryFilter = ()>(pub <D as RowData<F>>::Item<'w, 's>);

/// The item of query data; mentions a filter, so that [`Row`] can have one.
#[doc(hidden)]
pub trait RowData<F>: QueryData {
    type Item<'w, 's>;

    fn row<'w, 's>(item: <Self as QueryData>::Item<'w, 's>) -> Row<'w, 's, Self, F>
    where
        Self: Sized,
        F: QueryFilter;
}

impl<D: QueryData, F> RowData<F> for D {
    type Item<'w, 's> = <D as QueryData>::Item<'w, 's>;

    #[inline(always)]
    fn row<'w, 's>(item: <D as QueryData>::Item<'w, 's>) -> Row<'w, 's, D, F>
    where
        F: QueryFilter,
    {
        Row(item)
    }
}

impl<D: RowData<F>, F: QueryFilter> std::fmt::Debug for Row<'_, '_, D, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Row").finish_non_exhaustive()
    }
}

/// What all rows of a kernel share: `&T` of a resource `T`, a [`Query`] over read-only data, or an
/// [`Option`] of these.
///
/// A [`Query`] may read what no kernel of the same [`fused`](super::fused()) writes; Bevy's message
/// about conflicting parameters (B0001) tells if one does.
///
/// # Sealed
/// Its supertrait is private, so that it cannot be implemented outside of this crate: other
/// parameters might bring effects that are applied after a system, which does not happen here.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// #[derive(Component)]
/// struct Age(f32);
///
/// fn grow_older(Row(mut age): Row<&mut Age>, time: &Time) {
///     age.0 += time.delta_secs();
/// }
/// # App::new().init_resource::<Time>().add_plugins(AffinityParallelPlugin).add_systems(Update, fused((grow_older,)).affine()).update();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a kernel",
    note = "besides its `Row` a kernel can have `&T` of a resource, `Query` over read-only data, and `Option` of these"
)]
pub trait KernelParam: sealed::Param {
    /// The system parameter that it comes from.
    type Param: ReadOnlySystemParam + for<'w, 's> SystemParam<Item<'w, 's>: Sync> + 'static;

    /// What the kernel is called with.
    type Shared<'a>: Copy;

    #[doc(hidden)]
    fn share<'a>(item: &'a SystemParamItem<'_, '_, Self::Param>) -> Self::Shared<'a>;
}

impl<T: Resource> sealed::Param for &T {}
impl<D: ReadOnlyQueryData + 'static, F: QueryFilter + 'static> sealed::Param for Query<'_, '_, D, F> {}
impl<P: KernelParam> sealed::Param for Option<P> {}

impl<T: Resource> KernelParam for &T {
    type Param = Res<'static, T>;
    type Shared<'a> = &'a T;

    #[inline(always)]
    fn share<'a>(item: &'a SystemParamItem<'_, '_, Self::Param>) -> &'a T {
        item
    }
}

impl<D: ReadOnlyQueryData + 'static, F: QueryFilter + 'static> KernelParam for Query<'_, '_, D, F> {
    type Param = Query<'static, 'static, D, F>;
    type Shared<'a> = Query<'a, 'a, D, F>;

    #[inline(always)]
    fn share<'a>(item: &'a SystemParamItem<'_, '_, Self::Param>) -> Query<'a, 'a, D, F> {
        *item
    }
}

impl<P: KernelParam> KernelParam for Option<P> {
    type Param = Option<P::Param>;
    type Shared<'a> = Option<P::Shared<'a>>;

    #[inline(always)]
    fn share<'a>(item: &'a SystemParamItem<'_, '_, Self::Param>) -> Option<P::Shared<'a>> {
        item.as_ref().map(P::share)
    }
}

/// A function (or closure) that can be fused: its first parameter is a [`Row`], all others are
/// [`KernelParam`]s.
///
/// # Sealed
/// Its supertrait is private, so that it cannot be implemented outside of this crate: only of
/// functions it is known that they take the items of a row one at a time.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// #[derive(Component)]
/// struct Age(u32);
///
/// fn kernel(Row(mut age): Row<&mut Age>) {
///     age.0 += 1;
/// }
///
/// App::new()
///     .add_plugins(AffinityParallelPlugin)
///     .add_systems(Update, fused((kernel, |Row(age): Row<&Age>| assert!(age.0 > 0))).affine())
///     .update();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a kernel",
    note = "a kernel returns nothing; its first parameter is a `Row`, the others are only read: `&T` of a resource `T` (not `Res<T>`), `Query` over read-only data, and \
            `Option` of these: `fn drive(Row((mut position, velocity)): Row<(&mut Position, &Velocity)>, time: &Time)`",
    note = "there are at most 8 of these others; kernels stand side by side in `fused((..))`, not in tuples of their own"
)]
pub trait Kernel<Marker>: sealed::Kernel<Marker> + Send + Sync + 'static {
    /// What it is given of a row. Of the row's entity alone: [`fused`](super::fused()) goes on with
    /// the next kernel before the other rows have been visited.
    type Data: SingleEntityQueryData + 'static;
    /// Which rows it is called for.
    type Filter: QueryFilter + 'static;
    /// What all rows share.
    type Params: ReadOnlySystemParam + for<'w, 's> SystemParam<Item<'w, 's>: Sync> + 'static;

    /// Calls it for those of `rows` that pass the filter.
    ///
    /// # Safety
    /// As for [`Sweep::visit`].
    #[doc(hidden)]
    unsafe fn visit<'w, 's>(
        &self,
        sweep: &Sweep<'w, 's, Self::Data, Self::Filter>,
        params: &SystemParamItem<'_, '_, Self::Params>,
        storage: Storage,
        rows: Range<u32>,
    );
}

macro_rules! impl_kernel {
    ($($param:ident),*) => {
        impl<Func, D, F, $($param),*> sealed::Kernel<fn(Row<'static, 'static, D, F>, $($param),*)> for Func
        where
            D: SingleEntityQueryData + 'static,
            F: QueryFilter + 'static,
            $($param: KernelParam + 'static,)*
            for<'a> &'a Func: Fn(Row<D, F>, $($param),*) + Fn(Row<D, F>, $($param::Shared<'_>),*),
        {
        }

        impl<Func, D, F, $($param),*> Kernel<fn(Row<'static, 'static, D, F>, $($param),*)> for Func
        where
            D: SingleEntityQueryData + 'static,
            F: QueryFilter + 'static,
            $($param: KernelParam + 'static,)*
            Func: Send + Sync + 'static,
            for<'a> &'a Func: Fn(Row<D, F>, $($param),*) + Fn(Row<D, F>, $($param::Shared<'_>),*),
        {
            type Data = D;
            type Filter = F;
            type Params = ($($param::Param,)*);

            #[inline]
            #[allow(non_snake_case, reason = "the macro's caller names the types")]
            unsafe fn visit<'w, 's>(
                &self,
                sweep: &Sweep<'w, 's, D, F>,
                params: &SystemParamItem<'_, '_, Self::Params>,
                storage: Storage,
                rows: Range<u32>,
            ) {
                // As in Bevy: without this function the compiler does not see that `&Func` can be
                // called.
                #[inline(always)]
                #[allow(clippy::too_many_arguments, reason = "as many as there are parameters")]
                fn call<R, $($param),*>(kernel: impl Fn(R, $($param),*), row: R, $($param: $param),*) {
                    kernel(row, $($param),*);
                }

                /// A kernel's loop over rows.
                #[allow(clippy::too_many_arguments, reason = "as many as there are parameters")]
                trait Loop<D: SingleEntityQueryData, F: QueryFilter, $($param),*> {
                    /// # Safety
                    /// As for [`Sweep::visit`].
                    unsafe fn run(&self, sweep: &Sweep<'_, '_, D, F>, at: Storage, rows: Range<u32>, $($param: $param),*);
                }

                #[allow(clippy::too_many_arguments, reason = "as many as there are parameters")]
                impl<Func, D, F, $($param),*> Loop<D, F, $($param),*> for Func
                where
                    for<'a> &'a Func: Fn(Row<D, F>, $($param),*),
                    D: SingleEntityQueryData,
                    F: QueryFilter,
                    $($param: Copy),*
                {
                    // With a parameter for each reference: so the compiler knows that no row
                    // overwrites what they refer to, and reads it once. A method of the kernel, and
                    // `inline`: so it is compiled together with the kernel, which becomes a part of
                    // the loop. Without these, loops over `f32` were seen to take twice as long.
                    #[inline]
                    unsafe fn run(&self, sweep: &Sweep<'_, '_, D, F>, at: Storage, rows: Range<u32>, $($param: $param),*) {
                        // SAFETY: the caller's promise.
                        unsafe { sweep.visit_in_any_order(at, rows, |item| call(self, <D as RowData<F>>::row(item), $($param),*)) };
                    }
                }

                let ($($param,)*) = params;
                // SAFETY: the caller's promise.
                unsafe { Loop::run(self, sweep, storage, rows, $($param::share($param)),*) };
            }
        }
    };
}

all_tuples!(impl_kernel, 0, 8, P);
