//! [`AffineQuery`]: Bevy's `Query` whose parallel iteration gives the same rows to the same core
//! every time.

mod blocks;
mod builder;
mod chunk;
mod commands;
mod contiguous;
mod forward;
mod par_iter;
mod reduce;
mod views;

pub(crate) use blocks::BlockLength;
pub use builder::AffineQueryParamBuilder;
pub use chunk::ChunkData;
pub use commands::AffineCommands;
pub use contiguous::AffineContiguousParIter;
pub use par_iter::AffineParIter;
pub(crate) use reduce::reduce_blocks;
pub use views::ReborrowQuery;

use std::{any::type_name, fmt, ops::Deref};

use bevy_ecs::{
    change_detection::Tick,
    component::StorageType,
    prelude::{Query, World},
    query::{
        AccessConflicts, FilteredAccess, FilteredAccessSet, QueryData, QueryFilter, QueryState, ReadOnlyQueryData,
    },
    system::{ReadOnlySystemParam, SystemAccess, SystemMeta, SystemParam, SystemParamValidationError},
    world::unsafe_world_cell::UnsafeWorldCell,
};

use bevy_utils::prelude::ShortName;

use crate::{
    auto::Origin,
    context::longest_chunk,
    record::known_name,
    sweep::{Matched, QueryCalls},
};

/// A [`Query`] for tagged systems: the same access, filters, change detection and methods (by
/// [`Deref`]), and parallel iteration on the pinned gang.
///
/// In a system that is not tagged with [`.affine()`](crate::IntoAffine::affine) it runs through
/// Bevy's own `par_iter`, with one warning; where its schedule is dealt out to the gang, on the
/// thread that has it. Inside the closure of a parallel call that is shared every further parallel
/// call runs on the spot; where it runs on one thread the inner one may be shared.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// #[derive(Component)]
/// struct Position(f32);
/// #[derive(Component)]
/// struct Velocity(f32);
///
/// fn drive(mut cars: AffineQuery<(&mut Position, &Velocity)>) {
///     cars.par_iter_mut().for_each(|(mut position, velocity)| position.0 += velocity.0);
/// }
///
/// let mut app = App::new();
/// app.add_plugins(AffinityParallelPlugin).add_systems(Update, drive.affine());
/// let car = app.world_mut().spawn((Position(1.0), Velocity(0.5))).id();
/// app.update();
/// assert_eq!(app.world().get::<Position>(car).unwrap().0, 1.5);
/// ```
///
/// There is no `DerefMut`: it would let safe code exchange the inner query for one of another
/// world. The methods of `Query` that take `&mut self` or `self` are methods of this type too; a
/// function that wants a `&mut Query` gets `&mut cars.reborrow()`.
/// Those that visit listed entities in parallel (`par_iter_many`, `par_iter_many_unique` and
/// `par_iter_many_unique_mut`) use the threads of Bevy's compute pool, in tagged systems too.
pub struct AffineQuery<'w, 's, D: QueryData + 'static, F: QueryFilter + 'static = ()> {
    query: Query<'w, 's, D, F>,
    world: UnsafeWorldCell<'w>,
    state: &'s SweepState<D::State, F::State>,
    last_run: Tick,
    this_run: Tick,
    /// The most rows in a slice of [`for_each_chunk`](AffineParIter::for_each_chunk), wherever that
    /// is called.
    longest_chunk: usize,
}

/// [`AffineQuery`] without lifetimes, where Bevy's
/// [`SQuery`](bevy_ecs::system::lifetimeless::SQuery) would stand for [`Query`]: in a
/// [`SystemState`](bevy_ecs::system::SystemState) that is kept, or a type that names parameters.
///
/// ```
/// use bevy::{ecs::system::SystemState, prelude::*};
/// use bevy_affinity::SAffineQuery;
///
/// #[derive(Component)]
/// struct Health(u32);
///
/// /// Sums up what it finds whenever it is asked.
/// struct Census(SystemState<SAffineQuery<&'static Health>>);
///
/// impl Census {
///     fn take(&mut self, world: &World) -> u32 {
///         self.0.get(world).unwrap().iter().map(|health| health.0).sum()
///     }
/// }
///
/// let mut world = World::new();
/// world.spawn_batch([Health(1), Health(2)]);
/// let mut census = Census(SystemState::new(&mut world));
/// assert_eq!(census.take(&world), 3);
/// ```
pub type SAffineQuery<D, F = ()> = AffineQuery<'static, 'static, D, F>;

