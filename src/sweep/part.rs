//! One part of a sweep: what a thread is given of it at a time, whichever way it is divided, and
//! its way through the rows of that.

use std::ops::Range;

use super::{
    division::{Division, even_positions, even_rows},
    fork_range::ForkRange,
    rows::{Layout, Rows, Selection, segment_at},
};
use crate::{
    claims::{ClaimBoard, Tag},
    context::{Context, Ownership},
    placement::{Runs, Storage},
    pool::{now, running_on},
    topology::CoreId,
};

/// One part of a divided sweep.
///
/// # Invariant (parts)
/// The ranges that the parts of one sweep visit are disjoint, and together they are all rows: a
/// division has disjoint runs, of which [`bevys_threads`](super::bevys_threads) makes a part each;
/// [`ShareClaim`] and [`ForkRange`] say the same of shares and ranges.
pub(crate) struct Part<'a> {
    /// The number of the owner whose rows these are, or of the grain that a [`ForkRange`] begins
    /// with. Ascends with the rows of each storage.
    pub(crate) index: usize,
    /// For a chunk that its owner lost: how many others of the share were taken before, which
    /// ascends against the rows.
    pub(crate) stolen: Option<u32>,
    /// Who owns which rows. Those of this part, unless it is a [`ForkRange`].
    pub(crate) division: Division<'a>,
    rows: PartRows<'a>,
}

/// Which rows a [`Part`] has.
enum PartRows<'a> {
    /// One of so many even parts of all rows.
    Even(Rows<'a, 'a>, usize),
    /// What is claimed of that in a round.
    Claimed(ShareClaim<'a>),
    /// What other workers leave to it.
    ForkRange(ForkRange<'a>),
}

impl<'a> Part<'a> {
    /// All rows in one part.
    pub(super) fn whole(rows: Rows<'a, 'a>) -> Self {
        Self::even(rows, 0, 1)
    }

    /// One of `parts` even parts of all rows.
    pub(super) fn even(rows: Rows<'a, 'a>, index: usize, parts: usize) -> Self {
        Self { index, stolen: None, division: Division::Even { parts }, rows: PartRows::Even(rows, parts) }
    }

    pub(super) fn claimed(claim: ShareClaim<'a>) -> Self {
        let (index, stolen, division) = (claim.owner, claim.stolen(), claim.division());
        Self { index, stolen, division, rows: PartRows::Claimed(claim) }
    }

    pub(super) fn of_fork(range: ForkRange<'a>) -> Self {
        let (index, division) = (range.first_grain(), range.division());
        Self { index, stolen: None, division, rows: PartRows::ForkRange(range) }
    }

    /// Calls `visit` for each non-empty range of rows that belongs to this part, in ascending order
    /// of storages and rows, with the storage's place in that order.
    #[inline]
    pub(crate) fn for_each_range(self, mut visit: impl FnMut(u32, Storage, Range<u32>)) {
        let (mut cursor, mut claim) = match self.rows {
            PartRows::ForkRange(range) => return range.for_each_range(&mut visit),
            PartRows::Claimed(claim) => (claim.cursor(), Some(claim)),
            PartRows::Even(rows, parts) => (RowCursor::through(rows, self.index, parts), None),
        };
        // One place that visits, so that it is inlined: only then its loop is vectorised.
        loop {
            let room = claim.as_mut().map_or(u64::MAX, |claim| claim.room(&mut cursor));
            if room == 0 {
                break;
            }
            let Some((ordinal, storage, range)) = cursor.next(room) else { break };
            let began = claim.as_ref().and_then(|claim| claim.clock_if_learning(storage));
            visit(ordinal, storage, range.clone());
            if let Some(claim) = &mut claim {
                claim.count(storage, range, began);
            }
        }
        if let Some(claim) = claim {
            claim.report();
        }
    }
}

/// How the shares of one call are cut into chunks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunking {
    /// Rows of a chunk.
    pub(super) rows: u32,
    /// The most chunks of a share that others may take.
    pub(super) most_stolen: u32,
    pub(super) tag: Tag,
}

impl Chunking {
    /// Chunking of `rows` rows, none of which is claimed.
    pub(super) fn new(claims: &mut ClaimBoard, rows: u32, most_stolen: u32) -> Self {
        Self { rows, most_stolen, tag: claims.begin() }
    }
}

