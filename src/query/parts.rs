//! Dividing a sweep into parts and running them: on the gang, on Bevy's compute threads, or here.

use std::ops::Range;

use bevy_tasks::ComputeTaskPool;

use super::{
    fork_range::{ForkRange, on_heartbeat},
    line::Line,
    plan::{Plan, Route},
    recorded::SweepSpan,
    shares::{Chunks, Claim, Shares, learn_costs, participants},
    sweep::Rows,
    walk::Walk,
};
use crate::{
    context::{BevysBatch, Context},
    placement::{Placement, Storage},
    pool::{Finished, now},
};

/// Who owns which rows in one call.
#[derive(Clone, Copy)]
pub(super) enum Division<'a> {
    /// As the placement says.
    Placed(&'a Placement),
    /// Each storage in this many even runs.
    Even { parts: usize },
}

impl Division<'_> {
    /// The rows of `part`; runs of different parts are disjoint, and together they are all `rows`
    /// rows.
    #[inline]
    pub(super) fn range(&self, storage: Storage, rows: impl FnOnce() -> u32, part: usize) -> Range<u32> {
        match self {
            Self::Placed(placement) => placement.get(storage).map_or(0..0, |runs| runs.range_of(part)),
            Self::Even { parts } => {
                let rows = u64::from(rows());
                let cut = |part: usize| (rows * part as u64).div_ceil(*parts as u64) as u32;
                cut(part)..cut(part + 1)
            }
        }
    }

    /// The part whose range has `row`.
    #[inline]
    pub(super) fn owner(&self, storage: Storage, rows: impl FnOnce() -> u32, row: u32) -> usize {
        match self {
            Self::Placed(placement) => placement.get(storage).map_or(0, |runs| runs.owner_of(row)),
            Self::Even { parts: 1 } => 0,
            Self::Even { parts } => (u64::from(row) * *parts as u64 / u64::from(rows())) as usize,
        }
    }
}

/// What is done with each part of a sweep.
pub(super) type Body<'a> = dyn Fn(Part<'_, '_>) + Sync + 'a;

/// One part of a divided sweep.
///
/// # Invariant (parts)
/// The ranges that the parts of one sweep visit are disjoint, and together they are all rows: a
/// division has disjoint runs, of which [`on_compute_threads`] makes a part each; [`Claim`] and
/// [`ForkRange`] say the same of shares and ranges.
pub(super) struct Part<'a, 's> {
    /// Whose rows these are. Ascends with the rows of each storage.
    pub(super) index: usize,
    /// For a chunk that its owner lost: how many others of the share were taken before, which
    /// ascends against the rows.
    pub(super) stolen: Option<u32>,
    /// Who owns which rows. Those of this part, unless it is a [`ForkRange`].
    pub(super) division: Division<'a>,
    rows: PartRows<'a, 's>,
}

/// Which rows a [`Part`] has.
enum PartRows<'a, 's> {
    /// What the division gives to it.
    Divided,
    /// What is claimed of that in a round.
    Claimed(Claim<'a>),
    /// What other workers leave to it.
    ForkRange(ForkRange<'a, 's>),
}

impl<'a, 's> Part<'a, 's> {
    /// All rows in one part.
    pub(super) fn whole() -> Self {
        Self::divided(0, Division::Even { parts: 1 })
    }

    fn divided(index: usize, division: Division<'a>) -> Self {
        Self { index, stolen: None, division, rows: PartRows::Divided }
    }

    pub(super) fn owned(index: usize, stolen: Option<u32>, division: Division<'a>, claim: Claim<'a>) -> Self {
        Self { index, stolen, division, rows: PartRows::Claimed(claim) }
    }

    pub(super) fn fork_range(index: usize, division: Division<'a>, fork_range: ForkRange<'a, 's>) -> Self {
        Self { index, stolen: None, division, rows: PartRows::ForkRange(fork_range) }
    }

