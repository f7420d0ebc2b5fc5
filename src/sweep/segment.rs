//! Rows of many storages one after another: those of one storage, and where a position is.

use std::ops::Range;

use crate::placement::Storage;

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
