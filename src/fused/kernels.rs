//! Tuples of kernels: their states between runs, and their turns at each block of rows.

use std::ops::Range;

use bevy_ecs::{
    change_detection::Tick,
    prelude::World,
    query::{FilteredAccessSet, QueryFilter, SingleEntityQueryData},
    system::{SystemAccess, SystemMeta, SystemParam, SystemParamItem, SystemParamValidationError},
    world::unsafe_world_cell::UnsafeWorldCell,
};
use variadics_please::all_tuples_enumerated;

use super::{kernel::Kernel, sealed, ticks::LastRun};
use crate::{
    placement::Storage,
    query::{AffineQueryState, SweepState},
    record::known_name,
    sweep::{Matched, Rows, Sweep},
};

/// The state of one kernel between runs.
pub struct KernelState<D: SingleEntityQueryData, F: QueryFilter, P: SystemParam> {
    rows: AffineQueryState<D, F>,
    params: P::State,
    /// The kernel's own, as if it were a system; made in the first run.
    meta: Option<SystemMeta>,
    /// Of the run that was begun last.
    this_run: Tick,
}

/// A [`KernelState`], whatever its types.
pub trait AnyKernelState {
    fn matched(&mut self) -> &mut Matched;
    fn register_rows(&self, meta: &mut SystemMeta, access: &mut FilteredAccessSet, world: &mut World);
    fn register_params(&self, meta: &mut SystemMeta, access: &mut SystemAccess, world: &mut World);
    fn update(&mut self, world: UnsafeWorldCell<'_>);

    /// Begins a run of the kernel at `this_run`, in a system with `meta`.
    fn begin(&mut self, meta: &SystemMeta, last_run: LastRun, this_run: Tick);
}

/// One kernel in one run.
pub struct Pass<'w, 's, D: SingleEntityQueryData, F: QueryFilter, P: SystemParam> {
    sweep: Sweep<'w, 's, D, F>,
    params: SystemParamItem<'w, 's, P>,
}

impl<D: SingleEntityQueryData, F: QueryFilter, P: SystemParam> KernelState<D, F, P> {
    fn new(world: &mut World) -> Self {
        Self { rows: AffineQueryState::new(world), params: P::init_state(world), meta: None, this_run: Tick::default() }
    }

    /// The kernel in the run that was begun last.
    ///
    /// # Safety
    /// The access of rows and parameters is registered, and the world is the state's own.
    unsafe fn pass<'w, 's>(
        &'s mut self,
        world: UnsafeWorldCell<'w>,
    ) -> Result<Pass<'w, 's, D, F, P>, SystemParamValidationError> {
        let Self { rows, params, meta, this_run } = self;
        let (meta, this_run) = (meta.as_ref().expect("the run was begun"), *this_run);
        // SAFETY: the caller's promise.
        let params = unsafe { P::get_param(params, meta, world, this_run) }?;
        let SweepState { data, filter, matched, .. } = &rows.sweeps;
        let sweep = Sweep { rows: Rows::new(world, matched), data, filter, last_run: meta.get_last_run(), this_run };
        Ok(Pass { sweep, params })
    }
}

impl<D: SingleEntityQueryData, F: QueryFilter, P: SystemParam> AnyKernelState for KernelState<D, F, P> {
    fn matched(&mut self) -> &mut Matched {
        &mut self.rows.sweeps.matched
    }

    fn register_rows(&self, meta: &mut SystemMeta, access: &mut FilteredAccessSet, world: &mut World) {
        let before = access.filtered_accesses().len();
        self.rows.register(meta, access, world);
        assert!(
            access.filtered_accesses().len() == before + 1,
            "bevy_affinity: a filter of a kernel in {} looks at other entities than its row's, which another kernel may be \
             writing: make that kernel a system of its own with an `AffineQuery`, chained before or behind the fused one",
            known_name(meta.name()).unwrap_or_else(|| "a fused system".to_owned())
        );
    }

    fn register_params(&self, meta: &mut SystemMeta, access: &mut SystemAccess, world: &mut World) {
        P::init_access(&self.params, meta, access, world);
    }

    fn update(&mut self, world: UnsafeWorldCell<'_>) {
        self.rows.update(world);
    }

