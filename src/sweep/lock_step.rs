//! Sweeps in lock step: a round in which each worker has its own rows, the same ones every time,
//! and who is done takes chunks from a worker that is late.

use super::{
    claim::{CallShares, Chunking},
    gang_call::{GangCall, rows_of_leader},
    layout::Layout,
    part::Part,
    rows::Rows,
};
use crate::{
    auto::Outcome,
    context::{Context, Ownership},
    pool::{Finished, Participants},
};

/// Runs `body` for each part of `rows`.
pub(super) fn sweep(call: &mut GangCall<'_>, rows: &Rows<'_, '_>, body: impl Fn(Part<'_>) + Sync) -> Outcome {
    let workers = call.workers();
    let GangCall { context, ownership, memory, cost } = call;
    let layouts = &mut memory.by_owner[0];
    let shortest = cost.shortest_run(layouts.about(rows), workers).max(layouts.needless_cut(rows, workers));
    let layouts = layouts.by_owner(rows, &mut ownership.placement, shortest);
    let chunks = cost.rows_of_chunk(rows_of(layouts), workers);
    let chunks = chunks.map(|rows| Chunking::new(&mut ownership.board, rows, u32::MAX));
    round(context, ownership, layouts, chunks, chunks.is_some(), body)
}

/// Runs `send` for each part of `senders`, of each of which others may take `most_stolen` chunks,
/// then `receive` for each part of `receivers`.
pub(super) fn sweep_both(
    call: &mut GangCall<'_>,
    (senders, send): (&Rows<'_, '_>, impl Fn(Part<'_>) + Sync),
    (receivers, receive): (&Rows<'_, '_>, impl Fn(Part<'_>) + Sync),
    most_stolen: u32,
) -> Outcome {
    let workers = call.workers();
    let GangCall { context, ownership, memory, cost } = call;
    let [sending, receiving] = &mut memory.by_owner;
    let needless = sending.needless_cut(senders, workers).min(receiving.needless_cut(receivers, workers));
    // The same for both: what is laid out for the senders is not cut anew for the receivers.
    let shortest = cost.shortest_run(sending.about(senders), workers).max(needless);
    let sending = sending.by_owner(senders, &mut ownership.placement, shortest);
    let receiving = receiving.by_owner(receivers, &mut ownership.placement, shortest);
    let chunks = cost.rows_of_chunk(rows_of(sending), workers);
    let chunks = chunks.map(|rows| Chunking::new(&mut ownership.board, rows, most_stolen));
    let sent = round(context, ownership, sending, chunks, chunks.is_some(), send);
    let received = round(context, ownership, receiving, None, chunks.is_some(), receive);
    sent.followed_by(received, workers)
}

/// One round of those of the gang who have something to do, over the rows of each worker. Where it
/// `teaches`, the placement learns what they took. What `body` holds by value the workers find
/// where they find `body`: each reference more is a cache miss more.
pub(super) fn round(
    context: &Context,
    ownership: &mut Ownership,
    layouts: &[Layout],
    chunks: Option<Chunking>,
    teaches: bool,
    body: impl Fn(Part<'_>) + Sync,
) -> Outcome {
    let before = rows_of_leader(context);
    let shares = CallShares::new(context, ownership, layouts, chunks);
    let round = context.pool.run_some(participants(layouts, chunks), move |worker| {
        let mut claim = Some(shares.own(worker.index()));
        // One place that runs the body, so that it is inlined: only then its loop is vectorised.
        while let Some(claim) = claim.take().or_else(|| shares.steal(worker.index())) {
            body(Part::claimed(claim));
        }
    });
    if teaches {
        learn_costs(&round, ownership, layouts);
    }
    let (rows, leader_rows) = (rows_of(layouts), rows_of_leader(context) - before);
    Outcome { rows, leader_rows, leader_ns: round.led(), busy: round.busy_of_all() }
}

fn rows_of(layouts: &[Layout]) -> u64 {
    layouts.iter().map(Layout::rows).sum()
}

/// Whom a round over `layouts` calls: who owns rows, and if there are enough chunks for all, those
/// who can only steal. Called they cost the leader a cache line each, or a wake-up (5 us), and a
/// chunk that one of them takes from a worker that lost its core is worth as much. But of a few
/// dear rows there is none to take.
fn participants(layouts: &[Layout], chunks: Option<Chunking>) -> Participants {
    if chunks.is_some_and(|chunks| chunks.are_enough(rows_of(layouts), layouts.len())) {
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
    ownership.board.forget_thefts();
}
