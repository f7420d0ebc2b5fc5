//! What a pool does around a round of its gang: takes the lead, and counts what each worker did.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::{
    AffinityPool, Worker, WorkerIndex,
    call::{Noted, worker_with},
    clock::now,
    gang::{LeaderGuard, SharedSeat, identity},
    round::Lead,
    round_job::RoundJob,
    trace,
    unwind::{FirstPanic, Payload},
    words::{CallTimes, Participants},
};
use crate::record::SpanKind;

/// Who runs a round that begins now.
pub(super) enum Turn<'p> {
    /// The gang: this thread leads it.
    Led(Lead<'p>),
    /// This thread alone: another one leads, or no other worker is called.
    Here,
    /// This thread alone, which is inside a round.
    Nested,
}

/// Whether what workers did in a round is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measured {
    /// It is: the caller wants to know.
    ForCaller,
    /// One round in some is, for the pool. [`Finished`] may tell of an earlier one.
    IfDue,
}

/// A closure of which only who has it knows the type: all that is done around calls of it is
/// compiled once, not for each closure of a program.
struct Work<'a> {
    /// For the gang.
    job: RoundJob<'a>,
    /// For this thread alone: returns for how many nanoseconds of the call it had nothing to do.
    here: &'a dyn Fn(usize) -> u64,
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
    /// A round that this thread ran by itself, its own index for this many nanoseconds.
    fn alone(pool: &'p AffinityPool, participants: Participants, leader_busy: u64) -> Self {
        Self { pool, lead: None, participants, leader_busy }
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
const NEVER_IDLE: u64 = 0;

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

    /// Takes the lead of a round of `participants`, if the round needs it and it is to be had.
    #[inline]
    pub(super) fn turn(&self, participants: Participants) -> Turn<'_> {
        if identity().is_some() {
            return Turn::Nested;
        }
        if self.seats.is_empty() || participants == Participants::LEADER {
            return Turn::Here;
        }
        self.gang.board.try_lead().map_or(Turn::Here, Turn::Led)
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
        let turn = self.turn(participants);
        self.with_work(f, |work| match turn {
            Turn::Led(lead) => self.lead_work(lead, kind, participants, measured, work),
            Turn::Here => self.run_work_here(kind, participants, work),
            Turn::Nested => self.run_work_nested(participants, work),
        })
    }

    /// A round of the gang.
    pub(super) fn lead_round<'p>(
        &'p self,
        lead: Lead<'p>,
        kind: SpanKind,
        participants: Participants,
        measured: Measured,
        f: impl Fn(Worker) -> u64 + Sync,
    ) -> Finished<'p> {
        self.with_work(f, |work| self.lead_work(lead, kind, participants, measured, work))
    }

    /// Calls all indices of `participants` on this thread, with the promises of a round. Another
    /// thread may lead the gang meanwhile: it is left alone.
    pub(super) fn run_here(
        &self,
        kind: SpanKind,
        participants: Participants,
        f: impl Fn(Worker) -> u64 + Sync,
    ) -> Finished<'_> {
        self.with_work(f, |work| self.run_work_here(kind, participants, work))
    }

    /// Calls all indices of `participants` on this thread, which is inside a round. Nothing is
    /// recorded: that round's time includes it.
    pub(super) fn run_nested(&self, participants: Participants, f: impl Fn(Worker) -> u64 + Sync) -> Finished<'_> {
        self.with_work(f, |work| self.run_work_nested(participants, work))
    }

    /// Calls the leader's index on this thread, which began with it and leads the gang, but calls
    /// no other. `f` returns for how many nanoseconds it was in rounds of its own, which count by
    /// themselves. Returns when it ended.
    pub(super) fn run_own(&self, kind: SpanKind, began: u64, f: impl Fn(Worker) -> u64 + Sync) -> u64 {
        self.with_work(f, |work| self.run_own_work(kind, began, work))
    }

    /// Hands `f` on as [`Work`].
    #[inline]
    fn with_work<R>(&self, f: impl Fn(Worker) -> u64 + Sync, run: impl FnOnce(&mut Work<'_>) -> R) -> R {
        // What the closure owns is dropped while this thread counts as inside the round: code of
        // users, too.
        let _leader = LeaderGuard::enter();
        let f = trace::in_spans(f);
        // By value: the workers find all that the closure holds in one place.
        let closure = move |index| f(worker_with(index));
        run(&mut Work { job: RoundJob::new(self, &closure), here: &closure })
    }

    fn lead_work<'p>(
        &'p self,
        mut lead: Lead<'p>,
        kind: SpanKind,
        participants: Participants,
        measured: Measured,
        work: &mut Work<'_>,
    ) -> Finished<'p> {
        let due = self.counters.leader.sampling.pass();
        let noted = match self.begin_recorded(kind) {
            Some(kind) => Noted::Spans(kind),
            None if due || measured == Measured::ForCaller => Noted::Times,
            None => Noted::Nothing,
        };
        self.prepare_round(participants, due);
        work.job.note(noted.note());
        let round = self.run_led(&mut lead, participants, &work.job);
        let is_any_missing = self.count_round(&lead, participants);
        if noted == Noted::Nothing {
            // Who stays away is found out in measured rounds.
            self.counters.leader.sampling.skip(is_any_missing);
        }
        if let Err(payload) = round {
            self.discard_round();
            drop(lead);
            resume_unwind(payload);
        }
        if noted != Noted::Nothing {
            self.record_round(&lead, participants, (due, measured), noted.spans());
        }
        Finished { pool: self, lead: Some(lead), participants, leader_busy: self.counters.leader.last_busy() }
    }

    /// Calls `job` for each index of `participants`, on its worker.
    ///
    /// # Errors
    /// The payload of the first panic, after all others have finished.
    #[inline]
    fn run_led(&self, lead: &mut Lead<'_>, participants: Participants, job: &RoundJob<'_>) -> Result<(), Payload> {
        let is_any_out = self.is_any_out();
        let left_out = |worker| is_any_out && self.is_left_out(worker);
        let seats = self.seats.iter().map(|seat| &*seat.round);
        lead.run(seats, participants, left_out, self.spin, job)
    }

    /// What the spans of a round are to be that begins now, if they are recorded.
    #[inline]
    fn begin_recorded(&self, kind: SpanKind) -> Option<SpanKind> {
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

    fn run_work_here(&self, kind: SpanKind, participants: Participants, work: &Work<'_>) -> Finished<'_> {
        let recorded = self.begin_recorded(kind);
        let here = &self.counters.leader.here;
        let (mut own_call, mut round) = (CallTimes::default(), None);
        let result = self.for_each_index(participants, |index| {
            let own = index == WorkerIndex::LEADER;
            here.count_index(own);
            let began = now();
            // The leader's index is the first. Noted before the call, which may panic.
            let round = round.get_or_insert(began..began);
            let idle = (work.here)(index.0);
            let call = CallTimes { began, ended: now(), idle };
            here.record(call);
            round.end = call.ended;
            if own {
                own_call = call;
            } else if let Some(kind) = recorded {
                self.record_taken_over(kind, index, began..call.ended, round.start);
            }
        });
        if let Err(payload) = result {
            self.discard_round();
            resume_unwind(payload);
        }
        if let (Some(kind), Some(round)) = (recorded, round) {
            self.record_spans(kind, round, own_call, Participants::LEADER);
        }
        Finished::alone(self, participants, own_call.busy())
    }

    fn run_own_work(&self, kind: SpanKind, began: u64, work: &Work<'_>) -> u64 {
        let recorded = self.begin_recorded(kind);
        self.counters.leader.here.count_index(true);
        let in_rounds = (work.here)(WorkerIndex::LEADER.0);
        let ended = now();
        let call = CallTimes { began: began + in_rounds, ended, idle: NEVER_IDLE };
        self.counters.leader.here.record(call);
        // Around rounds there would be two spans at a time.
        if let (Some(kind), 0) = (recorded, in_rounds) {
            self.record_spans(kind, began..ended, call, Participants::LEADER);
        }
        ended
    }

    fn run_work_nested(&self, participants: Participants, work: &Work<'_>) -> Finished<'_> {
        let result = self.for_each_index(participants, |index| _ = (work.here)(index.0));
        result.unwrap_or_else(|payload| resume_unwind(payload));
        // As if all were called and none came: `busy_of_all` is `None`, so no caller takes 0 ns for
        // a measurement.
        Finished::alone(self, Participants::ALL, 0)
    }

    /// Calls `call` with each index of `participants`, whether or not another one panics.
    ///
    /// # Errors
    /// The payload of the first panic.
    fn for_each_index(&self, participants: Participants, mut call: impl FnMut(WorkerIndex)) -> Result<(), Payload> {
        let panic = FirstPanic::default();
        for index in (0..self.workers()).filter(|&worker| participants.has(worker)).map(WorkerIndex) {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| call(index))) {
                panic.keep(payload);
            }
        }
        panic.into_payload().map_or(Ok(()), Err)
    }
}
