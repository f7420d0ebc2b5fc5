//! Rows in the order in which they are swept: all of them, or those of each worker.

use std::ops::Range;

use super::{
    rows::Rows,
    selection::{Segment, Selection, segment_at},
};
use crate::placement::{Placement, Storage};

/// Shares of this many runs are even enough.
const RUNS_OF_A_SHARE: usize = 8;

/// Rows in the order in which they are swept. Kept from call to call for its memory.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// Each has rows.
    segments: Vec<Segment>,
    rows: u64,
    /// Whether it has parts of storages, of which others have other parts.
    has_parts: bool,
}

impl Layout {
    /// Lays out all `rows`.
    pub(super) fn lay_out_all(&mut self, rows: &Rows<'_, '_>) -> &Self {
        let mut progress = Progress::default();
        match rows.selection {
            Some(selection) => {
                for segment in selection.segments() {
                    self.lay(&mut progress, segment.ordinal, segment.storage, segment.rows.clone());
                }
            }
            None => {
                for (ordinal, storage) in (0..).zip(rows.storages()) {
                    self.lay(&mut progress, ordinal, storage, 0..rows.count(storage));
                }
            }
        }
        self.end(&progress);
        self
    }

    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    pub(super) fn has_parts(&self) -> bool {
        self.has_parts
    }

    pub(super) fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Calls `visit` for the rows of each storage that lie in `positions`, with the storage's place
    /// in the order of storages.
    #[inline]
    pub(super) fn for_each_range(&self, positions: Range<u64>, mut visit: impl FnMut(u32, Storage, Range<u32>)) {
        let from = segment_at(&self.segments, positions.start);
        for segment in self.segments[from..].iter().take_while(|segment| segment.first < positions.end) {
            visit(segment.ordinal, segment.storage, segment.rows_in(&positions));
        }
    }

    /// Lays out rows where `progress` is. Writes only what is new: a layout that stays as it was
    /// stays in the caches of those who read it.
    #[inline]
    fn lay(&mut self, progress: &mut Progress, ordinal: u32, storage: Storage, rows: Range<u32>) {
        if rows.is_empty() {
            return;
        }
        let segment = Segment { first: progress.rows, storage, ordinal, rows };
        progress.rows = segment.end();
        match self.segments.get_mut(progress.segments) {
            Some(known) if *known == segment => {}
            Some(known) => *known = segment,
            None => self.segments.push(segment),
        }
        progress.segments += 1;
    }

    /// Ends the layout where `progress` is.
    #[inline]
    fn end(&mut self, progress: &Progress) {
        if self.segments.len() > progress.segments {
            self.segments.truncate(progress.segments);
        }
        if (self.rows, self.has_parts) != (progress.rows, progress.has_parts) {
            (self.rows, self.has_parts) = (progress.rows, progress.has_parts);
        }
    }
}

/// How far rows are laid out.
#[derive(Clone, Debug, Default)]
struct Progress {
    segments: usize,
    rows: u64,
    has_parts: bool,
}

/// The rows of one call, in a layout for each worker. Kept from call to call for its memory.
#[derive(Debug, Default)]
pub(super) struct Layouts {
    by_owner: Vec<Layout>,
    /// By owner. Apart: only the leader needs them.
    progress: Vec<Progress>,
    /// How many rows there were in the last call that had all of them; 0 before it.
    all: u64,
}

impl Layouts {
    /// Lays out the rows of each worker, after `placement` was brought up to date with what is
    /// there now, in runs of at least `shortest` rows.
    pub(super) fn lay_out(&mut self, rows: &Rows<'_, '_>, placement: &mut Placement, shortest: u32) -> &[Layout] {
        self.begin(placement.workers());
        if let Some(selection) = rows.selection {
            self.lay_selected(rows, selection, placement, shortest);
            return self.end();
        }
        for (ordinal, storage) in (0..).zip(rows.storages()) {
            let runs = placement.place(storage, rows.count(storage), shortest);
            for (owner, run) in runs.by_owner() {
                self.lay(owner, ordinal, storage, run);
                self.progress[owner].has_parts |= runs.parts() > 1;
            }
        }
        self.all = self.progress.iter().map(|progress| progress.rows).sum();
        self.end()
    }

    /// Lays out the rows of `selection`. Their storages are cut as for a sweep of all their rows:
    /// who owns a row does not depend on how many others are visited. Nothing is learned of cuts
    /// from such a call: its rows are not what others sweep.
    fn lay_selected(&mut self, rows: &Rows<'_, '_>, selection: &Selection, placement: &mut Placement, shortest: u32) {
        let mut placed = None;
        for segment in selection.segments() {
            if placed.replace(segment.storage) != Some(segment.storage) {
                placement.place(segment.storage, rows.count(segment.storage), shortest);
            }
            let Some(runs) = placement.get(segment.storage) else { continue };
            let mut start = segment.rows.start;
            while start < segment.rows.end {
                let owner = runs.owner_of(start);
                let end = runs.range_of(owner).end.min(segment.rows.end);
                self.lay(owner, segment.ordinal, segment.storage, start..end);
                start = end;
            }
        }
    }

    /// How many rows there are to cut, or were in the last such call: counting those of many
    /// storages takes time.
    pub(super) fn about(&self, rows: &Rows<'_, '_>) -> u64 {
        if rows.selection.is_some() {
            return rows.all();
        }
        if self.all > 0 { self.all } else { rows.total() }
    }

    /// The fewest rows of a storage that has to be cut for workers to have equal shares: of many
    /// storages the small ones need not be.
    pub(super) fn fewest_to_cut(&self, rows: &Rows<'_, '_>, workers: usize) -> u32 {
        let runs = workers * RUNS_OF_A_SHARE;
        if rows.selection.is_some() || rows.matched.storages.len() < runs {
            return 1;
        }
        u32::try_from(self.about(rows) / runs as u64).unwrap_or(u32::MAX)
    }

    fn begin(&mut self, owners: usize) {
        self.by_owner.resize_with(owners, Layout::default);
        self.progress.clear();
        self.progress.resize(owners, Progress::default());
    }

    #[inline]
    fn lay(&mut self, owner: usize, ordinal: u32, storage: Storage, rows: Range<u32>) {
        self.by_owner[owner].lay(&mut self.progress[owner], ordinal, storage, rows);
    }

    fn end(&mut self) -> &[Layout] {
        self.by_owner.iter_mut().zip(&self.progress).for_each(|(layout, progress)| layout.end(progress));
        &self.by_owner
    }
}

#[cfg(test)]
mod tests;
