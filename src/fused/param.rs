//! What a fused system is given by the scheduler: the rows and the parameters of each kernel.

use bevy_ecs::{
    change_detection::Tick,
    prelude::World,
    query::FilteredAccessSet,
    system::{SystemAccess, SystemMeta, SystemParam, SystemParamValidationError},
    world::unsafe_world_cell::UnsafeWorldCell,
};

use super::{
    kernels::Kernels,
    ticks::{Runs, ticks},
};
use crate::{
    auto::Owner,
    sweep::{Matched, QueryCalls, Rows},
};

/// The parameter of a fused system.
pub struct FusedParam<'w, 's, K: Kernels<M>, M: 'static> {
    /// Those that any of the kernels visits.
    pub(super) rows: Rows<'w, 's>,
    pub(super) calls: &'s QueryCalls,
    pub(super) passes: K::Passes<'w, 's>,
}

/// The state of a fused system between its runs.
pub struct FusedState<S> {
    kernels: S,
    /// The storages that any of the kernels visits. Tables if all can visit tables, archetypes if
    /// one cannot: kernels that cut the same entities into different blocks would meet in them.
    matched: Matched,
    calls: QueryCalls,
    runs: Runs,
}

// SAFETY: `init_access` registers the access of all kernels, `get_param` uses just that. The
// kernels' access to rows may overlap, as in a `ParamSet`: see 'one kernel at a time' on `Kernels`.
unsafe impl<K: Kernels<M>, M: 'static> SystemParam for FusedParam<'_, '_, K, M> {
    type State = FusedState<K::States>;
    type Item<'w, 's> = FusedParam<'w, 's, K, M>;

    fn init_state(world: &mut World) -> Self::State {
        let mut kernels = K::states(world);
        let dense = K::each(&kernels).all(|kernel| kernel.is_dense());
        K::each_mut(&mut kernels).for_each(|kernel| *kernel.matched() = Matched::new(dense));
        FusedState { kernels, matched: Matched::new(dense), calls: QueryCalls::default(), runs: Runs::default() }
    }

    fn init_access(state: &Self::State, meta: &mut SystemMeta, access: &mut SystemAccess, world: &mut World) {
        // No two kernels touch a row at a time, so their rows are checked against what is there
        // already and not against each other's.
        state.calls.set_owner(Owner { system: meta.name().clone(), data: std::any::type_name::<K>() });
        let shared = access.require_shared_access::<Self>(meta);
        let mut rows = FilteredAccessSet::new();
        for kernel in K::each(&state.kernels) {
            kernel.register_rows(meta, &mut shared.clone(), world);
            let mut alone = FilteredAccessSet::new();
            kernel.register_rows(meta, &mut alone, world);
            rows.extend(alone);
        }
        shared.extend(rows);
        // What a kernel's rows share is used while others visit rows: it must not conflict with any
        // of them.
        K::each(&state.kernels).for_each(|kernel| kernel.register_params(meta, access, world));
    }

    #[inline]
    unsafe fn get_param<'w, 's>(
        state: &'s mut Self::State,
        meta: &SystemMeta,
        world: UnsafeWorldCell<'w>,
        this_run: Tick,
    ) -> Result<Self::Item<'w, 's>, SystemParamValidationError> {
        K::each_mut(&mut state.kernels).for_each(|kernel| kernel.update(world));
        let parts = K::each_mut(&mut state.kernels).map(|kernel| &*kernel.matched());
        state.matched.unite(parts, world.archetypes());
        // Of all kernels, before any parameter is fetched: if one is missing the kernels behind it
        // have not run either.
        let last_run = state.runs.next(meta.get_last_run(), this_run);
        let kernels = K::each_mut(&mut state.kernels);
        kernels.zip(ticks(world, this_run)).for_each(|(kernel, tick)| kernel.begin(meta, last_run, tick));
        // SAFETY: the access is registered, says the caller; `update` checked the world.
        let passes = unsafe { K::passes(&mut state.kernels, world) }?;
        Ok(FusedParam { rows: Rows::new(world, &state.matched), calls: &state.calls, passes })
    }
}
