//! Spans of rounds, while they are recorded: written by the leader when a round is over, from what
//! the workers left on their seats.

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

use super::{
    AffinityPool, WorkerIndex,
    gang::Identity,
    words::{CallTimes, Looked, Participants},
};
use crate::{
    record::{Recording, Span, SpanKind, running_number},
    topology::{CoreId, current_core},
};

/// What a worker has done so far, in counters that go on from one recording to the next.
#[derive(Clone, Copy, Debug, Default)]
struct Done {
    rows: u64,
    stolen: u64,
    jobs_taken: u64,
    joins_published: u64,
}

/// The last [`Done`] that was recorded.
#[derive(Default)]
pub(super) struct Marks {
    rows: AtomicU64,
    stolen: AtomicU64,
    jobs_taken: AtomicU64,
    joins_published: AtomicU64,
}

impl Marks {
    /// Replaces what was recorded; returns by how much that is more. Also by threads that do not
    /// lead: whatever their order, nothing is recorded twice.
    fn advance(&self, done: Done) -> Done {
        let advance = |mark: &AtomicU64, count: u64| count.saturating_sub(mark.fetch_max(count, Ordering::Relaxed));
        Done {
            rows: advance(&self.rows, done.rows),
            stolen: advance(&self.stolen, done.stolen),
            jobs_taken: advance(&self.jobs_taken, done.jobs_taken),
            joins_published: advance(&self.joins_published, done.joins_published),
        }
    }
}

impl AffinityPool {
    /// Begins the spans of `recording`, unless that was done: what was done before it belongs to
    /// none of them.
    #[inline]
    pub(super) fn follow_recording(&self, recording: Recording) {
        let recorded_in = &self.counters.leader.recorded_in;
        if recorded_in.load(Ordering::Relaxed) != recording.number() {
            recorded_in.store(recording.number(), Ordering::Relaxed);
            (0..self.workers()).for_each(|worker| _ = self.newly_done(worker, self.swept_by(worker)));
        }
    }

    /// What a worker adds to its stats while spans are recorded: reading its counters from another
    /// core would take longer.
    pub(super) fn look(&self, me: Identity) -> Looked {
        let core = me.core().or_else(current_core).map(|core| core.index());
        Looked { core, ..self.swept_by(me.index().0) }
    }

    /// Records what the workers of `participants` did in `round`, which just ended, and what this
    /// thread did for its own index.
    #[cold]
    pub(super) fn record_spans(&self, kind: SpanKind, round: Range<u64>, own: CallTimes, participants: Participants) {
        let own = self.own_span(kind, own);
        let stats = || self.called(participants).filter_map(|(seat, worker)| Some((worker, seat.round.stats.get()?)));
        // A worker may begin before the leader does: the call goes out first.
        let began = stats().fold(round.start, |began, (_, stats)| began.min(stats.call.began));
        let own = Span { called: began, released: round.end, ..own };
        self.recorder.write(|spans| {
            // These were recorded before anyone knew this; others of this round may stand between.
            let of_round = spans.newest_mut().take_while(|span| span.end >= round.start);
            let taken_over = of_round.filter(|span| span.is_taken_over() && span.called == round.start);
            taken_over.for_each(|span| (span.called, span.released) = (own.called, own.released));
            spans.push(own);
            for (worker, stats) in stats() {
                let core = stats.looked.core.map(CoreId);
                let span = Span { worker, share_of: worker, core, ..own };
                spans.push(self.with_stats(span, stats.call, stats.looked));
            }
        });
    }

    /// Leaves out what was done in a round that panicked: they are not whole.
    #[cold]
    pub(super) fn discard_round(&self) {
        self.counters.leader.recorded_in.store(0, Ordering::Relaxed);
    }

    /// Records that the leader ran the index of another worker, in a round in which its own index
    /// began when that was `called`.
    #[cold]
    pub(super) fn record_taken_over(&self, kind: SpanKind, index: WorkerIndex, time: Range<u64>, called: u64) {
        let span = Span { share_of: index.0, called, ..Span::of_caller(kind, running_number(), time) };
        let Done { rows, stolen: stolen_rows, .. } = self.newly_done(index.0, self.swept_by(index.0));
        self.recorder.write(|spans| spans.push(Span { rows, stolen_rows, ..span }));
    }

    /// The leader's span for its own index.
    fn own_span(&self, kind: SpanKind, own: CallTimes) -> Span {
        self.with_stats(Span::of_caller(kind, running_number(), own.began..own.ended), own, self.swept_by(0))
    }

    /// `span` with what its worker did in a call, after which it `looked`.
    fn with_stats(&self, span: Span, call: CallTimes, looked: Looked) -> Span {
        let Done { rows, stolen: stolen_rows, jobs_taken, joins_published } = self.newly_done(span.worker, looked);
        let CallTimes { began: begin, ended: end, idle } = call;
        Span { begin, end, idle, rows, stolen_rows, jobs_taken, joins_published, ..span }
    }

    /// What `worker` has done since this was last asked; how many rows it has swept so far was
    /// `looked` up.
    fn newly_done(&self, worker: usize, Looked { rows, stolen, .. }: Looked) -> Done {
        let queue = &self.queues[worker];
        let done = Done { rows, stolen, jobs_taken: queue.jobs_taken(), joins_published: queue.joins_published() };
        self.counters.of(worker).recorded.advance(done)
    }

    /// How many rows `worker` has swept so far; not on which core.
    fn swept_by(&self, worker: usize) -> Looked {
        let swept = &self.swept[worker];
        Looked { core: None, rows: swept.all(), stolen: swept.stolen() }
    }
}
