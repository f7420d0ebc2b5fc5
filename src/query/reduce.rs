//! Reduction over a fixed tree of blocks: the same bits whatever the number of workers.

use std::{ops::Range, sync::Mutex};

use bevy_ecs::query::{IterQueryData, QueryFilter};

use super::{
    blocks::{BlockLength, BlockPlace, for_each_block},
    par_iter::AffineParIter,
};
use crate::{
    placement::Storage,
    sweep::Plan,
    sync::{into_inner, lock},
};

impl<'w, 's, D: IterQueryData, F: QueryFilter> AffineParIter<'w, 's, D, F> {
    /// Maps each item to a value and combines the values.
    ///
    /// The tree of combinations depends on the rows alone: sums of floating-point numbers come out
    /// the same, to the bit, in every mode and with every number of workers. `identity` starts each
    /// block of rows, and is the result if there are none. They are not the bits of
    /// `iter().sum()`, which adds row by row.
    ///
    /// ```
    /// # use bevy::prelude::*;
    /// # use bevy_affinity::prelude::*;
    /// # #[derive(Component)] struct Mass(f32);
    /// # #[derive(Resource, Default)] struct TotalMass(f32);
    /// fn weigh(masses: AffineQuery<&Mass>, mut total: ResMut<TotalMass>) {
    ///     total.0 = masses.par_iter().map_reduce(|| 0.0, |mass| mass.0, |left, right| left + right);
    /// }
    /// # let mut app = App::new();
    /// # app.add_plugins(AffinityParallelPlugin).init_resource::<TotalMass>().add_systems(Update, weigh.affine());
    /// # app.world_mut().spawn(Mass(1.5));
    /// # app.world_mut().spawn(Mass(2.0));
    /// # app.update();
    /// # assert_eq!(app.world().resource::<TotalMass>().0, 3.5);
    /// ```
    pub fn map_reduce<T: Send>(
        self,
        identity: impl Fn() -> T + Send + Sync,
        map: impl Fn(D::Item<'w, 's>) -> T + Send + Sync,
        combine: impl Fn(T, T) -> T + Send + Sync,
    ) -> T {
        // A value that is taken and put back is nothing in between: only a panic sees that.
        let add = |sum: &mut Option<T>, item| *sum = sum.take().map(|sum| combine(sum, map(item)));
        self.reduce_rows(|| Some(identity()), add, |sum| sum, &combine).unwrap_or_else(identity)
    }

    /// Folds the items of each block of rows into a value, and combines the values: what is found
    /// is collected in the order of rows.
    ///
    /// As [`map_reduce`](Self::map_reduce), without a value for each item: a value that has memory
    /// of its own, such as a `Vec`, is made once for a block: an eighth of a table's rows, 64 at
    /// least and 2,048 at most. One thread visits a block. `identity` starts each, and is the
    /// result if there are no rows. The order is the one of commands and messages: table by table.
    ///
    /// Shaped after `fold` and `reduce` of rayon's iterators.
    ///
    /// ```
    /// # use bevy::prelude::*;
    /// # use bevy_affinity::prelude::*;
    /// #[derive(Component)]
    /// struct Health(i32);
    /// #[derive(Message)]
    /// struct Fell(Entity);
    ///
    /// fn fall(healths: AffineQuery<(Entity, &Health)>, mut fallen: MessageWriter<Fell>) {
    ///     fallen.write_batch(healths.par_iter().fold_reduce(
    ///         Vec::new,
    ///         |fallen, (entity, health)| {
    ///             if health.0 <= 0 {
    ///                 fallen.push(Fell(entity));
    ///             }
    ///         },
    ///         |mut first, mut second| {
    ///             first.append(&mut second);
    ///             first
    ///         },
    ///     ));
    /// }
    /// # let mut app = App::new();
    /// # app.add_plugins(AffinityParallelPlugin).add_message::<Fell>().add_systems(Update, fall.affine());
    /// # app.world_mut().spawn_batch([Health(1), Health(0), Health(-3)]);
    /// # app.update();
    /// # assert_eq!(app.world().resource::<Messages<Fell>>().len(), 2);
    /// ```
    pub fn fold_reduce<T: Send>(
        self,
        identity: impl Fn() -> T + Send + Sync,
        fold: impl Fn(&mut T, D::Item<'w, 's>) + Send + Sync,
        combine: impl Fn(T, T) -> T + Send + Sync,
    ) -> T {
        self.reduce_rows(&identity, fold, Some, &combine).unwrap_or_else(identity)
    }

