//! What a pool does around a round of its gang: asks for it, and counts what each worker did.

use std::panic::resume_unwind;

use super::{
    AffinityPool, Worker, call::Noted, gang::SharedSeat, round::Lead, round_job::RoundJob, words::Participants,
};
use crate::record::SpanKind;

/// Whether what workers did in a round is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measured {
    /// It is: the caller wants to know.
    ForCaller,
    /// One round in some is, for the pool. [`Finished`] may tell of an earlier one.
    IfDue,
}

/// A round that is over. Until this is dropped this thread leads on, so that what workers noted of
/// the round stands: no other round overwrites it.
pub(crate) struct Finished<'p> {
    pool: &'p AffinityPool,
    /// Nothing if this thread ran the indices of all.
    lead: Option<Lead<'p>>,
    participants: Participants,
    leader_busy: u64,
}

impl<'p> Finished<'p> {
    /// A round of `participants` in which the leader's own part took this many nanoseconds. Without
    /// a lead this thread ran the indices of all.
    #[inline]
    pub(super) fn new(
        pool: &'p AffinityPool,
        lead: Option<Lead<'p>>,
        participants: Participants,
        leader_busy: u64,
    ) -> Self {
        Self { pool, lead, participants, leader_busy }
    }

    /// The lead, for the next round; nothing if this thread ran the indices of all.
    pub(super) fn into_lead(self) -> Option<Lead<'p>> {
        self.lead
    }

    /// How long the leader's own part took, in nanoseconds, without the time it had nothing to do.
    pub(crate) fn leader_busy(&self) -> u64 {
        self.leader_busy
    }

    /// How long the part of `worker` took, in nanoseconds; `None` if another thread ran its index.
    /// One that was not called was not busy.
    pub(crate) fn busy(&self, worker: usize) -> Option<u64> {
        let Some(seat) = worker.checked_sub(1) else { return Some(self.leader_busy) };
        if !self.participants.has(worker) {
            return Some(0);
        }
        self.lead.as_ref()?;
        self.pool.seats[seat].round.stats.get().map(|stats| stats.call.busy())
    }

    /// For how long those were busy together who ran an index of their own, in nanoseconds.
    pub(super) fn work(&self) -> u64 {
        (0..self.pool.workers()).filter_map(|worker| self.busy(worker)).sum()
    }

    /// For how long all workers together were busy; `None` if not each that was called ran its own
    /// index.
    pub(crate) fn busy_of_all(&self) -> Option<u64> {
        (0..self.pool.workers()).map(|worker| self.busy(worker)).sum()
    }
}

/// The number of workers that are asked whether the gang sleeps.
const ASKED_SEATS: usize = 4;

/// Idle time of a closure that is never idle.
pub(super) const NEVER_IDLE: u64 = 0;

