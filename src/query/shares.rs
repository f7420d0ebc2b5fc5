//! Sweeps in lock step: each worker has its own rows, chunk by chunk, and who is done takes chunks
//! from the far end of the slowest worker's.

use std::ops::Range;

use super::{
    line::Line,
    parts::{Division, Part},
    walk::Walk,
};
use crate::{
    context::Context,
    placement::{Placement, Runs, Storage},
    pool::{Finished, Participants, Tag, now, running_on},
    topology::CoreId,
};

/// A theft begins only where at least so many chunks are left, and at least one part in so many of
/// the share: less than that is the ordinary difference between two cores, and rows that stay are
/// worth more.
const FEWEST_LEFT: u32 = 2;
const LEAST_PART_LEFT: u32 = 10;

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
    /// The rows of each worker.
    lines: &'a [Line],
    /// `None` where shares are too short for anybody to help with.
    chunks: Option<Chunks>,
}

/// What one worker may sweep of a share.
///
/// # Invariant (shares)
/// A share is the rows that the placement gives to one worker. Cut into chunks, it is swept by
/// whoever claims them: each chunk once ('claims' on `Claims`). Without chunks it is swept as a
/// whole, by who runs the worker's index.
pub(super) struct Claim<'a> {
    shares: Shares<'a>,
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
    Front { chunks: Chunks, claimed: u64 },
    /// The rows of a chunk that was stolen.
    Stolen(Range<u64>),
}

impl<'a> Shares<'a> {
    pub(super) fn new(
        context: &'a Context,
        placement: &'a Placement,
        lines: &'a [Line],
        chunks: Option<Chunks>,
    ) -> Self {
        Self { context, placement, lines, chunks }
    }

    pub(super) fn division(&self) -> Division<'a> {
        Division::Placed(self.placement)
    }

    /// Runs `body` for the own rows of `worker`, then for chunks of others for as long as others
    /// have more left than they should.
    #[inline]
    pub(super) fn sweep(self, worker: usize, body: &impl Fn(Part<'_, '_>)) {
        let kind = self.chunks.map_or(Kind::All, |chunks| Kind::Front { chunks, claimed: 0 });
        let mut claims = Some((worker, None, kind));
        // One place that runs the body, so that it is inlined: only then its loop is vectorised.
        while let Some((owner, stolen, kind)) = claims.take().or_else(|| self.steal(worker)) {
            let began = stolen.map(|_| now());
            let claim = Claim { shares: self, owner, worker, kind, swept: Swept::begin() };
            body(Part::owned(owner, stolen, self.division(), claim));
            if let Some(began) = began {
                self.placement.claims.note_theft(owner, worker, now() - began);
            }
        }
    }

    /// A chunk of whoever has most left: its owner, how many others of the share were stolen
    /// before, and its rows.
    #[cold]
    fn steal(&self, thief: usize) -> Option<(usize, Option<u32>, Kind)> {
        let chunks = self.chunks?;
        loop {
            let (owner, count) = self.slowest(thief, chunks)?;
            let claims = self.placement.claims.share(owner);
            // Somebody else may have been faster.
            if let Some(taken) = claims.take_back(chunks.tag, count, fewest_left(count), chunks.most_stolen) {
                let first = u64::from(count - 1 - taken) * u64::from(chunks.rows);
                return Some((owner, Some(taken), Kind::Stolen(first..first + u64::from(chunks.rows))));
            }
        }
    }

    /// The owner who has most chunks left, and how many its share has; `None` if nobody has enough
    /// left to begin.
    fn slowest(&self, thief: usize, chunks: Chunks) -> Option<(usize, u32)> {
        let pool = &self.context.pool;
        // The leader sweeps the whole share of a worker that is left out, from the front, when it
        // runs that index.
        let is_the_leaders = |owner| thief == 0 && pool.is_left_out(owner);
        let owners = (0..pool.workers()).filter(|&owner| owner != thief && !is_the_leaders(owner));
        let with_left = owners.filter_map(|owner| {
            let count = self.chunks_of(owner, chunks);
            let left = self.placement.claims.share(owner).left(chunks.tag, count, chunks.most_stolen);
            (left >= fewest_left(count)).then_some((owner, count, left))
        });
        with_left.max_by_key(|&(_, _, left)| left).map(|(owner, count, _)| (owner, count))
    }

    fn chunks_of(&self, owner: usize, chunks: Chunks) -> u32 {
        self.lines[owner].rows().div_ceil(chunks.rows.into()) as u32
    }
}

