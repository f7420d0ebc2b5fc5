//! The blocks of a reduction: rows that one thread goes through from left to right, whatever the
//! number of threads, and whether all rows are visited or some.

use std::ops::Range;

use crate::{
    placement::Storage,
    sweep::{Part, Rows},
};

/// The most rows of a block. Half of the default longest slice: at most this many rows at a border
/// are swept by a neighbour.
const MOST_ROWS: u32 = 2048;

/// The fewest rows of a block, but for the last one of a storage: to begin a block and to combine
/// its value takes as long as some cheap rows.
const FEWEST_ROWS: u32 = 64;

/// A storage is half as many blocks to that many, unless they are longer or shorter than blocks may
/// be: one thread visits a block, so of a thousand rows that take long each several have a part.
/// With 16 a histogram of 3,000 cheap rows took a tenth longer than one block does, with 8 half of
/// that.
const BLOCKS: u32 = 8;

/// How many rows a block has. Part of the result's definition where values are combined with
/// rounding: it depends on the rows, never on the machine.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BlockLength {
    /// By how many rows the storage has.
    OfStorage,
    /// The fewest: rows that are due may lie side by side and take long.
    Shortest,
}

impl BlockLength {
    /// In a storage of this many rows.
    fn rows(self, storage: u32) -> u32 {
        match self {
            Self::OfStorage => (storage / BLOCKS).next_power_of_two().clamp(FEWEST_ROWS, MOST_ROWS),
            Self::Shortest => FEWEST_ROWS,
        }
    }
}

/// A block's storage by its place in the order of storages, and the block's number in it.
pub(super) type BlockPlace = (u32, u32);

/// Calls `visit` with each block of this `length` whose first row is in `part`, one of the parts of
/// `rows`: where it is, its storage, and its rows, which may reach into the rows of other parts.
pub(super) fn for_each_block(
    part: Part<'_>,
    (rows, length): (Rows<'_, '_>, BlockLength),
    mut visit: impl FnMut(BlockPlace, Storage, &mut dyn Iterator<Item = Range<u32>>),
) {
    let gate = part.gate();
    part.for_each_range(|ordinal, storage, range| {
        let count = rows.count(storage);
        let before = match rows.selection {
            None => range.start.checked_sub(1),
            Some(selection) => selection.row_before(ordinal, range.start),
        };
        for (number, block) in blocks_beginning_in(range, before, length.rows(count)) {
            let all = || rows.selection.is_none().then(|| block.start..block.end.min(count)).into_iter();
            let some = || rows.selection.into_iter().flat_map(|selection| selection.ranges_in(ordinal, block.clone()));
            visit((ordinal, number), storage, &mut all().chain(some()));
            if let Some(gate) = gate {
                gate.note(all().chain(some()).map(|rows| u64::from(rows.end - rows.start)).sum());
            }
        }
    });
}

/// The blocks of `length` rows whose first row is in `rows`, with their numbers: from that row to
/// where they end. `before` is the row before these, if there is one.
fn blocks_beginning_in(rows: Range<u32>, before: Option<u32>, length: u32) -> impl Iterator<Item = (u32, Range<u32>)> {
    let is_begun = before.is_some_and(|before| before / length == rows.start / length);
    let first = rows.start / length + u32::from(is_begun);
    (first..rows.end.div_ceil(length)).map(move |number| {
        let begins = number * length;
        (number, begins.max(rows.start)..begins.saturating_add(length))
    })
}

#[cfg(test)]
mod tests {
    use super::{BlockLength, MOST_ROWS as BLOCK_ROWS, blocks_beginning_in};

    #[test]
    fn a_table_is_some_blocks_and_a_large_one_many() {
        let rows = [0, 63, 65, 1_000, 4_000, 10_000, 30_000, 32_000, 1_000_000, u32::MAX];
        let blocks = rows.map(|rows| rows.div_ceil(BlockLength::OfStorage.rows(rows)));
        assert_eq!(blocks, [0, 1, 2, 8, 8, 5, 15, 16, 489, 1 << 21]);
    }

    #[test]
    fn every_row_is_in_one_block_however_rows_are_cut() {
        let count = 3 * BLOCK_ROWS + 17;
        for cuts in [vec![0, count], vec![0, 100, 5_000, count], vec![0, BLOCK_ROWS, 2 * BLOCK_ROWS, count]] {
            let mut next = 0;
            let blocks = |run: &[u32]| blocks_beginning_in(run[0]..run[1], run[0].checked_sub(1), BLOCK_ROWS);
            for (number, block) in cuts.windows(2).flat_map(blocks) {
                assert_eq!(block, next..(number + 1) * BLOCK_ROWS);
                assert_eq!(number, block.start / BLOCK_ROWS);
                next = block.end;
            }
            assert_eq!(next, count.next_multiple_of(BLOCK_ROWS));
        }
    }

    #[test]
    fn a_block_begins_with_the_first_of_its_rows_that_is_visited() {
        let blocks = |rows, before| blocks_beginning_in(rows, before, BLOCK_ROWS).collect::<Vec<_>>();
        let (first, second) = (100..200, BLOCK_ROWS + 5..BLOCK_ROWS + 6);
        assert_eq!(blocks(first.clone(), None), [(0, 100..BLOCK_ROWS)]);
        assert_eq!(blocks(first, Some(99)), []);
        assert_eq!(blocks(second.clone(), Some(199)), [(1, second.start..2 * BLOCK_ROWS)]);
        assert_eq!(blocks(199..second.end, Some(198)), [(1, BLOCK_ROWS..2 * BLOCK_ROWS)]);
    }
}
