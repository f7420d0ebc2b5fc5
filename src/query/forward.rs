//! The methods of Bevy's `Query` that [`Deref`](std::ops::Deref) does not reach: those that take it
//! mutably or by value. `views.rs` has those that return other views.
//!
//! Each is Bevy's own; see there. `AffineQuery` has no `DerefMut`, since that would let safe code
//! exchange the query inside for one of another world.

use bevy_ecs::{
    entity::{Entity, EntityEquivalent, EntitySet, UniqueEntityArray},
    prelude::Query,
    query::{
        ArchetypeFilter, ContiguousQueryData, IterQueryData, QueryCombinationIter, QueryContiguousIter, QueryData,
        QueryEntityError, QueryFilter, QueryIter, QueryManyIter, QueryManyUniqueIter, QueryNotDenseError,
        QueryParManyUniqueIter, QuerySingleError, ReadOnlyQueryData,
    },
};

use super::AffineQuery;

/// Short forms of this query.
impl<'w, 's, D: QueryData, F: QueryFilter> AffineQuery<'w, 's, D, F> {
    /// A shorter-lived [`Query`] over the same entities, to hand to a function that takes Bevy's:
    /// what runs in parallel from it uses the threads of Bevy's compute pool. For a function that
    /// takes an `AffineQuery` there is [`reborrow_affine`](Self::reborrow_affine).
    ///
    /// ```
    /// # use bevy::prelude::*;
    /// # use bevy_affinity::prelude::*;
    /// # #[derive(Component)] struct Health(u32);
    /// fn heal(mut healths: Query<&mut Health>) {
    ///     healths.iter_mut().for_each(|mut health| health.0 += 1);
    /// }
    ///
    /// fn rest(mut healths: AffineQuery<&mut Health>) {
    ///     heal(healths.reborrow());
    ///     healths.par_iter_mut().for_each(|mut health| health.0 *= 2);
    /// }
    /// # App::new().add_plugins(AffinityParallelPlugin).add_systems(Update, rest.affine()).update();
    /// ```
    #[inline]
    pub fn reborrow(&mut self) -> Query<'_, 's, D, F> {
        self.query.reborrow()
    }

    /// The [`Query`] inside.
    #[inline]
    pub fn into_inner(self) -> Query<'w, 's, D, F> {
        self.query
    }
}

/// Serial iteration, mutable or by value.
impl<'w, 's, D: QueryData, F: QueryFilter> AffineQuery<'w, 's, D, F> {
    /// As [`Query::iter_mut`].
    #[inline]
    pub fn iter_mut(&mut self) -> QueryIter<'_, 's, D, F> {
        self.query.iter_mut()
    }

    /// As [`Query::iter_inner`].
    #[inline]
    pub fn iter_inner(self) -> QueryIter<'w, 's, D, F> {
        self.query.iter_inner()
    }

    /// As [`Query::iter_combinations_mut`].
    #[inline]
    pub fn iter_combinations_mut<const K: usize>(&mut self) -> QueryCombinationIter<'_, 's, D, F, K>
    where
        D: IterQueryData,
    {
        self.query.iter_combinations_mut()
    }

    /// As [`Query::iter_combinations_inner`].
    #[inline]
    pub fn iter_combinations_inner<const K: usize>(self) -> QueryCombinationIter<'w, 's, D, F, K>
    where
        D: IterQueryData,
    {
        self.query.iter_combinations_inner()
    }

    /// As [`Query::iter_many_mut`].
    #[inline]
    pub fn iter_many_mut<EntityList: IntoIterator<Item: EntityEquivalent>>(
        &mut self,
        entities: EntityList,
    ) -> QueryManyIter<'_, 's, D, F, EntityList::IntoIter> {
        self.query.iter_many_mut(entities)
    }

    /// As [`Query::iter_many_inner`].
    #[inline]
    pub fn iter_many_inner<EntityList: IntoIterator<Item: EntityEquivalent>>(
        self,
        entities: EntityList,
    ) -> QueryManyIter<'w, 's, D, F, EntityList::IntoIter> {
        self.query.iter_many_inner(entities)
    }

    /// As [`Query::iter_many_unique_mut`].
    #[inline]
    pub fn iter_many_unique_mut<EntityList: EntitySet>(
        &mut self,
        entities: EntityList,
    ) -> QueryManyUniqueIter<'_, 's, D, F, EntityList::IntoIter>
    where
        D: IterQueryData,
    {
        self.query.iter_many_unique_mut(entities)
    }

    /// As [`Query::iter_many_unique_inner`].
    #[inline]
    pub fn iter_many_unique_inner<EntityList: EntitySet>(
        self,
        entities: EntityList,
    ) -> QueryManyUniqueIter<'w, 's, D, F, EntityList::IntoIter>
    where
        D: IterQueryData,
    {
        self.query.iter_many_unique_inner(entities)
    }

    /// As [`Query::contiguous_iter_mut`].
    #[inline]
    pub fn contiguous_iter_mut(&mut self) -> Result<QueryContiguousIter<'_, 's, D, F>, QueryNotDenseError>
    where
        D: ContiguousQueryData,
        F: ArchetypeFilter,
    {
        self.query.contiguous_iter_mut()
    }