    /// Adds the items of each block of rows to what `begin` makes, and combines what `end` makes of
    /// that; `None` if there are no rows.
    fn reduce_rows<A, T: Send>(
        self,
        begin: impl Fn() -> A + Sync,
        add: impl Fn(&mut A, D::Item<'w, 's>) + Sync,
        end: impl Fn(A) -> Option<T> + Sync,
        combine: &impl Fn(T, T) -> T,
    ) -> Option<T> {
        let Self { sweep, site, .. } = self;
        let plan = Plan::new(sweep.rows, site);
        let block = move |(): &mut (), storage, ranges: &mut dyn Iterator<Item = Range<u32>>| {
            let mut value = begin();
            for rows in ranges {
                // SAFETY: 'access' on `Sweep`; 'once' on `reduce_blocks`, and this call consumes
                // the iterator.
                unsafe { sweep.visit(storage, rows, |item| add(&mut value, item)) };
            }
            end(value)
        };
        reduce_blocks((&plan, BlockLength::OfStorage), || (), block, combine)
    }
}

/// Calls `block` with each block of `length` of the plan's rows (its storage, and its rows in
/// ascending order) and with what `visitor` makes for each part, and combines what it returns, in
/// the order of blocks; `None` if that is nothing.
///
/// # Invariant (once)
/// Each row is in one block, which one thread is called with, once: a block begins in the rows of
/// one part ('parts' on [`Part`](crate::sweep::Part)).
pub(crate) fn reduce_blocks<V, T: Send>(
    (plan, length): (&Plan<'_>, BlockLength),
    visitor: impl Fn() -> V + Sync,
    block: impl Fn(&mut V, Storage, &mut dyn Iterator<Item = Range<u32>>) -> Option<T> + Sync,
    combine: &impl Fn(T, T) -> T,
) -> Option<T> {
    let reduced = Mutex::new(Vec::<(BlockPlace, T)>::new());
    let (rows, reduced_of_parts) = (plan.rows(), &reduced);
    plan.run_by_blocks(move |part| {
        let (mut visitor, mut blocks) = (visitor(), Vec::new());
        for_each_block(part, (rows, length), |place, storage, ranges| {
            blocks.extend(block(&mut visitor, storage, ranges).map(|value| (place, value)));
        });
        lock(reduced_of_parts).append(&mut blocks);
    });
    let mut blocks = into_inner(reduced);
    blocks.sort_unstable_by_key(|&(place, _)| place);
    combine_pairs(blocks.into_iter().map(|(_, value)| value).collect(), combine)
}

/// Combines neighbours, then neighbours of the results, until one is left.
fn combine_pairs<T>(mut values: Vec<T>, combine: &impl Fn(T, T) -> T) -> Option<T> {
    while values.len() > 1 {
        let mut rest = values.into_iter();
        let mut combined = Vec::with_capacity(rest.len().div_ceil(2));
        while let Some(left) = rest.next() {
            combined.push(match rest.next() {
                Some(right) => combine(left, right),
                None => left,
            });
        }
        values = combined;
    }
    values.pop()
}

#[cfg(test)]
mod tests {
    use super::combine_pairs;

    #[test]
    fn pairs_keep_their_order() {
        let values = ["a", "b", "c", "d", "e"].map(String::from).to_vec();
        assert_eq!(combine_pairs(values, &|left, right| format!("({left}{right})")).unwrap(), "(((ab)(cd))e)");
        assert_eq!(combine_pairs(Vec::new(), &|left: u8, _| left), None);
    }
}
