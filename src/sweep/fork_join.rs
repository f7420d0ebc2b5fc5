//! Sweeps by fork/join: the leader begins with all rows, and whenever a worker has nothing to do
//! the far half of what another one has left goes there.

use super::{
    fork_range::{Fork, ForkRange},
    gang_call::{GangCall, Memory, rows_of_leader},
    layout::Layout,
    lock_step,
    part::Part,
    rows::Rows,
};
use crate::{
    auto::Outcome,
    context::{Context, Ownership},
};

/// What is done with each part of a sweep, on any worker.
type Body<'a> = dyn Fn(Part<'_, '_>) + Sync + 'a;

/// Runs `body` for each part of `rows`.
pub(super) fn sweep(call: &mut GangCall<'_>, rows: &Rows<'_, '_>, body: &Body<'_>) -> Outcome {
    let GangCall { context, ownership, memory, cost } = call;
    let grain = cost.grain(context.longest_piece());
    session(context, ownership, memory.whole.whole(rows), grain, body)
}

/// Runs `send` for each part of `senders`, which are at most `most_parts`; then `receive` for
/// each part of `receivers`, which go by owner as in lock step.
pub(super) fn sweep_both(
    call: &mut GangCall<'_>,
    (senders, send): (&Rows<'_, '_>, &Body<'_>),
    (receivers, receive): (&Rows<'_, '_>, impl Fn(Part<'_, '_>) + Sync),
    most_parts: usize,
) -> Outcome {
    let workers = call.workers();
    let GangCall { context, ownership, memory, cost } = call;
    let Memory { whole, by_owner: [_, receiving] } = &mut **memory;
    let sending = whole.whole(senders);
    let shortest = cost.shortest_run(sending.rows(), workers).max(receiving.needless_cut(receivers, workers));
    // Before anything is sent: it is addressed to owners.
    let receiving = receiving.by_owner(receivers, &mut ownership.placement, shortest);
    let grain = sending.rows().div_ceil(most_parts as u64);
    let sent = session(context, ownership, sending, grain, send);
    let received = lock_step::round(context, ownership, receiving, None, false, receive);
    sent.followed_by(received, workers)
}

/// One session over `layout`: ranges are cut between grains of `grain` rows, or a few more.
fn session(context: &Context, ownership: &mut Ownership, layout: &Layout, grain: u64, body: &Body<'_>) -> Outcome {
    layout.segments().iter().for_each(|segment| ownership.footprints.cover(segment.storage, segment.rows.end));
    let before = rows_of_leader(context);
    let begin = |range: ForkRange<'_, '_>| body(Part::of_fork(range));
    let fork = Fork::new(context, ownership, layout, grain, &begin);
    let ((), session) = context.pool.session(|scope| fork.sweep(scope));
    let (rows, leader_rows) = (layout.rows(), rows_of_leader(context) - before);
    Outcome { rows, leader_rows, leader_ns: session.led(), busy: session.busy_of_all() }
}
