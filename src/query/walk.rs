//! One thread's way through the rows of a part.

use std::ops::Range;

use super::{parts::Division, sweep::Rows};
use crate::placement::Storage;

/// Goes through the rows that a division gives to one part, storage by storage, in steps that the caller limits.
pub(super) struct Walk<'a> {
    rows: Rows<'a, 'a>,
    division: Division<'a>,
    part: usize,
    /// The storage it is in, and that one's place in the order of storages; the next one's place if it is in none.
    storage: Option<Storage>,
    ordinal: u32,
    /// What is left of the storage.
    rest: Range<u32>,
    /// Rows of the part before those.
    position: u64,
}

impl<'a> Walk<'a> {
    pub(super) fn new(rows: Rows<'a, 'a>, division: Division<'a>, part: usize) -> Self {
        Self { rows, division, part, storage: None, ordinal: 0, rest: 0..0, position: 0 }
    }

    /// How many rows of the part lie behind.
    #[inline]
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// The next rows, at most `most` (which is not 0), that lie in one storage, and its place in the order of storages.
    #[inline]
    pub(super) fn next(&mut self, most: u64) -> Option<(u32, Storage, Range<u32>)> {
        let storage = self.enter()?;
        let count = most.min(self.rest.len() as u64);
        let end = self.rest.start + count as u32;
        let rows = self.rest.start..end;
        self.rest.start = end;
        self.position += count;
        Some((self.ordinal, storage, rows))
    }

    /// Leaves out rows until so many lie behind.
    pub(super) fn skip_to(&mut self, position: u64) {
        while self.position < position && self.next(position - self.position).is_some() {}
    }

    /// The storage that has the next row.
    #[inline]
    fn enter(&mut self) -> Option<Storage> {
        while self.rest.is_empty() {
            self.ordinal += u32::from(self.storage.is_some());
            let storage = *self.rows.matched.storages.get(self.ordinal as usize)?;
            self.storage = Some(storage);
            self.rest = self.division.range(storage, || self.rows.count(storage), self.part);
        }
        self.storage
    }
}