    /// Calls `visit` for each non-empty range of rows that belongs to this part, in ascending order
    /// of storages and rows, with the storage's place in that order.
    #[inline]
    pub(super) fn for_each_range(self, rows: &Rows<'_, '_>, mut visit: impl FnMut(u32, Storage, Range<u32>)) {
        let mut claim = match self.rows {
            PartRows::ForkRange(fork_range) => return fork_range.for_each_range(&mut visit),
            PartRows::Claimed(claim) => Some(claim),
            PartRows::Divided => None,
        };
        let mut walk = match &claim {
            Some(claim) => claim.walk(),
            None => Walk::through(*rows, self.division, self.index),
        };
        // One place that visits, so that it is inlined: only then its loop is vectorised.
        loop {
            let room = claim.as_mut().map_or(u64::MAX, |claim| claim.room(&mut walk));
            if room == 0 {
                break;
            }
            let Some((ordinal, storage, range)) = walk.next(room) else { break };
            let began = claim.as_ref().and_then(|claim| claim.begin(storage));
            visit(ordinal, storage, range.clone());
            if let Some(claim) = &mut claim {
                claim.end(storage, range, began);
            }
        }
        if let Some(claim) = claim {
            claim.finish();
        }
    }
}

/// Runs `body` once for each part of a sweep, as planned, and learns what that takes.
pub(super) fn for_each_part(plan: &Plan<'_>, rows: &Rows<'_, '_>, body: impl Fn(Part<'_, '_>) + Sync) {
    match &plan.route {
        Route::Here => learn_here(rows, plan, || body(Part::whole())),
        Route::Bevy => {
            let _span = SweepSpan::begin(rows);
            on_compute_threads(compute_threads(), &body);
        }
        Route::Gang(context) => in_lock_step(context, plan, rows, body),
        Route::Heartbeat(context) => {
            let timing = plan.begin();
            let (mut layouts, piece) = (plan.layouts(), plan.cost().piece(context.chunk_rows()));
            let line = layouts[0].whole(rows);
            let (led, round) = on_heartbeat(context, &mut context.placement(), line, piece, &body);
            plan.cost().observe_session(led, round.led());
            plan.end(timing, &round, line.rows());
        }
    }
}

fn in_lock_step(context: &Context, plan: &Plan<'_>, rows: &Rows<'_, '_>, body: impl Fn(Part<'_, '_>) + Sync) {
    let (timing, cost, workers) = (plan.begin(), plan.cost(), context.pool.workers());
    let (mut placement, mut layouts) = (context.placement(), plan.layouts());
    let layout = &mut layouts[0];
    let grain = cost.grain(layout.about(rows), workers).max(layout.needless_cut(rows, workers));
    let lines = layout.by_owner(rows, &mut placement, grain);
    let total = lines.iter().map(Line::rows).sum();
    let chunks = cost.chunk_rows(total, workers).map(|rows| Chunks::new(&mut placement, rows));
    let (led, round) = on_gang(context, &placement, lines, chunks, body);
    cost.observe(led, round.led());
    if chunks.is_some() {
        learn_costs(&round, &mut placement, lines);
    }
    drop(placement);
    plan.end(timing, &round, total);
}

/// One round of those of the gang who have something to do; returns how many rows the leader swept,
/// and what was measured. What `body` holds by value the workers find where they find `body`: each
/// reference more is a cache miss more.
pub(super) fn on_gang<'c>(
    context: &'c Context,
    placement: &Placement,
    lines: &[Line],
    chunks: Option<Chunks>,
    body: impl Fn(Part<'_, '_>) + Sync,
) -> (u64, Finished<'c>) {
    let led = || context.affinity[0].read().0;
    let before = led();
    let shares = Shares::new(context, placement, lines, chunks);
    let round = context.pool.run_some(participants(lines, chunks), move |worker| shares.sweep(worker.index(), &body));
    (led() - before, round)
}

/// Runs `body` on this thread and times it now and then, so that a later call may go parallel.
#[inline]
pub(super) fn learn_here(rows: &Rows<'_, '_>, plan: &Plan<'_>, body: impl FnOnce()) {
    let _span = SweepSpan::begin(rows);
    if !plan.is_timed_here() {
        return body();
    }
    let began = now();
    body();
    let ended = now();
    plan.observe_here(rows.total(), began..ended);
}

/// One task for each of `parts`, as many as there are [`compute_threads`]. That is asked once in a
/// call: another thread may start Bevy's pool meanwhile, and rows that are cut into more parts than
/// are run would be left out.
pub(super) fn on_compute_threads(parts: usize, body: &(impl Fn(Part<'_, '_>) + Sync)) {
    let visit = |index| {
        let _batch = BevysBatch::open();
        body(Part::divided(index, Division::Even { parts }));
    };
    match ComputeTaskPool::try_get() {
        Some(pool) if parts > 1 => {
            pool.scope(|scope| (0..parts).for_each(|index| scope.spawn(async move { visit(index) })));
        }
        _ => visit(0),
    }
}

/// How many threads Bevy's compute pool has; 1 as long as there is none.
pub(super) fn compute_threads() -> usize {
    ComputeTaskPool::try_get().map_or(1, |pool| pool.thread_num().max(1))
}