/// Other forms of this query.
impl<'w, 's, D: QueryData, F: QueryFilter> AffineQuery<'w, 's, D, F> {
    /// A shorter-lived `AffineQuery` over the same entities.
    ///
    /// ```
    /// # use bevy::prelude::*;
    /// # use bevy_affinity::prelude::*;
    /// # #[derive(Component)] struct Heat(f32);
    /// fn cool(mut heats: AffineQuery<&mut Heat>) {
    ///     heats.par_iter_mut().for_each(|mut heat| heat.0 *= 0.9);
    /// }
    ///
    /// fn cool_twice(mut heats: AffineQuery<&mut Heat>) {
    ///     cool(heats.reborrow_affine());
    ///     cool(heats);
    /// }
    /// # let mut app = App::new();
    /// # app.add_plugins(AffinityParallelPlugin).add_systems(Update, cool_twice.affine()).update();
    /// ```
    #[inline]
    pub fn reborrow_affine(&mut self) -> AffineQuery<'_, 's, D, F> {
        let Self { world, state, last_run, this_run, longest_chunk, .. } = *self;
        AffineQuery { query: self.query.reborrow(), world, state, last_run, this_run, longest_chunk }
    }

    /// The same entities, and items that can only be read. What runs in parallel from it stays on
    /// the gang. A function that takes Bevy's [`Query`] gets `query.as_readonly().into()`.
    ///
    /// ```
    /// # use bevy::prelude::*;
    /// # use bevy_affinity::prelude::*;
    /// # #[derive(Component)] struct Heat(f32);
    /// fn hottest(heats: AffineQuery<&Heat>) -> f32 {
    ///     heats.par_iter().map_reduce(|| 0.0, |heat| heat.0, f32::max)
    /// }
    ///
    /// fn level(mut heats: AffineQuery<&mut Heat>) {
    ///     let hottest = hottest(heats.as_readonly());
    ///     heats.par_iter_mut().for_each(|mut heat| heat.0 /= hottest);
    /// }
    /// # let mut app = App::new();
    /// # app.add_plugins(AffinityParallelPlugin).add_systems(Update, level.affine()).update();
    /// ```
    #[inline]
    pub fn as_readonly(&self) -> AffineQuery<'_, 's, D::ReadOnly, F> {
        let Self { world, state, last_run, this_run, longest_chunk, .. } = *self;
        AffineQuery { query: self.query.as_readonly(), world, state, last_run, this_run, longest_chunk }
    }

    /// As [`as_readonly`](Self::as_readonly), for as long as this query lives.
    #[inline]
    pub fn into_readonly(self) -> AffineQuery<'w, 's, D::ReadOnly, F> {
        let Self { query, world, state, last_run, this_run, longest_chunk } = self;
        AffineQuery { query: query.into_readonly(), world, state, last_run, this_run, longest_chunk }
    }
}

/// The state of an [`AffineQuery`] between runs of its system.
pub struct AffineQueryState<D: QueryData, F: QueryFilter> {
    query: QueryState<D, F>,
    pub(crate) sweeps: SweepState<D::State, F::State>,
}

/// What parallel calls keep between runs: the same for data and for their read-only form, whose
/// fetch states are of one type.
pub(crate) struct SweepState<DataState, FilterState> {
    /// The fetch states of the query, which keeps its own to itself.
    pub(crate) data: DataState,
    pub(crate) filter: FilterState,
    pub(crate) matched: Matched,
    pub(crate) calls: QueryCalls,
}

impl<D: QueryData, F: QueryFilter> AffineQueryState<D, F> {
    pub(crate) fn new(world: &mut World) -> Self {
        // SAFETY: `init_access` is called before the state is used: `SystemParam`'s contract.
        let query = unsafe { QueryState::<D, F>::new_unchecked(world) };
        let (data, _) = fetch_state::<D>(world);
        Self::with_data(query, data, world)
    }

    /// As [`new`](Self::new), of a query to which filters and access were added at run time.
    fn built(query: QueryState<D, F>, world: &mut World) -> Self {
        let (mut data, mut access) = fetch_state::<D>(world);
        D::provide_extra_access(&mut data, access.access_mut(), query.component_access().access());
        Self::with_data(query, data, world)
    }

    fn with_data(query: QueryState<D, F>, data: D::State, world: &mut World) -> Self {
        let filter = F::init_state(world);
        F::update_component_access(&filter, &mut FilteredAccess::default());
        let dense = D::IS_DENSE && F::IS_DENSE && tells_by_table(query.component_access(), world);
        let matched = Matched::new(dense);
        let sweeps = SweepState { data, filter, matched, calls: QueryCalls::default() };
        Self { query, sweeps }
    }

    /// Takes over the archetypes that came since the last time. Panics if `world` is not the
    /// state's own.
    pub(crate) fn update(&mut self, world: UnsafeWorldCell<'_>) {
        self.query.update_archetypes_unsafe_world_cell(world);
        let SweepState { data, filter, matched, .. } = &mut self.sweeps;
        D::update_archetypes(data, world);
        F::update_archetypes(filter, world);
        matched.update(&self.query, world.archetypes());
    }

