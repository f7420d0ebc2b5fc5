//! Which threads call a closure's indices: the gang's, or this one alone. Only what has to be is
//! compiled for each closure of a program: the rest gets it as [`Work`].

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::{
    AffinityPool, Worker, WorkerIndex,
    broadcast::{Finished, Measured, NEVER_IDLE},
    call::worker_with,
    clock::now,
    gang::{LeaderGuard, identity},
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

/// A closure of which only its caller knows the type.
struct Work<'a> {
    /// For the gang.
    job: RoundJob<'a>,
    /// For this thread alone: returns for how many nanoseconds of the call it had nothing to do.
    here: &'a dyn Fn(usize) -> u64,
}

/// `f` as the pool calls it. A function of its own: else each caller would have another closure.
#[inline]
fn by_index(f: impl Fn(Worker) -> u64 + Sync) -> impl Fn(usize) -> u64 + Sync {
    // By value: the workers find all that the closure holds in one place.
    move |index| f(worker_with(index))
}

impl AffinityPool {
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

    /// Calls `f` for each index of `participants`, as `turn` says. Where this thread is alone the
    /// promises are those of a round; another one may lead the gang meanwhile, and is left alone.
    #[inline]
    pub(super) fn run_turn<'p>(
        &'p self,
        turn: Turn<'p>,
        kind: SpanKind,
        participants: Participants,
        measured: Measured,
        f: impl Fn(Worker) -> u64 + Sync,
    ) -> Finished<'p> {
        match turn {
            Turn::Led(mut lead) => {
                let leader_busy =
                    self.with_work(f, |work| self.lead_round(&mut lead, kind, participants, measured, &mut work.job));
                Finished::new(self, Some(lead), participants, leader_busy)
            }
            Turn::Here => self.with_work(f, |work| self.run_here(kind, participants, work)),
            Turn::Nested => self.with_work(f, |work| self.run_nested(participants, work)),
        }
    }

    /// Calls the leader's index on this thread, which began with it and leads the gang, but calls
    /// no other. `f` returns for how many nanoseconds it was in rounds of its own, which count by
    /// themselves. Returns when it ended.
    pub(super) fn run_own(&self, kind: SpanKind, began: u64, f: impl Fn(Worker) -> u64 + Sync) -> u64 {
        self.with_work(f, |work| self.run_own_work(kind, began, work))
    }

    /// Hands `f` on. What `run` returns must not hold the lead: if the closure panics while it is
    /// dropped here, that is lost without being dropped.
    #[inline]
    fn with_work<R>(&self, f: impl Fn(Worker) -> u64 + Sync, run: impl FnOnce(&mut Work<'_>) -> R) -> R {
        // What the closure owns is dropped while this thread counts as inside the round: code of
        // users, too.
        let _leader = LeaderGuard::enter();
        let closure = by_index(trace::in_spans(f));
        run(&mut Work { job: RoundJob::new(self, &closure), here: &closure })
    }

    fn run_here(&self, kind: SpanKind, participants: Participants, work: &Work<'_>) -> Finished<'_> {
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
        Finished::new(self, None, participants, own_call.busy())
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

    /// Nothing is recorded: the time of the round that this thread is in includes it.
    fn run_nested(&self, participants: Participants, work: &Work<'_>) -> Finished<'_> {
        let result = self.for_each_index(participants, |index| _ = (work.here)(index.0));
        result.unwrap_or_else(|payload| resume_unwind(payload));
        // As if all were called and none came: `busy_of_all` is `None`, so no caller takes 0 ns for
        // a measurement.
        Finished::new(self, None, Participants::ALL, 0)
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
