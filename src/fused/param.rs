//! What a fused system is given by the scheduler: the rows and the parameters of each kernel.

use std::ops::RangeInclusive;

use bevy_ecs::{
    change_detection::Tick,
    prelude::World,
    query::FilteredAccessSet,
    system::{SystemAccess, SystemMeta, SystemParam, SystemParamValidationError},
    world::unsafe_world_cell::UnsafeWorldCell,
};

use super::{
    kernels::Kernels,
    ticks::{SeenRuns, ticks},
};
use crate::{
    auto::Origin,
    sweep::{Matched, QueryCalls, Rows},
};

/// The parameter of a fused system.
pub struct FusedParam<'w, 's, K: Kernels<M>, M: 'static> {
    /// Those that any of the kernels visits.
    pub(super) rows: Rows<'w, 's>,
    pub(super) calls: &'s QueryCalls,
    pub(super) passes: K::Passes<'w, 's>,
    /// The most rows that all kernels visit before the next ones.
    pub(super) block_rows: usize,
}

/// The state of a fused system between its runs.
pub struct FusedState<S> {
    kernels: S,
    /// The storages that any of the kernels visits. Tables if all can visit tables, archetypes if
    /// one cannot: kernels that cut the same entities into different blocks would meet in them.
    matched: Matched,
    block_rows: usize,
    calls: QueryCalls,
    runs: SeenRuns,
}

/// Bytes of a block of rows: half of a first-level cache, so that a kernel finds there what the one
/// before it has left. Blocks that only fit a second-level cache took 1.3 to 1.8 x as long on an
/// AMD EPYC as soon as the columns did not, longer than no blocks.
const BLOCK_BYTES: usize = 16 << 10;

/// The fewest rows of a block, each of which costs some 10 ns a kernel, and the most: longer ones
/// gain nothing.
const BLOCK_ROWS: RangeInclusive<usize> = 64..=2048;

fn block_rows(row_bytes: usize) -> usize {
    (BLOCK_BYTES / row_bytes.max(1)).clamp(*BLOCK_ROWS.start(), *BLOCK_ROWS.end())
}

// SAFETY: `init_access` registers the access of all kernels, `get_param` uses just that. The
// kernels' access to rows may overlap, as in a `ParamSet`: see 'one kernel at a time' on `Kernels`.
unsafe impl<K: Kernels<M>, M: 'static> SystemParam for FusedParam<'_, '_, K, M> {
    type State = FusedState<K::States>;
    type Item<'w, 's> = FusedParam<'w, 's, K, M>;

    fn init_state(world: &mut World) -> Self::State {
        let mut kernels = K::states(world);
        let dense = K::each_mut(&mut kernels).all(|kernel| kernel.matched().dense);
        K::each_mut(&mut kernels).for_each(|kernel| *kernel.matched() = Matched::new(dense));
        FusedState {
            kernels,
            matched: Matched::new(dense),
            block_rows: *BLOCK_ROWS.end(),
            calls: QueryCalls::default(),
            runs: SeenRuns::default(),
        }
    }

    fn init_access(state: &Self::State, meta: &mut SystemMeta, access: &mut SystemAccess, world: &mut World) {
        state.calls.sites.set_origin(Origin {
            system: meta.name().clone(),
            data: std::any::type_name::<K>(),
            is_fused: true,
        });
        // No two kernels touch a row at a time, so their rows are checked against what is there
        // already and not against each other's.
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
        if state.matched.unite(parts, world.archetypes()) {
            state.block_rows = block_rows(state.matched.row_bytes(world.components()));
        }
        // Of all kernels, before any parameter is fetched: if one is missing the kernels behind it
        // have not run either.
        let last_run = state.runs.next(meta.get_last_run(), this_run);
        let kernels = K::each_mut(&mut state.kernels);
        kernels.zip(ticks(world, this_run)).for_each(|(kernel, tick)| kernel.begin(meta, last_run, tick));
        // SAFETY: the access is registered, says the caller; `update` checked the world.
        let passes = unsafe { K::passes(&mut state.kernels, world) }?;
        let FusedState { matched, block_rows, calls, .. } = state;
        Ok(FusedParam { rows: Rows::new(world, matched), calls, passes, block_rows: *block_rows })
    }
}

#[cfg(test)]
mod tests {
    use super::block_rows;

    #[test]
    fn blocks_fit_half_a_first_level_cache_within_reason() {
        assert_eq!([0, 8, 32, 64, 700].map(block_rows), [2048, 2048, 512, 256, 64]);
    }
}
