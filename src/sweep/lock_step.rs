//! Sweeps in lock step: a round in which each worker has its own rows, the same ones every time,
//! and who is done takes chunks from a worker that is late.

use super::{
    gang_call::{GangCall, LeaderBefore, Memory, Teaches, Visits},
    layout::Layout,
    part::Part,
    rows::Rows,
    share::{CallShares, Chunking, steal},
};
use crate::{
    ablation::Mechanism,
    auto::{Outcome, in_proportion},
    claims::FEWEST_LEFT,
    context::{Context, Ownership},
    pool::{Finished, Measured, Participants},
};

/// Runs `body` for each part of `rows`.
#[inline]
pub(super) fn sweep(call: &mut GangCall<'_>, rows: &Rows<'_, '_>, body: impl Fn(Part<'_>) + Sync) -> Outcome {
    laid_out(call, rows).run(body)
}

/// Runs `send` for each part of `senders`, of each of which others may take `most_stolen` chunks,
/// then `receive` for each part of `receivers`.
#[inline]
pub(super) fn sweep_both(
    call: &mut GangCall<'_>,
    (senders, send): (&Rows<'_, '_>, impl Fn(Part<'_>) + Sync),
    (receivers, receive): (&Rows<'_, '_>, impl Fn(Part<'_>) + Sync),
    most_stolen: u32,
) -> Outcome {
    let (mut sending, receiving) = both_laid_out(call, senders, receivers, most_stolen);
    let sent = sending.run(send);
    let received = sending.with(receiving).run(receive);
    sent.followed_by(received, sending.context.pool.workers())
}

/// The round of a call that visits `rows`.
fn laid_out<'a>(call: &'a mut GangCall<'_>, rows: &Rows<'_, '_>) -> ShareRound<'a> {
    let GangCall { context, ownership, memory, cost, teaches, visits, .. } = call;
    let workers = context.pool.workers();
    let layouts = &mut memory.rows;
    let shortest = cost.shortest_run(layouts.about(rows), workers).max(layouts.fewest_to_cut(rows, workers));
    let layouts = layouts.lay_out(rows, &mut ownership.placement, shortest);
    let all = rows_of(layouts);
    let rows_of_chunk = cost.rows_of_chunk(all, workers);
    let chunks = rows_of_chunk.map(|rows| Chunking::new(&mut ownership.claims, rows, all, u32::MAX));
    let learns_shares = chunks.is_some() && *visits == Visits::Own;
    let teaches = if learns_shares { Teaches::Shares } else { *teaches };
    ShareRound { context, ownership, layouts, chunks, teaches }
}

/// The round of the senders of a call, and the layouts of its receivers.
fn both_laid_out<'a>(
    call: &'a mut GangCall<'_>,
    senders: &Rows<'_, '_>,
    receivers: &Rows<'_, '_>,
    most_stolen: u32,
) -> (ShareRound<'a>, &'a [Layout]) {
    let GangCall { context, ownership, memory, cost, teaches, .. } = call;
    let workers = context.pool.workers();
    let Memory { rows: sending, receivers: receiving, .. } = &mut **memory;
    let fewest = sending.fewest_to_cut(senders, workers).min(receiving.fewest_to_cut(receivers, workers));
    // The same for both: what is laid out for the senders is not cut anew for the receivers.
    let shortest = cost.shortest_run(sending.about(senders), workers).max(fewest);
    let sending = sending.lay_out(senders, &mut ownership.placement, shortest);
    let receiving = receiving.lay_out(receivers, &mut ownership.placement, shortest);
    let all = rows_of(sending);
    let rows_of_chunk = cost.rows_of_chunk(all, workers);
    let chunks = rows_of_chunk.map(|rows| Chunking::new(&mut ownership.claims, rows, all, most_stolen));
    let teaches = if chunks.is_some() { Teaches::Shares } else { *teaches };
    (ShareRound { context, ownership, layouts: sending, chunks, teaches }, receiving)
}

/// One round of those of the gang who have something to do, over the rows of each worker.
pub(super) struct ShareRound<'a> {
    pub(super) context: &'a Context,
    pub(super) ownership: &'a mut Ownership,
    pub(super) layouts: &'a [Layout],
    pub(super) chunks: Option<Chunking>,
    pub(super) teaches: Teaches,
}

impl<'a> ShareRound<'a> {
    /// What `body` holds by value the workers find where they find `body`: each reference more is a
    /// cache miss more.
    #[inline]
    pub(super) fn run(&mut self, body: impl Fn(Part<'_>) + Sync) -> Outcome {
        let (before, participants, measured) = self.begin();
        let (pool, shares) = (&self.context.pool, self.shares());
        let round = pool.run_some(participants, measured, move |worker| {
            let mut own = Some(shares.own(worker.index()));
            // One place that runs the body, so that it is inlined: only then its loop is
            // vectorised.
            while let Some(claim) = own.take().or_else(|| steal(shares, worker.index())) {
                body(Part::claimed(claim));
            }
        });
        self.end(before, &round)
    }

    /// The round that follows this one, over other rows: nothing of it is stolen.
    fn with(&mut self, layouts: &'a [Layout]) -> ShareRound<'_> {
        ShareRound { ownership: self.ownership, layouts, chunks: None, ..*self }
    }

    fn begin(&mut self) -> (LeaderBefore, Participants, Measured) {
        let before = LeaderBefore::of(self.context);
        // A round that panicked has not counted its thefts.
        self.ownership.claims.forget_thefts();
        let measured = if self.teaches == Teaches::Nothing { Measured::IfDue } else { Measured::ForCaller };
        (before, participants(self.layouts, self.chunks), measured)
    }

    #[inline]
    fn shares(&self) -> CallShares<'_> {
        let Self { context, ref ownership, layouts, chunks, teaches } = *self;
        CallShares { context, ownership, layouts, chunks, learns_cuts: teaches == Teaches::Shares }
    }

    fn end(&mut self, before: LeaderBefore, round: &Finished<'_>) -> Outcome {
        match self.teaches {
            Teaches::Nothing => return Outcome::unknown(rows_of(self.layouts)),
            Teaches::Rows => {}
            Teaches::Shares => learn_costs(round, self.ownership, self.layouts),
        }
        before.outcome(self.context, rows_of(self.layouts), round)
    }
}

fn rows_of(layouts: &[Layout]) -> u64 {
    layouts.iter().map(Layout::rows).sum()
}

/// Whom a round over `layouts` calls: who owns rows, and, if there are enough chunks for each
/// worker to steal one, those too that own none. To call one of these costs the leader a cache
/// line, or a system call that wakes it (10 us): a chunk that it takes from a worker that lost its
/// core is worth as much. Of fewer chunks there would be none to take.
fn participants(layouts: &[Layout], chunks: Option<Chunking>) -> Participants {
    let all_own_rows = layouts.iter().all(|layout| layout.rows() > 0);
    let are_enough =
        |chunks: Chunking| rows_of(layouts) / u64::from(chunks.rows) >= u64::from(FEWEST_LEFT) * layouts.len() as u64;
    if all_own_rows || chunks.is_some_and(are_enough) || Mechanism::Participants.is_out() {
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
            let cost = ownership.claims.cost_of_share(worker, busy(worker).unwrap_or(0));
            for segment in layout.segments() {
                let rows = segment.rows.len() as u64;
                ownership.placement.observe(segment.storage, worker, in_proportion(cost, rows, layout.rows()));
            }
        }
    }
}
