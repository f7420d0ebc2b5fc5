//! Other views of an [`AffineQuery`]'s entities: lenses, and joins with another query. The methods
//! are Bevy's own.

use bevy_ecs::{
    prelude::Query,
    query::{QueryData, QueryFilter, SingleEntityQueryData},
    system::QueryLens,
};

use super::AffineQuery;

/// Other views of the same entities. What runs in parallel from a lens uses the threads of Bevy's
/// compute pool.
impl<'w, 's, D: QueryData, F: QueryFilter> AffineQuery<'w, 's, D, F> {
    /// As [`Query::transmute_lens`].
    #[inline]
    #[track_caller]
    pub fn transmute_lens<NewD: SingleEntityQueryData>(&mut self) -> QueryLens<'_, NewD> {
        self.query.transmute_lens()
    }

    /// As [`Query::transmute_lens_inner`].
    #[inline]
    #[track_caller]
    pub fn transmute_lens_inner<NewD: SingleEntityQueryData>(self) -> QueryLens<'w, NewD> {
        self.query.transmute_lens_inner()
    }

    /// As [`Query::transmute_lens_filtered`].
    #[inline]
    #[track_caller]
    pub fn transmute_lens_filtered<NewD: SingleEntityQueryData, NewF: QueryFilter>(
        &mut self,
    ) -> QueryLens<'_, NewD, NewF> {
        self.query.transmute_lens_filtered()
    }

    /// As [`Query::transmute_lens_filtered_inner`].
    #[inline]
    #[track_caller]
    pub fn transmute_lens_filtered_inner<NewD: SingleEntityQueryData, NewF: QueryFilter>(
        self,
    ) -> QueryLens<'w, NewD, NewF> {
        self.query.transmute_lens_filtered_inner()
    }

    /// As [`Query::as_query_lens`].
    #[inline]
    pub fn as_query_lens(&mut self) -> QueryLens<'_, D>
    where
        D: SingleEntityQueryData,
    {
        self.query.as_query_lens()
    }

    /// As [`Query::into_query_lens`].
    #[inline]
    pub fn into_query_lens(self) -> QueryLens<'w, D>
    where
        D: SingleEntityQueryData,
    {
        self.query.into_query_lens()
    }
}

/// Joins with another query, of this type or Bevy's.
impl<'w, 's, D: QueryData, F: QueryFilter> AffineQuery<'w, 's, D, F> {
    /// As [`Query::join`]; `other` may be an `AffineQuery` too.
    #[inline]
    pub fn join<'a, OtherD: QueryData + 'a, NewD: SingleEntityQueryData>(
        &'a mut self,
        other: &'a mut impl ReborrowQuery<OtherD, ()>,
    ) -> QueryLens<'a, NewD> {
        self.query.reborrow().join_inner(other.reborrow_query())
    }

    /// As [`Query::join_filtered`]; `other` may be an `AffineQuery` too.
    #[inline]
    pub fn join_filtered<'a, OtherD, OtherF, NewD, NewF>(
        &'a mut self,
        other: &'a mut impl ReborrowQuery<OtherD, OtherF>,
    ) -> QueryLens<'a, NewD, NewF>
    where
        OtherD: QueryData + 'a,
        OtherF: QueryFilter + 'a,
        NewD: SingleEntityQueryData,
        NewF: QueryFilter,
    {
        self.query.reborrow().join_filtered_inner(other.reborrow_query())
    }

    /// As [`Query::join_inner`]; `other` may be an `AffineQuery` too.
    #[inline]
    pub fn join_inner<'o, OtherD: QueryData + 'o, NewD: SingleEntityQueryData>(
        self,
        other: impl Into<Query<'w, 'o, OtherD>>,
    ) -> QueryLens<'w, NewD> {
        self.query.join_inner(other.into())
    }

    /// As [`Query::join_filtered_inner`]; `other` may be an `AffineQuery` too.
    #[inline]
    pub fn join_filtered_inner<'o, OtherD, OtherF, NewD, NewF>(
        self,
        other: impl Into<Query<'w, 'o, OtherD, OtherF>>,
    ) -> QueryLens<'w, NewD, NewF>
    where
        OtherD: QueryData + 'o,
        OtherF: QueryFilter + 'o,
        NewD: SingleEntityQueryData,
        NewF: QueryFilter,
    {
        self.query.join_filtered_inner(other.into())
    }
}

impl<'q, D: SingleEntityQueryData, F: QueryFilter> From<&'q mut AffineQuery<'_, '_, D, F>> for QueryLens<'q, D, F> {
    fn from(query: &'q mut AffineQuery<'_, '_, D, F>) -> Self {
        query.transmute_lens_filtered()
    }
}

/// Bevy's [`Query`] or an [`AffineQuery`]: what [`AffineQuery::join`] takes.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// #[derive(Component)]
/// struct Armour(u32);
/// #[derive(Component)]
/// struct Health(u32);
///
/// fn harden(mut healths: AffineQuery<&mut Health>, mut armours: AffineQuery<&Armour>) {
///     let mut both = healths.join::<_, (&mut Health, &Armour)>(&mut armours);
///     both.query().iter_mut().for_each(|(mut health, armour)| health.0 += armour.0);
/// }
/// # App::new().add_plugins(AffinityParallelPlugin).add_systems(Update, harden.affine()).update();
/// ```
pub trait ReborrowQuery<D: QueryData, F: QueryFilter> {
    /// A shorter-lived [`Query`] over the same entities.
    fn reborrow_query(&mut self) -> Query<'_, '_, D, F>;
}

impl<D: QueryData, F: QueryFilter> ReborrowQuery<D, F> for Query<'_, '_, D, F> {
    #[inline]
    fn reborrow_query(&mut self) -> Query<'_, '_, D, F> {
        self.reborrow()
    }
}

impl<D: QueryData, F: QueryFilter> ReborrowQuery<D, F> for AffineQuery<'_, '_, D, F> {
    #[inline]
    fn reborrow_query(&mut self) -> Query<'_, '_, D, F> {
        self.reborrow()
    }
}
