//! Reduction over a fixed tree of blocks: the same bits whatever the number of workers.

use std::{ops::Range, sync::Mutex};

use bevy_ecs::query::{IterQueryData, QueryFilter};

use super::par_iter::AffineParIter;
use crate::{
    placement::Storage,
    sweep::{Part, Plan, Sweep},
    sync::{into_inner, lock},
};

/// Rows that are reduced from left to right before results are combined. Part of the result's
/// definition where `combine` rounds, so never derived from the machine. Half of the default
/// longest slice: at most this many rows at a border are swept by a neighbour.
const BLOCK_ROWS: u32 = 2048;

/// The result of one block: the storage's place in the order of storages, the block's number in it,
/// the value.
type Block<T> = (u32, u32, T);

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
        self.reduce(|| Some(identity()), add, |sum| sum, &combine).unwrap_or_else(identity)
    }

    /// Folds the items of each block of rows into a value, and combines the values: what is found
    /// is collected in the order of rows.
    ///
    /// As [`map_reduce`](Self::map_reduce), without a value for each item: a value that has memory
    /// of its own, such as a `Vec`, is made once for some two thousand rows. `identity` starts each
    /// block, and is the result if there are no rows. The order is the one of commands and
    /// messages: table by table.
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
        self.reduce(&identity, fold, Some, &combine).unwrap_or_else(identity)
    }

    /// Adds the items of each block of rows to what `begin` makes, and combines what `end` makes of
    /// that; `None` if there are no rows.
    fn reduce<A, T: Send>(
        self,
        begin: impl Fn() -> A + Sync,
        add: impl Fn(&mut A, D::Item<'w, 's>) + Sync,
        end: impl Fn(A) -> Option<T> + Sync,
        combine: &impl Fn(T, T) -> T,
    ) -> Option<T> {
        let Self { sweep, site, .. } = self;
        let reduced = Mutex::new(Vec::new());
        let plan = Plan::new(sweep.rows, site);
        let reduced_of_parts = &reduced;
        plan.run(move |part| {
            let mut blocks = Vec::new();
            for_each_block(part, &sweep, |ordinal, number, storage, rows| {
                let mut value = begin();
                // SAFETY: 'access' on `Sweep`; each block begins in the rows of one part: 'parts'
                // on `Part`.
                unsafe { sweep.visit(storage, rows, |item| add(&mut value, item)) };
                blocks.extend(end(value).map(|value| (ordinal, number, value)));
            });
            lock(reduced_of_parts).append(&mut blocks);
        });
        let mut blocks: Vec<Block<T>> = into_inner(reduced);
        blocks.sort_unstable_by_key(|&(ordinal, number, _)| (ordinal, number));
        combine_pairs(blocks.into_iter().map(|(_, _, value)| value).collect(), combine)
    }
}

/// Calls `visit` with each block that begins in the rows of `part`: with the place of its storage
/// in the order of storages, its number in it, the storage and the rows.
fn for_each_block<D: IterQueryData, F: QueryFilter>(
    part: Part<'_>,
    sweep: &Sweep<'_, '_, D, F>,
    mut visit: impl FnMut(u32, u32, Storage, Range<u32>),
) {
    part.for_each_range(|ordinal, storage, rows| {
        for (number, block) in blocks_beginning_in(rows, sweep.rows.count(storage)) {
            visit(ordinal, number, storage, block);
        }
    });
}

/// The blocks, with their numbers, whose first row is in `rows`; the last one of all ends with the
/// storage.
fn blocks_beginning_in(rows: Range<u32>, count: u32) -> impl Iterator<Item = (u32, Range<u32>)> {
    let numbers = rows.start.div_ceil(BLOCK_ROWS)..rows.end.div_ceil(BLOCK_ROWS);
    numbers.map(move |number| {
        let first = number * BLOCK_ROWS;
        (number, first..count.min(first.saturating_add(BLOCK_ROWS)))
    })
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
    use super::{BLOCK_ROWS, blocks_beginning_in, combine_pairs};

    #[test]
    fn every_row_is_in_one_block_however_rows_are_cut() {
        let count = 3 * BLOCK_ROWS + 17;
        for cuts in [vec![0, count], vec![0, 100, 5_000, count], vec![0, BLOCK_ROWS, 2 * BLOCK_ROWS, count]] {
            let mut next = 0;
            for (number, block) in cuts.windows(2).flat_map(|run| blocks_beginning_in(run[0]..run[1], count)) {
                assert_eq!(block.start, next);
                assert_eq!(number, block.start / BLOCK_ROWS);
                next = block.end;
            }
            assert_eq!(next, count);
        }
    }

    #[test]
    fn pairs_keep_their_order() {
        let values = ["a", "b", "c", "d", "e"].map(String::from).to_vec();
        assert_eq!(combine_pairs(values, &|left, right| format!("({left}{right})")).unwrap(), "(((ab)(cd))e)");
        assert_eq!(combine_pairs(Vec::new(), &|left: u8, _| left), None);
    }
}