    /// As [`Query::par_iter_many_unique_mut`]: on Bevy's compute threads.
    #[inline]
    pub fn par_iter_many_unique_mut<EntityList: EntitySet<Item: Sync>>(
        &mut self,
        entities: EntityList,
    ) -> QueryParManyUniqueIter<'_, 's, D, F, EntityList::Item>
    where
        D: IterQueryData,
    {
        self.query.par_iter_many_unique_mut(entities)
    }

    /// As [`Query::contiguous_iter_inner`].
    #[inline]
    pub fn contiguous_iter_inner(self) -> Result<QueryContiguousIter<'w, 's, D, F>, QueryNotDenseError>
    where
        D: ContiguousQueryData,
        F: ArchetypeFilter,
    {
        self.query.contiguous_iter_inner()
    }
}

/// Single entities, mutable or by value.
impl<'w, 's, D: QueryData, F: QueryFilter> AffineQuery<'w, 's, D, F> {
    /// As [`Query::get_mut`].
    #[inline]
    pub fn get_mut(&mut self, entity: Entity) -> Result<D::Item<'_, 's>, QueryEntityError> {
        self.query.get_mut(entity)
    }

    /// As [`Query::get_inner`].
    #[inline]
    pub fn get_inner(self, entity: Entity) -> Result<D::Item<'w, 's>, QueryEntityError> {
        self.query.get_inner(entity)
    }

    /// As [`Query::get_many_mut`].
    #[inline]
    pub fn get_many_mut<const N: usize>(
        &mut self,
        entities: [Entity; N],
    ) -> Result<[D::Item<'_, 's>; N], QueryEntityError>
    where
        D: IterQueryData,
    {
        self.query.get_many_mut(entities)
    }

    /// As [`Query::get_many_inner`].
    #[inline]
    pub fn get_many_inner<const N: usize>(self, entities: [Entity; N]) -> Result<[D::Item<'w, 's>; N], QueryEntityError>
    where
        D: ReadOnlyQueryData,
    {
        self.query.get_many_inner(entities)
    }

    /// As [`Query::get_many_mut_inner`].
    #[inline]
    pub fn get_many_mut_inner<const N: usize>(
        self,
        entities: [Entity; N],
    ) -> Result<[D::Item<'w, 's>; N], QueryEntityError>
    where
        D: IterQueryData,
    {
        self.query.get_many_mut_inner(entities)
    }

    /// As [`Query::get_many_unique_mut`].
    #[inline]
    pub fn get_many_unique_mut<const N: usize>(
        &mut self,
        entities: UniqueEntityArray<N>,
    ) -> Result<[D::Item<'_, 's>; N], QueryEntityError>
    where
        D: IterQueryData,
    {
        self.query.get_many_unique_mut(entities)
    }

    /// As [`Query::get_many_unique_inner`].
    #[inline]
    pub fn get_many_unique_inner<const N: usize>(
        self,
        entities: UniqueEntityArray<N>,
    ) -> Result<[D::Item<'w, 's>; N], QueryEntityError>
    where
        D: IterQueryData,
    {
        self.query.get_many_unique_inner(entities)
    }

    /// As [`Query::single_mut`].
    #[inline]
    pub fn single_mut(&mut self) -> Result<D::Item<'_, 's>, QuerySingleError>
    where
        D: IterQueryData,
    {
        self.query.single_mut()
    }

    /// As [`Query::single_inner`].
    #[inline]
    pub fn single_inner(self) -> Result<D::Item<'w, 's>, QuerySingleError>
    where
        D: IterQueryData,
    {
        self.query.single_inner()
    }
}

impl<D: ReadOnlyQueryData, F: QueryFilter> Clone for AffineQuery<'_, '_, D, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: ReadOnlyQueryData, F: QueryFilter> Copy for AffineQuery<'_, '_, D, F> {}

impl<'w, 's, D: QueryData, F: QueryFilter> From<AffineQuery<'w, 's, D, F>> for Query<'w, 's, D, F> {
    fn from(query: AffineQuery<'w, 's, D, F>) -> Self {
        query.into_inner()
    }
}

impl<'a, 's, D: QueryData, F: QueryFilter> IntoIterator for &'a AffineQuery<'_, 's, D, F> {
    type Item = <D::ReadOnly as QueryData>::Item<'a, 's>;
    type IntoIter = QueryIter<'a, 's, D::ReadOnly, F>;

    fn into_iter(self) -> Self::IntoIter {
        self.query.iter()
    }
}

impl<'a, 's, D: IterQueryData, F: QueryFilter> IntoIterator for &'a mut AffineQuery<'_, 's, D, F> {
    type Item = D::Item<'a, 's>;
    type IntoIter = QueryIter<'a, 's, D, F>;

    fn into_iter(self) -> Self::IntoIter {
        self.query.iter_mut()
    }
}

impl<'w, 's, D: IterQueryData, F: QueryFilter> IntoIterator for AffineQuery<'w, 's, D, F> {
    type Item = D::Item<'w, 's>;
    type IntoIter = QueryIter<'w, 's, D, F>;

    fn into_iter(self) -> Self::IntoIter {
        self.query.into_iter()
    }
}
