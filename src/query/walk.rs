//! One thread's way through the rows of a part.

use std::ops::Range;

use super::{line::Line, parts::Division, sweep::Rows};
use crate::placement::Storage;

/// Goes through the rows of one part, storage by storage, in steps that the caller limits.
pub(super) struct Walk<'a> {
    source: Source<'a>,
    /// Where it is: a storage and its place in the order of storages.
    at: (u32, Storage),
    /// What is left there.
    rest: Range<u32>,
    /// The next section or storage.
    next: usize,
    /// Rows of the part before what is left.
    position: u64,
}

/// Where the rows of a part are found.
enum Source<'a> {
    Line(&'a Line),
    /// What a division gives to one part.
    Divided(Rows<'a, 'a>, Division<'a>, usize),
}

impl<'a> Walk<'a> {
    pub(super) fn along(line: &'a Line) -> Self {
        Self::new(Source::Line(line))
    }

    pub(super) fn through(rows: Rows<'a, 'a>, division: Division<'a>, part: usize) -> Self {
        Self::new(Source::Divided(rows, division, part))
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
            self.enter()?;
        }
        let count = most.min(self.rest.len() as u64);
        let end = self.rest.start + count as u32;
        let rows = self.rest.start..end;
        self.rest.start = end;
        self.position += count;
        Some((self.at.0, self.at.1, rows))
    }

    /// Goes on from `position` on a line.
    pub(super) fn skip_to(&mut self, position: u64) {
        if let Source::Line(line) = self.source
            && self.position < position
        {
            self.next = line.section_at(position);
            self.rest = 0..0;
            if let Some(section) = line.sections().get(self.next) {
                (self.at, self.rest) = ((section.ordinal, section.storage), section.rows.clone());
                self.rest.start += (position - section.first) as u32;
                self.next += 1;
            }
            self.position = position;
        }
    }

    /// Enters the next storage.
    #[inline]
    fn enter(&mut self) -> Option<()> {
        match &self.source {
            Source::Line(line) => {
                let section = line.sections().get(self.next)?;
                (self.at, self.rest) = ((section.ordinal, section.storage), section.rows.clone());
            }
            Source::Divided(rows, division, part) => {
                let storage = *rows.matched.storages.get(self.next)?;
                let range = division.range(storage, || rows.count(storage), *part);
                (self.at, self.rest) = ((self.next as u32, storage), range);
            }
        }
        self.next += 1;
        Some(())
    }
}
