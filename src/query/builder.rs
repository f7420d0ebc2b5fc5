//! [`AffineQueryParamBuilder`]: a query that is told at run time what it visits.

use std::fmt;

use bevy_ecs::{
    prelude::{Query, World},
    query::{QueryBuilder, QueryData, QueryFilter},
    system::{QueryParamBuilder, SystemParamBuilder},
};

use super::{AffineQuery, AffineQueryState};

/// Builds an [`AffineQuery`] as Bevy's [`QueryParamBuilder`] builds a [`Query`]: with filters that
/// are known at run time only, and with the components that a
/// [`FilteredEntityRef`](bevy_ecs::world::FilteredEntityRef) or
/// [`FilteredEntityMut`](bevy_ecs::world::FilteredEntityMut) may touch. For scripts, mods and
/// editors.
///
/// ```
/// use bevy::{ecs::world::FilteredEntityMut, prelude::*};
/// use bevy_affinity::{AffineQueryParamBuilder, prelude::*};
///
/// #[derive(Component)]
/// struct Heat(f32);
///
/// let mut app = App::new();
/// app.add_plugins(AffinityParallelPlugin);
/// // A script may name a component, and its type need not be known here.
/// let heat = app.world_mut().register_component::<Heat>();
/// let cool = (AffineQueryParamBuilder::new(|builder| {
///     builder.mut_id(heat);
/// }),)
///     .build_state(app.world_mut())
///     .build_system(|mut bodies: AffineQuery<FilteredEntityMut>| {
///         bodies.par_iter_mut().for_each(|mut body| body.get_mut::<Heat>().unwrap().0 *= 0.5);
///     });
/// app.add_systems(Update, cool.affine());
/// let body = app.world_mut().spawn(Heat(1.0)).id();
/// app.update();
/// assert_eq!(app.world().get::<Heat>(body).unwrap().0, 0.5);
/// ```
#[derive(Clone)]
pub struct AffineQueryParamBuilder<T>(QueryParamBuilder<T>);

impl<T> AffineQueryParamBuilder<T> {
    /// Builds the query with `build`.
    pub fn new<D: QueryData, F: QueryFilter>(build: T) -> Self
    where
        T: FnOnce(&mut QueryBuilder<D, F>),
    {
        Self(QueryParamBuilder::new(build))
    }
}

impl<'a, D: QueryData, F: QueryFilter> AffineQueryParamBuilder<Box<dyn FnOnce(&mut QueryBuilder<D, F>) + 'a>> {
    /// As [`new`](Self::new); all that it makes for one type of query are of one type, for a `Vec`
    /// of them.
    pub fn new_box(build: impl FnOnce(&mut QueryBuilder<D, F>) + 'a) -> Self {
        Self(QueryParamBuilder::new_box(build))
    }
}

impl<T> fmt::Debug for AffineQueryParamBuilder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AffineQueryParamBuilder").finish_non_exhaustive()
    }
}

// SAFETY: Bevy's builder makes the state of a query of this world. The fetch state beside it is of
// this world too, and is given no more access than that query has.
unsafe impl<'w, 's, D, F, T> SystemParamBuilder<AffineQuery<'w, 's, D, F>> for AffineQueryParamBuilder<T>
where
    D: QueryData + 'static,
    F: QueryFilter + 'static,
    T: FnOnce(&mut QueryBuilder<D, F>),
{
    fn build(self, world: &mut World) -> AffineQueryState<D, F> {
        let query = SystemParamBuilder::<Query<'w, 's, D, F>>::build(self.0, world);
        AffineQueryState::built(query, world)
    }
}