impl AffinityPool {
    /// [`run`](Self::run) for the indices that `participants` has. The others are not called: their
    /// workers sleep on, or go on waiting for the next round, and count as idle. If that leaves the
    /// leader alone there is no round: its index is run on the spot.
    #[inline]
    pub(crate) fn run_some(
        &self,
        participants: Participants,
        measured: Measured,
        f: impl Fn(Worker) + Sync,
    ) -> Finished<'_> {
        self.dispatch(SpanKind::Share, participants, measured, move |worker| {
            f(worker);
            NEVER_IDLE
        })
    }

    /// [`run`](Self::run), recorded as a session of fork/join: work changes hands in it. `f`
    /// returns for how many nanoseconds it had nothing to do.
    pub(crate) fn run_session(&self, f: impl Fn(Worker) -> u64 + Sync) -> Finished<'_> {
        self.dispatch(SpanKind::Session, Participants::ALL, Measured::ForCaller, f)
    }

    /// Whether the workers sleep, and were not called since. The first few are asked: of dozens it
    /// would take longer than a short call.
    #[inline]
    pub(crate) fn is_asleep(&self) -> bool {
        self.seats.iter().take(ASKED_SEATS).all(|seat| seat.round.is_to_be_woken())
    }

    /// How many rounds of the gang so far called a worker out of its sleep.
    #[inline]
    pub(crate) fn wake_ups(&self) -> u64 {
        self.gang.board.wake_ups()
    }

    /// [`run_some`](Self::run_some) for a closure that returns for how many nanoseconds of the call
    /// it had nothing to do.
    #[inline]
    pub(super) fn dispatch(
        &self,
        kind: SpanKind,
        participants: Participants,
        measured: Measured,
        f: impl Fn(Worker) -> u64 + Sync,
    ) -> Finished<'_> {
        self.run_turn(self.turn(participants), kind, participants, measured, f)
    }

    /// A round of the gang. Returns how long the leader's own part took, in nanoseconds.
    pub(super) fn lead_round(
        &self,
        lead: &mut Lead<'_>,
        kind: SpanKind,
        participants: Participants,
        measured: Measured,
        job: &mut RoundJob<'_>,
    ) -> u64 {
        let due = self.counters.leader.sampling.pass();
        let noted = match self.begin_recorded(kind) {
            Some(kind) => Noted::Spans(kind),
            None if due || measured == Measured::ForCaller => Noted::Times,
            None => Noted::Nothing,
        };
        self.prepare_round(participants, due);
        job.note(noted.note());
        let is_any_out = self.is_any_out();
        let left_out = |worker| is_any_out && self.is_left_out(worker);
        let seats = self.seats.iter().map(|seat| &*seat.round);
        let result = lead.run(seats, participants, left_out, self.spin, job);
        let is_any_missing = self.count_round(lead, participants);
        if noted == Noted::Nothing {
            // Who stays away is found out in measured rounds.
            self.counters.leader.sampling.skip(is_any_missing);
        }
        if let Err(payload) = result {
            self.discard_round();
            resume_unwind(payload);
        }
        if noted != Noted::Nothing {
            self.record_round(lead, participants, (due, measured), noted.spans());
        }
        self.counters.leader.last_busy()
    }

    /// What the spans of a round are to be that begins now, if they are recorded.
    #[inline]
    pub(super) fn begin_recorded(&self, kind: SpanKind) -> Option<SpanKind> {
        let recording = self.recorder.recording();
        recording.is_on().then(|| {
            self.follow_recording(recording);
            kind
        })
    }

    /// Those that `participants` calls, but the leader.
    #[inline]
    pub(super) fn called(&self, participants: Participants) -> impl Iterator<Item = (&SharedSeat, usize)> {
        self.seats.iter().zip(1..).filter(move |&(_, worker)| participants.has(worker))
    }

    /// Counts who ran which index; returns whether a worker did not come that was called. What is
    /// asked here is on lines that no worker writes.
    #[inline]
    fn count_round(&self, lead: &Lead<'_>, participants: Participants) -> bool {
        if participants == Participants::ALL && !lead.has_taken_any() {
            self.counters.leader.count_round_of_all();
            return false;
        }
        let own = self.counters.of(0);
        own.count_index(true);
        let mut is_any_missing = false;
        for (seat, worker) in self.called(participants) {
            if !lead.has_taken(&seat.round) {
                self.counters.of(worker).count_index(true);
                continue;
            }
            own.count_index(false);
            if lead.has_reserved(&seat.round) {
                self.counters.of(worker).count_left_out();
            } else {
                is_any_missing = true;
            }
        }
        is_any_missing
    }

    /// After a measured round: adds how long each worker of `participants` was busy, and waited, to
    /// its counters, judges them by what they say of their cores, and records spans.
    fn record_round(
        &self,
        lead: &Lead<'_>,
        participants: Participants,
        (due, measured): (bool, Measured),
        recorded: Option<SpanKind>,
    ) {
        let leader = &self.counters.leader;
        let calls = leader.last_calls();
        let others = self.called(participants).filter_map(|(seat, _)| Some(seat.round.stats.get()?.call));
        // A worker may begin, and even end, before the leader comes to its own index.
        let round = others.fold(calls.clone(), |round, call| round.start.min(call.began)..round.end.max(call.ended));
        let weight = leader.sampling.measured(round.clone(), due, measured == Measured::IfDue);
        leader.record_wait(round.end, weight);
        self.watch_leader(round.end);
        for (seat, worker) in self.called(participants) {
            let stats = seat.round.stats.get();
            if let Some(stats) = stats {
                self.counters.of(worker).record(stats.call, round.clone(), weight);
            }
            if !lead.has_reserved(&seat.round) {
                self.judge(seat, stats, &round);
            }
        }
        if let Some(kind) = recorded {
            self.record_spans(kind, calls.start..round.end, leader.last_own_call(), participants);
        }
    }
}