/// Whom a sweep of `lines` calls, a line for each worker: who owns rows, and if there are enough
/// chunks for all, those who can only steal. Called they cost the leader a cache line each, or a
/// wake-up (5 us), and a chunk that one of them takes from a worker that lost its core is worth as
/// much. But of a few dear rows there is none to take.
pub(super) fn participants(lines: &[Line], chunks: Option<Chunks>) -> Participants {
    let rows: u64 = lines.iter().map(Line::rows).sum();
    let enough = u64::from(FEWEST_LEFT) * lines.len() as u64;
    if chunks.is_some_and(|chunks| rows / u64::from(chunks.rows) >= enough) {
        return Participants::ALL;
    }
    let mut participants = Participants::LEADER;
    let owners = (0..).zip(lines).filter(|(_, line)| line.rows() > 0);
    owners.for_each(|(owner, _)| participants.add(owner));
    participants
}

/// A share with this many chunks is only stolen from where this many are left.
fn fewest_left(chunks: u32) -> u32 {
    FEWEST_LEFT.max(chunks / LEAST_PART_LEFT)
}

impl<'a> Claim<'a> {
    /// The way through what is claimed.
    #[inline]
    pub(super) fn walk(&self) -> Walk<'a> {
        Walk::along(&self.shares.lines[self.owner])
    }

    /// How many rows from the next one on may be swept; 0 at the end of what is claimed. Claims
    /// more where it can.
    #[inline]
    pub(super) fn room(&mut self, walk: &mut Walk<'_>) -> u64 {
        match &mut self.kind {
            Kind::All => u64::MAX,
            Kind::Front { claimed, .. } if walk.position() < *claimed => *claimed - walk.position(),
            Kind::Front { chunks, claimed } => {
                let front = self.shares.placement.claims.share(self.owner).take_front(chunks.tag);
                // The owner need not count its rows as long as no other worker took any: it sees
                // their end.
                let gone = front.taken > 0 && front.chunk + front.taken >= self.shares.chunks_of(self.owner, *chunks);
                let rows = if gone { 0 } else { u64::from(chunks.rows) };
                *claimed += rows;
                rows
            }
            Kind::Stolen(rows) => {
                walk.skip_to(rows.start);
                rows.end.saturating_sub(walk.position())
            }
        }
    }

    /// When the rows of `storage` begin to be swept, if somebody wants to know.
    #[inline]
    pub(super) fn begin(&self, storage: Storage) -> Option<u64> {
        self.shares.placement.get(storage).and_then(Runs::histogram).map(|_| now())
    }

    /// Counts rows that were swept.
    #[inline]
    pub(super) fn end(&mut self, storage: Storage, rows: Range<u32>, began: Option<u64>) {
        let runs = self.shares.placement.get(storage);
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

    pub(super) fn finish(self) {
        let Self { shares, worker, kind, swept, .. } = self;
        match kind {
            Kind::Stolen(_) => shares.context.affinity[worker].add_stolen(swept.all),
            _ if swept.core.is_some() => shares.context.affinity[worker].add(swept.all, swept.same_core),
            _ => {}
        }
    }
}

/// Teaches `placement` what the rows of each worker took in a round over `lines`, unless somebody
/// missed it.
pub(super) fn learn_costs(round: &Finished<'_>, placement: &mut Placement, lines: &[Line]) {
    let busy = |worker| round.busy(worker);
    // Whole storages stay where they are, whatever they cost.
    let may_move = lines.iter().any(Line::has_parts);
    if may_move && (0..lines.len()).all(|worker| busy(worker).is_some()) {
        for (worker, line) in lines.iter().enumerate() {
            let cost = placement.cost_of_share(worker, busy(worker).unwrap_or(0));
            for section in line.sections() {
                // In 128 bits: a worker may have been stopped for hours.
                let share = u128::from(cost) * section.rows.len() as u128 / u128::from(line.rows());
                placement.observe(section.storage, worker, share as u64);
            }
        }
    }
    placement.claims.forget_thefts();
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
