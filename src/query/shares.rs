//! Sweeps in lock step: each worker has its own rows, chunk by chunk, and who is done takes chunks from the far end of the slowest worker's.

use std::ops::Range;

use super::{
    parts::{Division, Part},
    sweep::Rows,
};
use crate::{
    context::Context,
    placement::{Placement, Runs, Storage},
    pool::{Tag, now, running_on},
    topology::CoreId,
};

/// A theft begins only where at least so many chunks are left, and at least one part in so many of the share: less than that is the ordinary
/// difference between two cores, and rows that stay are worth more.
const FEWEST_LEFT: u32 = 2;
const LEAST_PART_LEFT: u32 = 16;

/// How the shares of one call are cut into chunks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunks {
    /// Rows of a chunk.
    pub(super) rows: u32,
    /// The most chunks of a share that others may take.
    pub(super) most_stolen: u32,
    pub(super) tag: Tag,
}

impl Chunks {
    /// Chunks of `rows` rows, none of which is claimed.
    pub(super) fn new(placement: &mut Placement, rows: u32) -> Self {
        Self { rows, most_stolen: u32::MAX, tag: placement.claims.begin() }
    }
}

/// One call's rows and who owns them.
#[derive(Clone, Copy)]
pub(super) struct Shares<'a> {
    context: &'a Context,
    placement: &'a Placement,
    rows: Rows<'a, 'a>,
    /// `None` where shares are too short for anybody to help with.
    chunks: Option<Chunks>,
}

/// Some of the rows of one worker's share.
///
/// # Invariant (shares)
/// A share is the rows that the placement gives to one worker. Cut into chunks, it is swept by whoever claims them: each chunk once ('claims' on
/// `Claims`). Without chunks it is swept as a whole, by who runs the worker's index.
pub(super) struct Share<'a> {
    shares: Shares<'a>,
    owner: usize,
    /// The chunk, by number; all that the owner can claim if there is none.
    chunk: Option<u32>,
    /// Who sweeps it.
    worker: usize,
}

impl<'a> Shares<'a> {
    pub(super) fn new(
        context: &'a Context,
        placement: &'a Placement,
        rows: Rows<'a, 'a>,
        chunks: Option<Chunks>,
    ) -> Self {
        Self { context, placement, rows, chunks }
    }

    pub(super) fn division(&self) -> Division<'a> {
        Division::Placed(self.placement)
    }

    /// Runs `body` for the own rows of `worker`, then for chunks of others for as long as others have more left than they should.
    #[inline]
    pub(super) fn sweep(self, worker: usize, body: &impl Fn(Part<'_, '_>)) {
        body(Part::share(worker, None, self.division(), Share { shares: self, owner: worker, chunk: None, worker }));
        if let Some(chunks) = self.chunks {
            self.steal(worker, chunks, body);
        }
    }

    #[cold]
    fn steal(self, thief: usize, chunks: Chunks, body: &impl Fn(Part<'_, '_>)) {
        while let Some((owner, count)) = self.slowest(thief, chunks) {
            let claims = self.placement.claims.share(owner);
            let mut fewest = FEWEST_LEFT.max(count / LEAST_PART_LEFT);
            while let Some(taken) = claims.take_back(chunks.tag, count, fewest, chunks.most_stolen) {
                let share = Share { shares: self, owner, chunk: Some(count - 1 - taken), worker: thief };
                let began = now();
                body(Part::share(owner, Some(taken), self.division(), share));
                self.placement.claims.note_theft(owner, thief, now() - began);
                // Once rows are on their way it is better to be done together than to leave some.
                fewest = 1;
            }
        }
    }

    /// The owner who has most chunks left, and how many its share has; `None` if nobody has enough left to begin.
    fn slowest(&self, thief: usize, chunks: Chunks) -> Option<(usize, u32)> {
        let owners = (0..self.context.pool.workers()).filter(|&owner| owner != thief);
        let with_left = owners.filter_map(|owner| {
            let count = self.chunks_of(owner, chunks);
            let left = self.placement.claims.share(owner).left(chunks.tag, count, chunks.most_stolen);
            (left >= FEWEST_LEFT.max(count / LEAST_PART_LEFT)).then_some((owner, count, left))
        });
        with_left.max_by_key(|&(_, _, left)| left).map(|(owner, count, _)| (owner, count))
    }

    /// The rows of `owner`, storage by storage.
    #[inline]
    fn ranges(&self, owner: usize) -> impl Iterator<Item = (u32, Storage, Range<u32>)> {
        let ranges = (0..).zip(self.rows.storages()).map(move |(ordinal, storage)| {
            (ordinal, storage, self.placement.get(storage).map_or(0..0, |runs| runs.range_of(owner)))
        });
        ranges.filter(|(_, _, rows)| !rows.is_empty())
    }

    fn chunks_of(&self, owner: usize, chunks: Chunks) -> u32 {
        let rows: u64 = self.ranges(owner).map(|(_, _, rows)| rows.len() as u64).sum();
        rows.div_ceil(chunks.rows.into()) as u32
    }
}