    /// Registers the access of the query, which panics if `access` conflicts with it.
    pub(crate) fn register(&self, meta: &SystemMeta, access: &mut FilteredAccessSet, world: &mut World) {
        self.sweeps.calls.sites.set_origin(Origin {
            system: meta.name().clone(),
            data: type_name::<D>(),
            is_fused: false,
        });
        let conflicts = access.get_conflicts_single(self.query.component_access());
        assert!(conflicts.is_empty(), "{}", self.explain(&conflicts, meta, world));
        self.query.init_access(Some(meta.name()), access, world.into());
        // The own fetch states ask for the same access once more; once is enough.
        let mut scratch = FilteredAccessSet::new();
        D::init_nested_access(&self.sweeps.data, Some(meta.name()), &mut scratch, world.into());
        F::init_nested_access(&self.sweeps.filter, Some(meta.name()), &mut scratch, world.into());
    }
}

impl<D: QueryData, F: QueryFilter> AffineQueryState<D, F> {
    /// Bevy's message about conflicting parameters, and what to do if the conflict is one of
    /// senders and receivers.
    #[cold]
    fn explain(&self, conflicts: &AccessConflicts, meta: &SystemMeta, world: &World) -> String {
        let component = |id| world.components().get_name(id).and_then(|name| known_name(&name));
        let components = match conflicts {
            AccessConflicts::All => Vec::new(),
            AccessConflicts::Individual(ids) => ids.iter().filter_map(component).collect(),
        };
        // Without its feature `debug` Bevy has no names; the compiler has that of the query.
        let components = if components.is_empty() { "components".to_owned() } else { components.join(", ") };
        let system = known_name(meta.name()).map_or_else(|| "a system".to_owned(), |name| format!("system {name}"));
        format!(
            "error[B0001]: Affine{} in {system} accesses {components} in a way that conflicts with a previous system parameter. To send messages \
             from rows to others with the same components use one query and `scatter_within`. Otherwise make the queries disjoint with \
             `Without<T>`, or put them in a `ParamSet`. (An `AffineTree<D>` counts as an `AffineQuery<(D, Option<&Children>)>`.) See: https://bevy.org/learn/errors/b0001",
            ShortName(type_name::<Query<'_, '_, D, F>>()),
        )
    }
}

/// A fetch state, and what it asks for. It may record things when it is asked for that, as the one
/// inside a [`QueryState`] was.
fn fetch_state<D: QueryData>(world: &mut World) -> (D::State, FilteredAccess) {
    let state = D::init_state(world);
    let mut access = FilteredAccess::default();
    D::update_component_access(&state, &mut access);
    (state, access)
}

/// Whether all rows of a table pass the filters of `access`, or none: those of the query's type,
/// those added at run time, and those that apply to all queries (disabled entities).
fn tells_by_table(access: &FilteredAccess, world: &World) -> bool {
    let is_table = |id| world.components().get_info(id).is_some_and(|info| info.storage_type() == StorageType::Table);
    access.with_filters().chain(access.without_filters()).all(is_table)
}

// SAFETY: `init_access` registers the access of the query, and panics if it conflicts with an
// earlier parameter; `get_param` uses just that.
unsafe impl<D: QueryData + 'static, F: QueryFilter + 'static> SystemParam for AffineQuery<'_, '_, D, F> {
    type State = AffineQueryState<D, F>;
    type Item<'w, 's> = AffineQuery<'w, 's, D, F>;

    fn init_state(world: &mut World) -> Self::State {
        AffineQueryState::new(world)
    }

    fn init_access(
        state: &Self::State,
        system_meta: &mut SystemMeta,
        system_access: &mut SystemAccess,
        world: &mut World,
    ) {
        let access = system_access.require_shared_access::<Self>(system_meta);
        state.register(system_meta, access, world);
    }

    #[inline]
    unsafe fn get_param<'w, 's>(
        state: &'s mut Self::State,
        system_meta: &SystemMeta,
        world: UnsafeWorldCell<'w>,
        change_tick: Tick,
    ) -> Result<Self::Item<'w, 's>, SystemParamValidationError> {
        state.update(world);
        let state: &'s Self::State = state;
        let (last_run, this_run) = (system_meta.get_last_run(), change_tick);
        // SAFETY: the access is registered, says the caller; `update_archetypes_unsafe_world_cell`
        // checked the world.
        let query = unsafe { state.query.query_unchecked_manual_with_ticks(world, last_run, this_run) };
        Ok(AffineQuery { query, world, state: &state.sweeps, last_run, this_run, longest_chunk: longest_chunk() })
    }
}

// SAFETY: read-only data is only read, by the query as by its parallel iteration.
unsafe impl<'w, 's, D: ReadOnlyQueryData + 'static, F: QueryFilter + 'static> ReadOnlySystemParam
    for AffineQuery<'w, 's, D, F>
{
}

impl<'w, 's, D: QueryData, F: QueryFilter> Deref for AffineQuery<'w, 's, D, F> {
    type Target = Query<'w, 's, D, F>;

    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.query
    }
}

impl<D: QueryData, F: QueryFilter> fmt::Debug for AffineQuery<'_, '_, D, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AffineQuery").field(&self.query).finish()
    }
}
