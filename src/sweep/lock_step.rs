//! Sweeps in lock step: a round in which each worker has its own rows, the same ones every time,
//! and who is done takes chunks from a worker that is late.

use std::ops::Range;

use super::{
    GangCall,
    part::{CallShares, Chunking, Part, ShareClaim},
    rows::{Layout, Progress, Rows, Selection},
};
use crate::{
    ablation::Mechanism,
    auto::Outcome,
    context::{Context, Ownership},
    placement::{Placement, Storage},
    pool::{Finished, Measured, Participants},
};

/// A theft begins only where at least this many chunks are left: less is the ordinary difference
/// between two cores, and rows that stay are worth more.
const FEWEST_LEFT: u32 = 2;

/// And only where at least one part in this many of the share is left, for the same reason.
const LEAST_PART_LEFT: u32 = 10;

/// Shares of this many runs are even enough.
const RUNS_OF_A_SHARE: usize = 8;

/// Runs `body` for each part of `rows`.
pub(super) fn sweep(call: &mut GangCall<'_>, rows: &Rows<'_, '_>, body: impl Fn(Part<'_>) + Sync) -> Outcome {
    let GangCall { context, ownership, memory, cost, measured } = call;
    let workers = context.pool.workers();
    let layouts = &mut memory.by_owner[0];
    let shortest = cost.shortest_run(layouts.about(rows), workers).max(layouts.needless_cut(rows, workers));
    let layouts = layouts.lay_out(rows, &mut ownership.placement, shortest);
    let chunks = cost.rows_of_chunk(rows_of(layouts), workers);
    let chunks = chunks.map(|rows| Chunking::new(&mut ownership.board, rows, u32::MAX));
    sweep_round(context, ownership, layouts, chunks, Teaches::of(chunks, *measured), body)
}