/// The rows of one call in lock step, and who owns them.
#[derive(Clone, Copy)]
pub(super) struct CallShares<'a> {
    pub(super) context: &'a Context,
    pub(super) ownership: &'a Ownership,
    /// The rows of each worker.
    pub(super) layouts: &'a [Layout],
    /// `None` where shares are too short for others to help with.
    pub(super) chunks: Option<Chunking>,
}

/// What one worker may sweep of a share.
///
/// # Invariant (shares)
/// A share is the rows that the placement gives to one worker. Cut into chunks, it is swept by
/// those who claim them: each chunk once ('claims' on `Claims`). Without chunks it is swept as a
/// whole, by who runs the worker's index.
pub(super) struct ShareClaim<'a> {
    shares: CallShares<'a>,
    owner: usize,
    /// Who sweeps.
    worker: usize,
    kind: Kind,
    swept: Swept,
}

/// Which rows of a share are claimed.
enum Kind {
    /// All of them.
    All,
    /// As many chunks from the front as no other worker takes; how many rows are claimed by now.
    Front { chunks: Chunking, claimed: u64 },
    /// The rows of a chunk that was stolen, at `began`; how many others of the share were taken
    /// before.
    Stolen { rows: Range<u64>, taken: u32, began: u64 },
}

impl<'a> CallShares<'a> {
    /// The own share of `worker`.
    #[inline]
    pub(super) fn own(self, worker: usize) -> ShareClaim<'a> {
        let kind = self.chunks.map_or(Kind::All, |chunks| Kind::Front { chunks, claimed: 0 });
        ShareClaim { shares: self, owner: worker, worker, kind, swept: Swept::begin() }
    }

    /// A chunk of the share of `owner`, `rows` of it, that `thief` took after `taken` others.
    pub(super) fn stolen(self, owner: usize, thief: usize, rows: Range<u64>, taken: u32) -> ShareClaim<'a> {
        let kind = Kind::Stolen { rows, taken, began: now() };
        ShareClaim { shares: self, owner, worker: thief, kind, swept: Swept::begin() }
    }

    /// How many chunks the share of `owner` has.
    pub(super) fn chunks_of(&self, owner: usize, chunks: Chunking) -> u32 {
        self.layouts[owner].rows().div_ceil(chunks.rows.into()) as u32
    }
}

impl<'a> ShareClaim<'a> {
    /// For a chunk that its owner lost: how many others of the share were taken before.
    fn stolen(&self) -> Option<u32> {
        if let Kind::Stolen { taken, .. } = self.kind { Some(taken) } else { None }
    }

    fn division(&self) -> Division<'a> {
        Division::Placed(&self.shares.ownership.placement)
    }

    /// The way through what is claimed.
    #[inline]
    fn cursor(&self) -> RowCursor<'a> {
        RowCursor::along(&self.shares.layouts[self.owner])
    }

    /// How many rows from the next one on may be swept; 0 at the end of what is claimed. Claims
    /// more where it can.
    #[inline]
    fn room(&mut self, cursor: &mut RowCursor<'_>) -> u64 {
        match &mut self.kind {
            Kind::All => u64::MAX,
            Kind::Front { claimed, .. } if cursor.position() < *claimed => *claimed - cursor.position(),
            Kind::Front { chunks, claimed } => {
                let front = self.shares.ownership.board.claims_of(self.owner).take_front(chunks.tag);
                // The owner need not count its rows as long as no other worker took any: it sees
                // their end.
                let gone = front.taken > 0 && front.chunk + front.taken >= self.shares.chunks_of(self.owner, *chunks);
                let rows = if gone { 0 } else { u64::from(chunks.rows) };
                *claimed += rows;
                rows
            }
            Kind::Stolen { rows, .. } => {
                cursor.skip_to(rows.start);
                rows.end.saturating_sub(cursor.position())
            }
        }
    }

    /// The time, while the placement learns what the rows of `storage` cost.
    #[inline]
    fn clock_if_learning(&self, storage: Storage) -> Option<u64> {
        // Some rows of a storage, or whole storages, teach nothing of cuts.
        let layout = &self.shares.layouts[self.owner];
        let runs = layout.has_parts().then(|| self.shares.ownership.placement.get(storage)).flatten();
        runs.and_then(Runs::histogram).map(|_| now())
    }

    /// Counts rows that were swept, since `began` if they were timed.
    #[inline]
    fn count(&mut self, storage: Storage, rows: Range<u32>, began: Option<u64>) {
        let runs = self.shares.ownership.placement.get(storage);
        if let (Some(began), Some(histogram)) = (began, runs.and_then(Runs::histogram)) {
            histogram.add(rows.clone(), now() - began);
        }
        let count = u64::from(rows.end - rows.start);
        self.swept.all += count;
        if let (Some(core), Some(runs), Kind::All | Kind::Front { .. }) = (self.swept.core, runs, &self.kind) {
            // Asked once for all chunks of a run: asking notes the core, so the second chunk would
            // always be at home.
            let stayed = match self.swept.last {
                Some((last, stayed)) if last == storage => stayed,
                _ => runs.sweep_on(self.owner, core),
            };
            self.swept.last = Some((storage, stayed));
            self.swept.same_core += if stayed { count } else { 0 };
        }
    }

    /// Reports what was swept to the pool and the board.
    fn report(self) {
        let Self { shares, owner, worker, kind, swept } = self;
        let rows = &shares.context.pool.swept[worker];
        // Stolen rows were swept elsewhere the last time and, most likely, are the next.
        rows.add(swept.all, swept.core.map(|_| swept.same_core));
        match kind {
            Kind::Stolen { began, .. } => {
                shares.ownership.board.note_theft(owner, worker, now() - began);
                rows.note_stolen(swept.all);
            }
            Kind::All | Kind::Front { .. } => {}
        }
    }
}