    fn begin(&mut self, meta: &SystemMeta, last_run: LastRun, this_run: Tick) {
        let own = self.meta.get_or_insert_with(|| meta.clone());
        match last_run {
            LastRun::Stays => {}
            LastRun::Advances => own.set_last_run(self.this_run),
            LastRun::Follows(last_run) => own.set_last_run(last_run),
        }
        self.this_run = this_run;
    }
}

impl<'w, 's, D: SingleEntityQueryData, F: QueryFilter, P: SystemParam> Pass<'w, 's, D, F, P> {
    /// Calls `kernel` for those of `rows` that it is for.
    ///
    /// # Safety
    /// As for [`Sweep::visit`], except that the storage need not match.
    #[inline]
    unsafe fn visit<M>(
        &self,
        kernel: &impl Kernel<M, Data = D, Filter = F, Params = P>,
        storage: Storage,
        rows: Range<u32>,
    ) {
        if self.sweep.rows.matched.contains(storage) {
            // SAFETY: the caller's promise; the storage matches.
            unsafe { kernel.visit(&self.sweep, &self.params, storage, rows) };
        }
    }
}

/// Kernels that can be fused: a tuple of one to twelve.
///
/// # Invariant (one kernel at a time)
/// At any time at most one kernel of a [`Kernels`] has items of a row. A kernel takes items of any
/// lifetime, so none outlives its call; blocks of rows that are visited at the same time are
/// disjoint ('parts' on `Part`); and all kernels of a block are called by one thread, one after
/// another. Items reach no other rows: their data is `SingleEntityQueryData`, and filters are
/// checked when their access is registered.
///
/// # Sealed
/// Its supertrait is private, so that it cannot be implemented outside of this crate: the compiler
/// could not check that an implementation keeps to the invariant.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tuple of kernels",
    note = "`fused` takes a tuple of one to twelve functions, each of a `Row` and of what is only read: `fused((steer, drive))`"
)]
pub trait Kernels<M>: sealed::Kernels<M> + Send + Sync + 'static {
    #[doc(hidden)]
    type States: Send + Sync + 'static;
    #[doc(hidden)]
    type Passes<'w, 's>: Sync;

    #[doc(hidden)]
    fn states(world: &mut World) -> Self::States;

    #[doc(hidden)]
    fn each(states: &Self::States) -> impl Iterator<Item = &dyn AnyKernelState>;

    #[doc(hidden)]
    fn each_mut(states: &mut Self::States) -> impl Iterator<Item = &mut dyn AnyKernelState>;

    /// # Safety
    /// The access of all kernels is registered, and the world is the states' own.
    #[doc(hidden)]
    unsafe fn passes<'w, 's>(
        states: &'s mut Self::States,
        world: UnsafeWorldCell<'w>,
    ) -> Result<Self::Passes<'w, 's>, SystemParamValidationError>;

    /// Calls each kernel with all `rows` before the next.
    ///
    /// # Safety
    /// As for [`Sweep::visit`], except that not all kernels need to match the storage.
    #[doc(hidden)]
    unsafe fn visit<'w, 's>(&self, passes: &Self::Passes<'w, 's>, storage: Storage, rows: Range<u32>);
}

macro_rules! impl_kernels {
    ($(($index:tt, $kernel:ident, $marker:ident)),*) => {
        impl<$($kernel: Kernel<$marker>, $marker),*> sealed::Kernels<($($marker,)*)> for ($($kernel,)*) {}

        impl<$($kernel, $marker),*> Kernels<($($marker,)*)> for ($($kernel,)*)
        where
            $($kernel: Kernel<$marker>),*
        {
            type States = ($(KernelState<$kernel::Data, $kernel::Filter, $kernel::Params>,)*);
            type Passes<'w, 's> = ($(Pass<'w, 's, $kernel::Data, $kernel::Filter, $kernel::Params>,)*);

            fn states(world: &mut World) -> Self::States {
                ($(KernelState::<$kernel::Data, $kernel::Filter, $kernel::Params>::new(world),)*)
            }

            fn each(states: &Self::States) -> impl Iterator<Item = &dyn AnyKernelState> {
                [$(&states.$index as &dyn AnyKernelState),*].into_iter()
            }

            fn each_mut(states: &mut Self::States) -> impl Iterator<Item = &mut dyn AnyKernelState> {
                [$(&mut states.$index as &mut dyn AnyKernelState),*].into_iter()
            }

            unsafe fn passes<'w, 's>(
                states: &'s mut Self::States,
                world: UnsafeWorldCell<'w>,
            ) -> Result<Self::Passes<'w, 's>, SystemParamValidationError> {
                // SAFETY: the caller's promise.
                Ok(($(unsafe { states.$index.pass(world) }?,)*))
            }

            #[inline(always)]
            unsafe fn visit<'w, 's>(
                &self,
                passes: &Self::Passes<'w, 's>,
                storage: Storage,
                rows: Range<u32>,
            ) {
                $(
                    // SAFETY: the caller's promise; the kernels before have no items any more: 'one
                    // kernel at a time' on the trait.
                    unsafe { passes.$index.visit(&self.$index, storage, rows.clone()) };
                )*
            }
        }
    };
}

all_tuples_enumerated!(impl_kernels, 1, 12, K, M);
