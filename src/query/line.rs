//! Rows of many storages in one line, one storage after another, so that they can be cut anywhere
//! and found again.

use std::ops::Range;

use super::sweep::Rows;
use crate::placement::{Placement, Storage};

/// Rows in the order in which they are swept. Kept from call to call for its memory.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// Each has rows.
    sections: Vec<Section>,
    rows: u64,
    /// Whether it has parts of storages, of which others have other parts.
    has_parts: bool,
}

/// Rows of one storage that follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Section {
    /// The place of its first row in the line.
    pub(super) first: u64,
    pub(super) storage: Storage,
    /// The storage's place in the order of storages.
    pub(super) ordinal: u32,
    pub(super) rows: Range<u32>,
}

impl Section {
    /// The place in the line after its last row.
    #[inline]
    fn end(&self) -> u64 {
        self.first + u64::from(self.rows.end - self.rows.start)
    }
}

impl Line {
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    pub(super) fn has_parts(&self) -> bool {
        self.has_parts
    }

    pub(super) fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// The number of the section that holds the row at `position`; that of sections if there is
    /// none.
    pub(super) fn section_at(&self, position: u64) -> usize {
        self.sections.partition_point(|section| section.end() <= position)
    }

    /// Calls `visit` for the rows of each storage that lie in `positions`, with the storage's place
    /// in the order of storages.
    #[inline]
    pub(super) fn for_each_range(&self, positions: Range<u64>, mut visit: impl FnMut(u32, Storage, Range<u32>)) {
        let from = self.section_at(positions.start);
        for section in self.sections[from..].iter().take_while(|section| section.first < positions.end) {
            let row = |position: u64| section.rows.start + (position - section.first) as u32;
            let start = row(positions.start.max(section.first));
            let end = row(positions.end.min(section.end()));
            visit(section.ordinal, section.storage, start..end);
        }
    }

    /// Lays out rows where `pen` is. Writes only what is new: a line that stays as it was stays in
    /// the caches of those who read it.
    #[inline]
    fn lay(&mut self, pen: &mut Pen, ordinal: u32, storage: Storage, rows: Range<u32>) {
        if rows.is_empty() {
            return;
        }
        let section = Section { first: pen.rows, storage, ordinal, rows };
        pen.rows = section.end();
        match self.sections.get_mut(pen.sections) {
            Some(known) if *known == section => {}
            Some(known) => *known = section,
            None => self.sections.push(section),
        }
        pen.sections += 1;
    }

    /// Ends the line where `pen` is.
    fn end(&mut self, pen: &Pen) {
        if self.sections.len() > pen.sections {
            self.sections.truncate(pen.sections);
        }
        if (self.rows, self.has_parts) != (pen.rows, pen.has_parts) {
            (self.rows, self.has_parts) = (pen.rows, pen.has_parts);
        }
    }
}

/// How far a line is laid out.
#[derive(Clone, Debug, Default)]
struct Pen {
    sections: usize,
    rows: u64,
    has_parts: bool,
}

/// Shares of this many runs are even enough.
const RUNS_OF_A_SHARE: usize = 8;

/// The rows of one call, laid out: all in one line, or in one for each worker. Kept from call to
/// call for its memory.
#[derive(Debug, Default)]
pub(super) struct Layout {
    lines: Vec<Line>,
    /// By line. Apart: only the leader needs them.
    pens: Vec<Pen>,
}

impl Layout {
    /// All `rows` in one line.
    pub(super) fn whole(&mut self, rows: &Rows<'_, '_>) -> &Line {
        self.begin(1);
        for (ordinal, storage) in (0..).zip(rows.storages()) {
            self.lay(0, ordinal, storage, 0..rows.count(storage));
        }
        &self.end()[0]
    }

    /// The rows of each worker in a line of its own, after `placement` was brought up to date with
    /// what is there now, in runs of at least `grain` rows.
    pub(super) fn by_owner(&mut self, rows: &Rows<'_, '_>, placement: &mut Placement, grain: u32) -> &[Line] {
        self.begin(placement.workers());
        for (ordinal, storage) in (0..).zip(rows.storages()) {
            let runs = placement.place(storage, rows.count(storage), grain);
            for (owner, run) in runs.by_owner() {
                self.lay(owner, ordinal, storage, run);
                self.pens[owner].has_parts |= runs.parts() > 1;
            }
        }
        self.end()
    }

    /// How many rows there are, or were in the last call: counting those of many storages takes
    /// time.
    pub(super) fn about(&self, rows: &Rows<'_, '_>) -> u64 {
        let known: u64 = self.lines.iter().map(Line::rows).sum();
        if known > 0 { known } else { rows.total() }
    }

    /// A storage of fewer rows need not be cut for workers to have equal shares: there are others.
    pub(super) fn needless_cut(&self, rows: &Rows<'_, '_>, workers: usize) -> u32 {
        let runs = workers * RUNS_OF_A_SHARE;
        if rows.matched.storages.len() < runs {
            return 1;
        }
        u32::try_from(self.about(rows) / runs as u64).unwrap_or(u32::MAX)
    }

    fn begin(&mut self, lines: usize) {
        self.lines.resize_with(lines, Line::default);
        self.pens.clear();
        self.pens.resize(lines, Pen::default());
    }

    #[inline]
    fn lay(&mut self, line: usize, ordinal: u32, storage: Storage, rows: Range<u32>) {
        self.lines[line].lay(&mut self.pens[line], ordinal, storage, rows);
    }

    fn end(&mut self) -> &[Line] {
        self.lines.iter_mut().zip(&self.pens).for_each(|(line, pen)| line.end(pen));
        &self.lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lay(line: &mut Line, rows: &[(u32, Range<u32>)]) {
        let mut pen = Pen::default();
        for (ordinal, (table, rows)) in (0..).zip(rows) {
            line.lay(&mut pen, ordinal, Storage::Table(*table), rows.clone());
        }
        line.end(&pen);
    }

    fn line() -> Line {
        let mut line = Line::default();
        lay(&mut line, &[(7, 100..103), (8, 5..5), (9, 0..10)]);
        line
    }

    fn ranges(positions: Range<u64>) -> Vec<(u32, Storage, Range<u32>)> {
        let mut ranges = Vec::new();
        line().for_each_range(positions, |ordinal, storage, rows| ranges.push((ordinal, storage, rows)));
        ranges
    }

    #[test]
    fn positions_are_found_in_their_storages() {
        assert_eq!(line().rows(), 13);
        assert_eq!(ranges(0..13), [(0, Storage::Table(7), 100..103), (2, Storage::Table(9), 0..10)]);
        assert_eq!(ranges(2..4), [(0, Storage::Table(7), 102..103), (2, Storage::Table(9), 0..1)]);
        assert_eq!(ranges(12..20), [(2, Storage::Table(9), 9..10)]);
        assert_eq!(ranges(3..3), []);
    }

    #[test]
    fn storages_without_rows_have_no_section() {
        assert_eq!([0, 2, 3, 12, 13].map(|position| line().section_at(position)), [0, 0, 1, 1, 2]);
    }

    #[test]
    fn a_line_that_is_laid_out_anew_forgets_what_was_there() {
        let mut line = line();
        lay(&mut line, &[(7, 100..103), (8, 0..2)]);
        assert_eq!((line.rows(), line.sections().len()), (5, 2));
        assert_eq!(line.sections()[1], Section { first: 3, storage: Storage::Table(8), ordinal: 1, rows: 0..2 });
        lay(&mut line, &[]);
        assert_eq!((line.rows(), line.sections().len()), (0, 0));
    }
}
