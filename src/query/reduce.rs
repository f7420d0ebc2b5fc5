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
        let Self { sweep, site, .. } = self;
        let reduced = Mutex::new(Vec::new());
        let plan = Plan::new(sweep.rows, site);
        plan.run(|part| {
            let mut blocks = reduce_part(part, &sweep, &identity, &map, &combine);
            lock(&reduced).append(&mut blocks);
        });
        let mut blocks = into_inner(reduced);
        blocks.sort_unstable_by_key(|&(ordinal, number, _)| (ordinal, number));
        let values = blocks.into_iter().map(|(_, _, value)| value).collect();
        combine_pairs(values, &combine).unwrap_or_else(identity)
    }
}

/// The blocks that begin in the rows of `part`.
fn reduce_part<'w, 's, D: IterQueryData, F: QueryFilter, T>(
    part: Part<'_>,
    sweep: &Sweep<'w, 's, D, F>,
    identity: &impl Fn() -> T,
    map: &impl Fn(D::Item<'w, 's>) -> T,
    combine: &impl Fn(T, T) -> T,
) -> Vec<Block<T>> {
    let mut blocks = Vec::new();
    part.for_each_range(|ordinal, storage: Storage, rows| {
        for (number, block) in blocks_beginning_in(rows, sweep.rows.count(storage)) {
            let mut value = Some(identity());
            let add = |item| value = value.take().map(|sum| combine(sum, map(item)));
            // SAFETY: 'access' on `Sweep`; each block begins in the rows of one part: 'parts' on
            // `Part`.
            unsafe { sweep.visit(storage, block, add) };
            blocks.extend(value.map(|value| (ordinal, number, value)));
        }
    });
    blocks
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