/// Runs `send` for each part of `senders`, of each of which others may take `most_stolen` chunks,
/// then `receive` for each part of `receivers`.
pub(super) fn sweep_both(
    call: &mut GangCall<'_>,
    (senders, send): (&Rows<'_, '_>, impl Fn(Part<'_>) + Sync),
    (receivers, receive): (&Rows<'_, '_>, impl Fn(Part<'_>) + Sync),
    most_stolen: u32,
) -> Outcome {
    let GangCall { context, ownership, memory, cost, measured } = call;
    let workers = context.pool.workers();
    let [sending, receiving] = &mut memory.by_owner;
    let needless = sending.needless_cut(senders, workers).min(receiving.needless_cut(receivers, workers));
    // The same for both: what is laid out for the senders is not cut anew for the receivers.
    let shortest = cost.shortest_run(sending.about(senders), workers).max(needless);
    let sending = sending.lay_out(senders, &mut ownership.placement, shortest);
    let receiving = receiving.lay_out(receivers, &mut ownership.placement, shortest);
    let chunks = cost.rows_of_chunk(rows_of(sending), workers);
    let chunks = chunks.map(|rows| Chunking::new(&mut ownership.board, rows, most_stolen));
    let teaches = Teaches::of(chunks, *measured);
    let sent = sweep_round(context, ownership, sending, chunks, teaches, send);
    let received = sweep_round(context, ownership, receiving, None, teaches, receive);
    sent.followed_by(received, workers)
}

/// What a round is to teach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Teaches {
    /// Nothing: each worker would read two clocks, and the leader a cache line of each.
    Nothing,
    /// What a row costs.
    Rows,
    /// And what the rows of each worker took.
    Shares,
}

impl Teaches {
    /// For a call whose shares are cut like this.
    fn of(chunks: Option<Chunking>, measured: bool) -> Self {
        match (chunks, measured) {
            (Some(_), _) => Self::Shares,
            (None, true) => Self::Rows,
            (None, false) => Self::Nothing,
        }
    }
}

/// One round of those of the gang who have something to do, over the rows of each worker. What
/// `body` holds by value the workers find where they find `body`: each reference more is a cache
/// miss more.
pub(super) fn sweep_round(
    context: &Context,
    ownership: &mut Ownership,
    layouts: &[Layout],
    chunks: Option<Chunking>,
    teaches: Teaches,
    body: impl Fn(Part<'_>) + Sync,
) -> Outcome {
    let before = rows_of_leader(context);
    // Of a round that panicked too.
    ownership.board.forget_thefts();
    let shares = CallShares { context, ownership, layouts, chunks };
    let measured = if teaches == Teaches::Nothing { Measured::Sampled } else { Measured::Always };
    let round = context.pool.run_some(participants(layouts, chunks), measured, move |worker| {
        let mut claim = Some(shares.own(worker.index()));
        // One place that runs the body, so that it is inlined: only then its loop is vectorised.
        while let Some(claim) = claim.take().or_else(|| steal(shares, worker.index())) {
            body(Part::claimed(claim));
        }
    });
    match teaches {
        Teaches::Nothing => return Outcome::unknown(rows_of(layouts)),
        Teaches::Rows => {}
        Teaches::Shares => learn_costs(&round, ownership, layouts),
    }
    let (rows, leader_rows) = (rows_of(layouts), rows_of_leader(context) - before);
    Outcome { rows, leader_rows, leader_ns: round.led(), busy: round.busy_of_all() }
}

/// How many rows the leader has swept so far. What it swept in one call tells, with the time that
/// took, what a row costs.
pub(super) fn rows_of_leader(context: &Context) -> u64 {
    context.pool.swept[0].all()
}

fn rows_of(layouts: &[Layout]) -> u64 {
    layouts.iter().map(Layout::rows).sum()
}

/// Whom a round over `layouts` calls: who owns rows, and if there are enough chunks for all, those
/// who can only steal. Called they cost the leader a cache line each, or a wake-up (5 us), and a
/// chunk that one of them takes from a worker that lost its core is worth as much. But of a few
/// dear rows there is none to take.
fn participants(layouts: &[Layout], chunks: Option<Chunking>) -> Participants {
    let all_own_rows = layouts.iter().all(|layout| layout.rows() > 0);
    let are_enough =
        |chunks: Chunking| rows_of(layouts) / u64::from(chunks.rows) >= u64::from(FEWEST_LEFT) * layouts.len() as u64;
    if all_own_rows || chunks.is_some_and(are_enough) {
        return Participants::ALL;
    }
    let mut participants = Participants::LEADER;
    let owners = (0..).zip(layouts).filter(|(_, layout)| layout.rows() > 0);
    owners.for_each(|(owner, _)| participants.add(owner));
    participants
}

/// Teaches the placement what the rows of each worker took in `round`, unless a worker missed it.
fn learn_costs(round: &Finished<'_>, ownership: &mut Ownership, layouts: &[Layout]) {
    let busy = |worker| round.busy(worker);
    // Whole storages stay where they are, whatever they cost.
    let may_move = layouts.iter().any(Layout::has_parts);
    if may_move && (0..layouts.len()).all(|worker| busy(worker).is_some()) {
        for (worker, layout) in layouts.iter().enumerate() {
            let cost = ownership.board.cost_of_share(worker, busy(worker).unwrap_or(0));
            for segment in layout.segments() {
                // In 128 bits: a worker may have been stopped for hours.
                let share = u128::from(cost) * segment.rows.len() as u128 / u128::from(layout.rows());
                ownership.placement.observe(segment.storage, worker, share as u64);
            }
        }
    }
}

/// A chunk of the worker that has most left, as long as that is more than it should be.
#[cold]
fn steal(shares: CallShares<'_>, thief: usize) -> Option<ShareClaim<'_>> {
    let chunks = shares.chunks.filter(|_| !Mechanism::Stealing.is_out())?;
    loop {
        let (owner, count) = most_left(shares, thief, chunks)?;
        let claims = shares.ownership.board.claims_of(owner);
        // Another thief may have been faster.
        if let Some(taken) = claims.take_back(chunks.tag, count, fewest_left(count), chunks.most_stolen) {
            let first = u64::from(count - 1 - taken) * u64::from(chunks.rows);
            return Some(shares.stolen(owner, thief, first..first + u64::from(chunks.rows), taken));
        }
    }
}

/// The owner who has most chunks left, and how many its share has; `None` if none has enough left
/// to begin.
fn most_left(shares: CallShares<'_>, thief: usize, chunks: Chunking) -> Option<(usize, u32)> {
    let pool = &shares.context.pool;
    // The leader sweeps the whole share of a worker that is left out, from the front, when it runs
    // that index.
    let is_the_leaders = |owner| thief == 0 && pool.is_left_out(owner);
    let owners = (0..pool.workers()).filter(|&owner| owner != thief && !is_the_leaders(owner));
    let with_left = owners.filter_map(|owner| {
        let count = shares.chunks_of(owner, chunks);
        let left = shares.ownership.board.claims_of(owner).left(chunks.tag, count, chunks.most_stolen);
        (left >= fewest_left(count)).then_some((owner, count, left))
    });
    with_left.max_by_key(|&(_, _, left)| left).map(|(owner, count, _)| (owner, count))
}

/// A share with this many chunks is only stolen from where this many are left.
fn fewest_left(chunks: u32) -> u32 {
    FEWEST_LEFT.max(chunks / LEAST_PART_LEFT)
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
        self.all = self.progress.iter().map(Progress::rows).sum();
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
    fn about(&self, rows: &Rows<'_, '_>) -> u64 {
        if rows.selection.is_some() {
            return rows.all();
        }
        if self.all > 0 { self.all } else { rows.total() }
    }

    /// A storage of fewer rows need not be cut for workers to have equal shares: there are others.
    pub(super) fn needless_cut(&self, rows: &Rows<'_, '_>, workers: usize) -> u32 {
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
mod tests {
    use bevy_ecs::prelude::{Component, World};

    use super::*;
    use crate::sweep::Matched;

    #[derive(Component)]
    struct Row;

    #[test]
    fn a_sweep_of_all_rows_is_cut_as_such_after_one_of_a_few() {
        let mut world = World::new();
        world.spawn_batch((0..1_000).map(|_| Row));
        let query = world.query::<&Row>();
        let mut matched = Matched::new(true);
        matched.update(&query, world.archetypes());
        let all = Rows::new(world.as_unsafe_world_cell_readonly(), &matched);
        let mut selection = Selection::default();
        selection.push(0, matched.storages[0], 7);
        let few = Rows { selection: Some(&selection), ..all };
        let (mut layouts, mut placement) = (Layouts::default(), Placement::new(2));
        for rows in [few, all, few] {
            layouts.lay_out(&rows, &mut placement, 1);
            assert_eq!(layouts.about(&all), 1_000);
        }
    }
}
