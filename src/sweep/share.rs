//! What a worker may sweep in lock step: its own rows, or a chunk of another one's.

use std::ops::Range;

use super::{cursor::RowCursor, division::Division, layout::Layout};
use crate::{
    ablation::Mechanism,
    claims::{Back, CallNumber, ClaimBoard, MAX_CHUNKS},
    context::{Context, Ownership},
    placement::{Histogram, Storage},
    pool::{now, running_on},
    topology::CoreId,
};

/// How the shares of one call are cut into chunks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunking {
    /// Rows of a chunk.
    pub(super) rows: u32,
    /// The most chunks of a share that others may take.
    most_stolen: u32,
    call: CallNumber,
}

impl Chunking {
    /// Chunks of `rows` rows each, none of which is claimed yet, in a call of `all` rows.
    pub(super) fn new(claims: &mut ClaimBoard, rows: u32, all: u64, most_stolen: u32) -> Self {
        assert!(all.div_ceil(rows.into()) <= u64::from(2 * MAX_CHUNKS), "{all} rows are too many chunks of {rows}");
        Self { rows, most_stolen, call: claims.begin() }
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
    /// Whether the time of rows tells where shares are to be cut.
    pub(super) learns_cuts: bool,
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
    claimed: Claimed,
    swept: Swept,
}

/// Which rows of a share are claimed.
enum Claimed {
    /// All of them.
    All,
    /// Chunks from the front, one at a time, until others have the rest. `until` is the row behind
    /// the last one.
    Front { chunks: Chunking, until: u64 },
    /// The rows of a chunk that was stolen, at `began`; how many others of the share were taken
    /// before.
    Stolen { rows: Range<u64>, taken: u32, began: u64 },
}

impl<'a> CallShares<'a> {
    /// The own share of `worker`.
    #[inline]
    pub(super) fn own(self, worker: usize) -> ShareClaim<'a> {
        let claimed = self.chunks.map_or(Claimed::All, |chunks| Claimed::Front { chunks, until: 0 });
        ShareClaim { shares: self, owner: worker, worker, claimed, swept: Swept::begin() }
    }

    /// A chunk of `chunks` that `thief` took of the share of `owner`.
    fn stolen(self, chunks: Chunking, owner: usize, thief: usize, back: Back) -> ShareClaim<'a> {
        let rows = u64::from(chunks.rows);
        let first = u64::from(back.chunk) * rows;
        let claimed = Claimed::Stolen { rows: first..first + rows, taken: back.taken, began: now() };
        ShareClaim { shares: self, owner, worker: thief, claimed, swept: Swept::begin() }
    }

    /// How many chunks the share of `owner` has.
    fn chunks_of(&self, owner: usize, chunks: Chunking) -> u32 {
        self.layouts[owner].rows().div_ceil(chunks.rows.into()) as u32
    }
}

impl<'a> ShareClaim<'a> {
    /// Whose share it is.
    pub(super) fn owner(&self) -> usize {
        self.owner
    }

    /// For a chunk that its owner lost: how many others of the share were taken before.
    pub(super) fn taken_before(&self) -> Option<u32> {
        if let Claimed::Stolen { taken, .. } = self.claimed { Some(taken) } else { None }
    }

