//! Sweeps by fork/join: the leader begins with all rows, and whenever a worker has nothing to do
//! it takes the far half of what another one has left.

use super::{
    fork_range::{Cut, Fork},
    gang_call::{GangCall, LeaderBefore, Memory, Teaches, Took},
    gate::Gate,
    layout::Layout,
    lock_step::ShareRound,
    part::Part,
    ranges::Ranges,
    rows::Rows,
};
use crate::{
    auto::Outcome,
    context::{Context, Ownership},
    pool::running_on,
};

/// Runs `body` for each part of `rows`.
pub(super) fn sweep(call: &mut GangCall<'_>, rows: &Rows<'_, '_>, body: impl Fn(Part<'_>) + Sync) -> Took {
    let GangCall { context, ownership, memory, cost, visits, probe_for, .. } = call;
    let grain = cost.grain(context.most_rows_at_once());
    let Memory { whole, ranges, .. } = &mut **memory;
    let gate = probe_for.map(|longest| Gate::new(longest, *visits));
    let (layout, cut) = (whole.lay_out_all(rows), Cut { grain, by_grain: false });
    let outcome = session(context, ownership, (layout, ranges), cut, gate.as_ref(), body);
    (outcome, gate.and_then(|gate| gate.probe()))
}

/// Runs `send` for each part of `senders`, which are at most `most_parts`; then `receive` for
/// each part of `receivers`, which go by owner as in lock step.
pub(super) fn sweep_both(
    call: &mut GangCall<'_>,
    (senders, send): (&Rows<'_, '_>, impl Fn(Part<'_>) + Sync),
    (receivers, receive): (&Rows<'_, '_>, impl Fn(Part<'_>) + Sync),
    most_parts: usize,
) -> Took {
    let GangCall { context, ownership, memory, cost, visits, probe_for, .. } = call;
    let workers = context.pool.workers();
    let Memory { whole, ranges, receivers: receiving, .. } = &mut **memory;
    let sending = whole.lay_out_all(senders);
    let shortest = cost.shortest_run(sending.rows(), workers).max(receiving.fewest_to_cut(receivers, workers));
    // Before anything is sent: it is addressed to owners.
    let receiving = receiving.lay_out(receivers, &mut ownership.placement, shortest);
    let cut = Cut { grain: sending.rows().div_ceil(most_parts as u64), by_grain: true };
    let gate = probe_for.map(|longest| Gate::new(longest, *visits));
    let sent = session(context, ownership, (sending, ranges), cut, gate.as_ref(), send);
    let mut round = ShareRound { context, ownership, layouts: receiving, chunks: None, teaches: Teaches::Rows };
    let received = round.run(receive);
    let probe = gate.and_then(|gate| gate.probe());
    (sent.followed_by(received, workers), probe.map(|probe| probe.followed_by(received, sent.rows, workers)))
}

/// One session over `layout`. Where there is a `gate` the leader begins alone.
fn session(
    context: &Context,
    ownership: &mut Ownership,
    (layout, ranges): (&Layout, &mut Ranges),
    cut: Cut,
    gate: Option<&Gate>,
    body: impl Fn(Part<'_>) + Sync,
) -> Outcome {
    layout.segments().iter().for_each(|segment| ownership.footprints.cover(segment.storage, segment.rows.end));
    let before = LeaderBefore::of(context);
    let fork = Fork::new(context, ownership, layout, ranges, cut, gate);
    let session = context.pool.run_session(move |worker| {
        // Once for all ranges: asking takes longer than sweeping many a range.
        let core = running_on();
        let is_leader = worker.index() == 0;
        let _opens = gate.filter(|_| is_leader).map(Gate::enter);
        let waited = gate.filter(|_| !is_leader).map_or(0, Gate::wait);
        while let Some(range) = fork.range_of(worker.index(), core) {
            body(Part::of_fork(range));
        }
        waited
    });
    before.outcome(context, layout.rows(), &session)
}
