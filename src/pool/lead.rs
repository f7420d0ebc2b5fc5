//! What a pool does around a round of its gang: takes the lead, says who is called, and counts what everybody did.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

#[cfg(feature = "trace")]
use super::trace;
use super::{
    AffinityPool, Worker, WorkerIndex,
    clock::now,
    contention::is_core_taken,
    crew::Crew,
    gang::{LeaderGuard, identity, keep_pinned},
    round::Stint,
    unwind::drop_or_abort,
};
use crate::record::SpanKind;

impl AffinityPool {
    /// [`run_some`](Self::run_some) for a closure that returns for how many nanoseconds of the call it had nothing to do.
    pub(super) fn round(&self, kind: SpanKind, crew: Crew, f: impl Fn(Worker) -> u64 + Sync) {
        #[cfg(feature = "trace")]
        let f = trace::in_spans(f);
        if self.seats.is_empty() || crew == Crew::LEADER || identity().is_some() {
            return self.run_inline(kind, crew, &f);
        }
        let Some(mut lead) = self.gang.board.try_lead() else {
            return self.run_inline(kind, crew, &f);
        };
        self.leader_counters().last_crew.store(Some(crew));
        let recorded = self.recorded_as(kind);
        self.prepare_round();
        let round = {
            let _leader = LeaderGuard::enter();
            let seats = self.seats.iter().map(|seat| &***seat);
            // By value: the workers find the closure and all it holds in one place.
            lead.round(seats, crew, self.spin, &move |index| self.call(&f, WorkerIndex(index), recorded))
        };
        match &round {
            Ok(()) => self.record_round(crew, recorded),
            Err(_) => self.skip_round(),
        }
        drop(lead);
        round.unwrap_or_else(|payload| resume_unwind(payload));
    }

    /// Calls `f` for one index and notes when, on the account of the thread that ran it.
    fn call(&self, f: &(impl Fn(Worker) -> u64 + Sync), index: WorkerIndex, recorded: Option<SpanKind>) {
        keep_pinned(self.post, &self.topology);
        let Some(me) = identity() else {
            f(Worker { index, core: None });
            return;
        };
        let own = me.index == index;
        let began = now();
        let idle = f(Worker { index, core: me.core.filter(|_| own) });
        let ended = now();
        match me.index {
            WorkerIndex::LEADER => {
                if own && self.watchful && is_core_taken(ended) {
                    self.leave_taken_core(ended);
                }
                self.counters[0].record_led(began..ended, idle, own);
                if let (Some(kind), false) = (recorded, own) {
                    self.record_taken_over(kind, index, began..ended);
                }
            }
            WorkerIndex(worker) => {
                let looked = recorded.map_or_else(Stint::default, |_| self.look(me));
                let stint = Stint { began, ended, idle, core_taken: is_core_taken(ended), ..looked };
                self.seats[worker - 1].stint.set(stint);
            }
        }
    }

    /// Adds what each worker of `crew` did in the round that just ended to its counters.
    fn record_round(&self, crew: Crew, recorded: Option<SpanKind>) {
        let leader = self.leader_counters();
        let called = || (1..).zip(self.seats.iter()).filter(|&(worker, _)| crew.has(worker));
        let led = leader.led();
        let stints = called().filter_map(|(_, seat)| seat.stint.get());
        let round = led.start..stints.fold(led.end, |end, stint| end.max(stint.ended));
        leader.record_led_wait(round.end);
        for (worker, seat) in called() {
            let counters = &self.counters[worker];
            let is_away = match seat.stint.get() {
                Some(stint) => {
                    counters.record_stint(stint, round.clone());
                    seat.record.present(stint.core_taken, round.end);
                    stint.core_taken
                }
                None if seat.record.is_out() => {
                    counters.record_left_out();
                    false
                }
                None => {
                    // Where the leader was moved to its core the worker is not to blame.
                    !self.is_on_core_of(seat) && seat.record.missing(round.end - round.start)
                }
            };
            if is_away && self.watchful {
                self.gang.attendance.leave_out_late(&seat.record, round.end);
            }
        }
        if let Some(kind) = recorded {
            self.record_spans(kind, round, crew);
        }
    }

    /// Calls all indices of `crew` on this thread, with the promises of a round. Inside another round nothing is recorded: that round's time
    /// includes it.
    fn run_inline(&self, kind: SpanKind, crew: Crew, f: &(impl Fn(Worker) -> u64 + Sync)) {
        let nested = identity().is_some();
        let recorded = if nested { None } else { self.recorded_as(kind) };
        if !nested {
            self.leader_counters().last_crew.store((crew == Crew::LEADER).then_some(crew));
        }
        let _leader = LeaderGuard::enter();
        let mut first = None;
        for index in (0..self.workers()).filter(|&worker| crew.has(worker)).map(WorkerIndex) {
            let call = || {
                if nested {
                    f(Worker { index, core: None });
                } else {
                    self.call(f, index, recorded);
                }
            };
            if let Err(payload) = catch_unwind(AssertUnwindSafe(call)) {
                match first {
                    None => first = Some(payload),
                    Some(_) => drop_or_abort(payload),
                }
            }
        }
        if let Some(payload) = first {
            self.skip_round();
            resume_unwind(payload);
        }
        if let Some(kind) = recorded {
            self.record_spans(kind, self.leader_counters().led(), Crew::LEADER);
        }
    }
}