    pub(super) fn division(&self) -> Division<'a> {
        Division::Placed(&self.shares.ownership.placement)
    }

    /// The way through what is claimed.
    #[inline]
    pub(super) fn cursor(&self) -> RowCursor<'a> {
        RowCursor::along(&self.shares.layouts[self.owner])
    }

    /// How many rows from the next one on may be swept; 0 at the end of what is claimed. Claims
    /// more where it can.
    #[inline]
    pub(super) fn claim_room(&mut self, cursor: &mut RowCursor<'_>) -> u64 {
        match &mut self.claimed {
            Claimed::All => u64::MAX,
            Claimed::Front { until, .. } if cursor.position() < *until => *until - cursor.position(),
            Claimed::Front { chunks, until } => {
                let front = self.shares.ownership.claims.claims_of(self.owner).take_front(chunks.call);
                let is_free = front.is_free(|| self.shares.chunks_of(self.owner, *chunks));
                let rows = if is_free { u64::from(chunks.rows) } else { 0 };
                *until += rows;
                rows
            }
            Claimed::Stolen { rows, .. } => {
                cursor.skip_to(rows.start);
                rows.end.saturating_sub(cursor.position())
            }
        }
    }

    /// To be called before rows of `storage` are swept: begins to time them, if the placement
    /// learns from this call where their time goes.
    #[inline]
    pub(super) fn time(&self, storage: Storage) -> Option<Timed<'a>> {
        let shares = self.shares;
        // Without chunks only whole shares are timed, as in the round of receivers.
        shares.chunks.filter(|_| shares.learns_cuts)?;
        // A call that visits only some rows of a storage teaches nothing of cuts, nor does a share
        // of whole storages.
        shares.layouts[self.owner].has_parts().then_some(())?;
        let histogram = shares.ownership.placement.get(storage)?.histogram()?;
        Some(Timed { histogram, began: now() })
    }

    /// Counts rows that were swept.
    #[inline]
    pub(super) fn count(&mut self, storage: Storage, rows: Range<u32>, timed: Option<Timed<'_>>) {
        let count = u64::from(rows.end - rows.start);
        if let Some(Timed { histogram, began }) = timed {
            histogram.add(rows, now().saturating_sub(began));
        }
        self.swept.all += count;
        self.swept.same_core += if self.has_stayed(storage) { count } else { 0 };
    }

    /// Whether the rows of `storage` in this share were swept on this core the last time, too. A
    /// run is asked once for all its chunks: asking notes the core, so the second chunk would
    /// always be at home.
    #[inline]
    fn has_stayed(&mut self, storage: Storage) -> bool {
        if let Claimed::Stolen { .. } = self.claimed {
            return false;
        }
        let Some(core) = self.swept.core else { return false };
        if let Some((_, stayed)) = self.swept.last.filter(|&(last, _)| last == storage) {
            return stayed;
        }
        let runs = self.shares.ownership.placement.get(storage);
        let stayed = runs.is_some_and(|runs| runs.sweep_on(self.owner, core));
        self.swept.last = Some((storage, stayed));
        stayed
    }

    /// Reports what was swept to the pool and the board.
    pub(super) fn report(self) {
        let Self { shares, owner, worker, claimed, swept } = self;
        let rows = &shares.context.pool.swept[worker];
        // Stolen rows were swept elsewhere the last time and, most likely, are the next.
        rows.add(swept.all, swept.core.map(|_| swept.same_core));
        if let Claimed::Stolen { began, .. } = claimed {
            shares.ownership.claims.note_theft(owner, worker, now().saturating_sub(began));
            rows.note_stolen(swept.all);
        }
    }
}

/// Rows that are being swept, and where their time is noted.
pub(super) struct Timed<'a> {
    histogram: &'a Histogram,
    began: u64,
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

/// A chunk for `thief`, of the worker that has most left.
#[cold]
pub(super) fn steal(shares: CallShares<'_>, thief: usize) -> Option<ShareClaim<'_>> {
    let chunks = shares.chunks.filter(|_| !Mechanism::Stealing.is_out())?;
    let pool = &shares.context.pool;
    // The leader sweeps the whole share of a worker that is left out, from the front, when it runs
    // that index.
    let is_the_leaders = |owner| thief == 0 && pool.is_left_out(owner);
    let owners = (0..pool.workers()).filter(|&owner| owner != thief && !is_the_leaders(owner));
    let chunks_of = |owner| shares.chunks_of(owner, chunks);
    let (owner, back) = shares.ownership.claims.steal(chunks.call, owners, chunks_of, chunks.most_stolen)?;
    Some(shares.stolen(chunks, owner, thief, back))
}