impl Share<'_> {
    /// Calls `visit` for the rows of this share that are its sweeper's, in order.
    #[inline]
    pub(super) fn for_each_range(self, mut visit: impl FnMut(u32, Storage, Range<u32>)) {
        match (self.shares.chunks, self.chunk) {
            (Some(chunks), Some(chunk)) => self.sweep_stolen(chunks, chunk, &mut visit),
            (Some(chunks), None) => self.sweep_claimed(chunks, &mut visit),
            (None, _) => self.sweep_all(visit),
        }
    }

    #[inline]
    fn sweep_all(self, mut visit: impl FnMut(u32, Storage, Range<u32>)) {
        let mut swept = Swept::begin();
        for (ordinal, storage, rows) in self.shares.ranges(self.owner) {
            let count = u64::from(rows.end - rows.start);
            visit(ordinal, storage, rows);
            swept.add(&self, storage, count);
        }
        swept.end(&self);
    }

    /// The chunks that the owner claims before others do.
    fn sweep_claimed(self, chunks: Chunks, visit: &mut impl FnMut(u32, Storage, Range<u32>)) {
        let mut swept = Swept::begin();
        let (mut position, mut claimed) = (0, 0);
        'rows: for (ordinal, storage, mut rows) in self.shares.ranges(self.owner) {
            let mut in_storage = 0;
            while !rows.is_empty() {
                if position == claimed {
                    if !self.claim(chunks) {
                        swept.add(&self, storage, in_storage);
                        break 'rows;
                    }
                    claimed += u64::from(chunks.rows);
                }
                let count = (claimed - position).min(rows.len() as u64);
                let end = rows.start + count as u32;
                self.visit(ordinal, storage, rows.start..end, visit);
                rows.start = end;
                position += count;
                in_storage += count;
            }
            swept.add(&self, storage, in_storage);
        }
        swept.end(&self);
    }

    /// Calls `visit`, and times it while the placement learns what rows of the storage cost.
    #[inline]
    fn visit(
        &self,
        ordinal: u32,
        storage: Storage,
        rows: Range<u32>,
        visit: &mut impl FnMut(u32, Storage, Range<u32>),
    ) {
        match self.shares.placement.get(storage).and_then(Runs::profile) {
            None => visit(ordinal, storage, rows),
            Some(profile) => {
                let began = now();
                visit(ordinal, storage, rows.clone());
                profile.add(rows, now() - began);
            }
        }
    }

    /// Whether the owner's next chunk is still there.
    #[inline]
    fn claim(&self, chunks: Chunks) -> bool {
        let front = self.shares.placement.claims.share(self.owner).take_front(chunks.tag);
        front.taken == 0 || front.chunk + front.taken < self.shares.chunks_of(self.owner, chunks)
    }

    fn sweep_stolen(self, chunks: Chunks, chunk: u32, visit: &mut impl FnMut(u32, Storage, Range<u32>)) {
        let first = u64::from(chunk) * u64::from(chunks.rows);
        let end = first + u64::from(chunks.rows);
        let (mut position, mut swept) = (0, 0);
        for (ordinal, storage, rows) in self.shares.ranges(self.owner) {
            let next = position + rows.len() as u64;
            let (from, to) = (first.max(position), end.min(next));
            if from < to {
                let row = |at: u64| rows.start + (at - position) as u32;
                self.visit(ordinal, storage, row(from)..row(to), visit);
                swept += to - from;
            }
            if next >= end {
                break;
            }
            position = next;
        }
        self.shares.context.affinity[self.worker].add_stolen(swept);
    }
}

/// Teaches `placement` what the rows of each worker took in the round over `rows` that just ended, unless somebody missed it.
pub(super) fn learn_costs(context: &Context, placement: &mut Placement, rows: &Rows<'_, '_>) {
    let busy = |worker| context.pool.last_busy(worker);
    if (0..context.pool.workers()).all(|worker| busy(worker).is_some()) {
        placement.observe(rows.storages(), |worker| busy(worker).unwrap_or(0));
    }
    placement.claims.forget_thefts();
}

/// What is counted of a worker's own rows.
struct Swept {
    core: Option<CoreId>,
    all: u64,
    same_core: u64,
}

impl Swept {
    #[inline]
    fn begin() -> Self {
        Self { core: running_on(), all: 0, same_core: 0 }
    }

    #[inline]
    fn add(&mut self, share: &Share<'_>, storage: Storage, rows: u64) {
        self.all += rows;
        if rows > 0
            && let Some(core) = self.core
            && share.shares.placement.get(storage).is_some_and(|runs| runs.sweep_on(share.owner, core))
        {
            self.same_core += rows;
        }
    }

    #[inline]
    fn end(self, share: &Share<'_>) {
        if self.core.is_some() {
            share.shares.context.affinity[share.owner].add(self.all, self.same_core);
        }
    }
}