/// What is counted of the rows that were swept.
struct Swept {
    core: Option<CoreId>,
    all: u64,
    same_core: u64,
    /// The storage it is in, and whether the core is the one that swept its run last time.
    last: Option<(Storage, bool)>,
}

impl Swept {
    #[inline]
    fn begin() -> Self {
        Self { core: running_on(), all: 0, same_core: 0, last: None }
    }
}

/// Goes through the rows of one part, storage by storage, in steps that the caller limits.
struct RowCursor<'a> {
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
    Layout(&'a Layout),
    /// A part of so many even ones.
    Even(Rows<'a, 'a>, usize, usize),
    /// The rows of a selection before this position.
    Selected(&'a Selection, u64),
}

impl<'a> RowCursor<'a> {
    fn along(layout: &'a Layout) -> Self {
        Self::new(Source::Layout(layout))
    }

    /// Through one of `parts` even parts of all rows.
    fn through(rows: Rows<'a, 'a>, part: usize, parts: usize) -> Self {
        match rows.selection {
            Some(selection) => Self::selected(selection, even_positions(selection.rows(), part, parts)),
            None => Self::new(Source::Even(rows, part, parts)),
        }
    }

    fn selected(selection: &'a Selection, positions: Range<u64>) -> Self {
        let mut cursor = Self::new(Source::Selected(selection, positions.end));
        (cursor.next, cursor.position) = (segment_at(selection.segments(), positions.start), positions.start);
        cursor
    }

    fn new(source: Source<'a>) -> Self {
        Self { source, at: (0, Storage::Table(0)), rest: 0..0, next: 0, position: 0 }
    }

    /// How many rows of the part lie behind.
    #[inline]
    fn position(&self) -> u64 {
        self.position
    }

    /// The next rows, at most `most` (which is not 0), that lie in one storage, and its place in
    /// the order of storages.
    #[inline]
    fn next(&mut self, most: u64) -> Option<(u32, Storage, Range<u32>)> {
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

    /// Goes on from `position` of a layout.
    fn skip_to(&mut self, position: u64) {
        if let Source::Layout(layout) = self.source
            && self.position < position
        {
            self.next = segment_at(layout.segments(), position);
            self.rest = 0..0;
            if let Some(segment) = layout.segments().get(self.next) {
                self.at = (segment.ordinal, segment.storage);
                self.rest = segment.rows_in(&(position..segment.end()));
                self.next += 1;
            }
            self.position = position;
        }
    }

    #[inline]
    fn next_storage(&mut self) -> Option<()> {
        match &self.source {
            Source::Layout(layout) => {
                let segment = layout.segments().get(self.next)?;
                (self.at, self.rest) = ((segment.ordinal, segment.storage), segment.rows.clone());
            }
            Source::Selected(selection, end) => {
                let segment = selection.segments().get(self.next).filter(|segment| segment.first < *end)?;
                self.at = (segment.ordinal, segment.storage);
                self.rest = segment.rows_in(&(self.position..*end));
            }
            Source::Even(rows, part, parts) => {
                let storage = *rows.matched.storages.get(self.next)?;
                (self.at, self.rest) = ((self.next as u32, storage), even_rows(rows.count(storage), *part, *parts));
            }
        }
        self.next += 1;
        Some(())
    }
}
