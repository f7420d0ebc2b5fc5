//! The way of one thread through the rows of a part.

use std::ops::Range;

use super::{
    division::{even_positions, even_rows},
    layout::Layout,
    rows::Rows,
    selection::{Segment, segment_at},
};
use crate::placement::Storage;

/// Goes through the rows of one part, storage by storage, in steps that the caller limits.
pub(super) struct RowCursor<'a> {
    source: Source<'a>,
    /// Where it is: a storage and its place in the order of storages.
    at: (u32, Storage),
    /// What is left there.
    rest: Range<u32>,
    /// The next segment or storage.
    next: usize,
    /// Rows of the part before what is left.
    position: u64,
}

/// Where the rows of a part are found.
enum Source<'a> {
    /// The rows before this position.
    Segments(&'a [Segment], u64),
    /// All rows, the number of this part, and of all even parts.
    Even(Rows<'a, 'a>, usize, usize),
}

impl<'a> RowCursor<'a> {
    pub(super) fn along(layout: &'a Layout) -> Self {
        Self::new(Source::Segments(layout.segments(), layout.rows()))
    }

    /// Through one of `parts` even parts of all rows.
    pub(super) fn through(rows: Rows<'a, 'a>, part: usize, parts: usize) -> Self {
        let Some(selection) = rows.selection else { return Self::new(Source::Even(rows, part, parts)) };
        let positions = even_positions(selection.rows(), part, parts);
        let mut cursor = Self::new(Source::Segments(selection.segments(), positions.end));
        cursor.skip_to(positions.start);
        cursor
    }

    fn new(source: Source<'a>) -> Self {
        Self { source, at: (0, Storage::Table(0)), rest: 0..0, next: 0, position: 0 }
    }

    /// How many rows of the part lie behind.
    #[inline]
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// The next rows, at most `most` (which is not 0), that lie in one storage, and its place in
    /// the order of storages.
    #[inline]
    pub(super) fn next(&mut self, most: u64) -> Option<(u32, Storage, Range<u32>)> {
        while self.rest.is_empty() {
            self.next_storage()?;
        }
        let count = most.min(self.rest.len() as u64);
        let end = self.rest.start + count as u32;
        let rows = self.rest.start..end;
        self.rest.start = end;
        self.position += count;
        Some((self.at.0, self.at.1, rows))
    }

    /// Goes on from `position`, if that is ahead, among segments.
    pub(super) fn skip_to(&mut self, position: u64) {
        if let Source::Segments(segments, _) = self.source
            && self.position < position
        {
            (self.next, self.rest, self.position) = (segment_at(segments, position), 0..0, position);
        }
    }

    #[inline]
    fn next_storage(&mut self) -> Option<()> {
        match &self.source {
            Source::Segments(segments, end) => {
                let segment = segments.get(self.next).filter(|segment| segment.first < *end)?;
                self.at = (segment.ordinal, segment.storage);
                self.rest = segment.rows_in(&(self.position..*end));
            }
            Source::Even(rows, part, parts) => {
                let storage = *rows.matched.storages.get(self.next)?;
                (self.at, self.rest) =
                    ((self.next as u32, storage), even_rows(storage, rows.count(storage), *part, *parts));
            }
        }
        self.next += 1;
        Some(())
    }
}
