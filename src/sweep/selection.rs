//! Some of the rows of a query, in segments of rows that follow each other.

use std::ops::Range;

use crate::placement::Storage;

/// Some of a query's rows, in the order of storages and rows. Kept from call to call for its
/// memory.
///
/// # Invariant (selection)
/// Its rows ascend, so that each is in it once: [`push`](Self::push) sees to it.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    segments: Vec<Segment>,
}

impl Selection {
    pub(crate) fn clear(&mut self) {
        self.segments.clear();
    }

    /// Adds a row that comes behind all that were added before. A storage's `ordinal` is its place
    /// in the order of storages.
    ///
    /// # Panics
    /// If it does not.
    #[inline]
    pub(crate) fn push(&mut self, ordinal: u32, storage: Storage, row: u32) {
        match self.segments.last_mut() {
            Some(last) if last.storage == storage && last.rows.end == row => last.rows.end += 1,
            last => {
                let is_behind = last.is_none_or(|last| (last.ordinal, last.rows.end) <= (ordinal, row));
                assert!(is_behind, "rows are selected in ascending order");
                let first = self.rows();
                self.segments.push(Segment { first, storage, ordinal, rows: row..row + 1 });
            }
        }
    }

    /// How many rows there are.
    pub(crate) fn rows(&self) -> u64 {
        self.segments.last().map_or(0, Segment::end)
    }

    pub(super) fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The last one of a storage's rows that comes before `row`.
    pub(crate) fn row_before(&self, ordinal: u32, row: u32) -> Option<u32> {
        let from = self.segment_with(ordinal, row);
        let reaches = self.segments.get(from).is_some_and(|next| next.ordinal == ordinal && next.rows.start < row);
        let last = self.segments[..from].last().filter(|last| last.ordinal == ordinal);
        if reaches { Some(row - 1) } else { last.map(|last| last.rows.end - 1) }
    }

    /// Those of a storage's rows that lie in `rows`, in ascending order.
    pub(crate) fn ranges_in(&self, ordinal: u32, rows: Range<u32>) -> impl Iterator<Item = Range<u32>> {
        let from = &self.segments[self.segment_with(ordinal, rows.start)..];
        let within = from.iter().take_while(move |next| next.ordinal == ordinal && next.rows.start < rows.end);
        within.map(move |segment| segment.rows.start.max(rows.start)..segment.rows.end.min(rows.end))
    }

    /// The number of the first segment that ends behind a storage's `row`.
    fn segment_with(&self, ordinal: u32, row: u32) -> usize {
        self.segments.partition_point(|segment| (segment.ordinal, segment.rows.end) <= (ordinal, row))
    }
}

/// Rows of one storage that follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// The place of its first row among the rows before it.
    pub(super) first: u64,
    pub(super) storage: Storage,
    /// The storage's place in the order of storages.
    pub(super) ordinal: u32,
    pub(super) rows: Range<u32>,
}

impl Segment {
    /// The place after its last row.
    #[inline]
    pub(super) fn end(&self) -> u64 {
        self.first + u64::from(self.rows.end - self.rows.start)
    }

    /// Its rows that lie in `positions`, which reach into it.
    #[inline]
    pub(super) fn rows_in(&self, positions: &Range<u64>) -> Range<u32> {
        let row = |position: u64| self.rows.start + (position - self.first) as u32;
        row(positions.start.max(self.first))..row(positions.end.min(self.end()))
    }
}

/// The number of the segment that holds the row at `position`; that of segments if there is none.
pub(super) fn segment_at(segments: &[Segment], position: u64) -> usize {
    segments.partition_point(|segment| segment.end() <= position)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_follow_each_other_are_one_segment() {
        let mut selection = Selection::default();
        for (ordinal, table, row) in [(0, 3, 5), (0, 3, 6), (0, 3, 8), (2, 9, 9)] {
            selection.push(ordinal, Storage::Table(table), row);
        }
        let segment = |first, ordinal, table, rows| Segment { first, storage: Storage::Table(table), ordinal, rows };
        let expected = [segment(0, 0, 3, 5..7), segment(2, 0, 3, 8..9), segment(3, 2, 9, 9..10)];
        assert_eq!((selection.rows(), selection.segments()), (4, &expected[..]));
        assert_eq!([0, 1, 2, 3, 4].map(|position| segment_at(selection.segments(), position)), [0, 0, 1, 2, 3]);
        selection.clear();
        assert_eq!(selection.rows(), 0);
    }

    #[test]
    fn rows_are_found_among_those_of_their_storage() {
        let mut selection = Selection::default();
        for (ordinal, row) in [(1, 5), (1, 6), (1, 9), (3, 0), (3, 7)] {
            selection.push(ordinal, Storage::Table(10 * ordinal), row);
        }
        let before = |ordinal, row| selection.row_before(ordinal, row);
        assert_eq!([0, 5, 6, 7, 8, 9, 10, 99].map(|row| before(1, row)), {
            [None, None, Some(5), Some(6), Some(6), Some(6), Some(9), Some(9)]
        });
        assert_eq!([before(0, 9), before(2, 9), before(3, 0), before(3, 7), before(4, 1)], {
            [None, None, None, Some(0), None]
        });
        let ranges = |ordinal, rows| selection.ranges_in(ordinal, rows).collect::<Vec<_>>();
        assert_eq!(ranges(1, 0..100), [5..7, 9..10]);
        assert_eq!([ranges(1, 6..9), ranges(3, 1..8)].concat(), [6..7, 7..8]);
        assert_eq!([ranges(2, 0..100), ranges(1, 7..9), ranges(3, 8..9), ranges(0, 0..9)], [const { Vec::new() }; 4]);
    }
}
