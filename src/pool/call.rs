//! What each thread does around its calls of a round's closure: it stays where it is pinned, and
//! notes what the round's leader asked it to.

use super::{
    AffinityPool, Worker, WorkerIndex,
    clock::now,
    eviction::{CoreTaken, finds_core_taken},
    gang::{Identity, identity, keep_pinned},
    round_job::Wrap,
    words::{CallTimes, Looked, RoundStats},
};
use crate::record::SpanKind;

/// What is noted of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Noted {
    Nothing,
    /// Clocks are read.
    Times,
    /// And spans recorded.
    Spans(SpanKind),
}

impl Noted {
    /// For [`RoundJob::note`].
    #[inline]
    pub(super) fn note(self) -> u8 {
        match self {
            Self::Nothing => 0,
            Self::Times => 1,
            Self::Spans(kind) => 2 + kind as u8,
        }
    }

    /// What spans are to be, if they are recorded.
    #[inline]
    pub(super) fn spans(self) -> Option<SpanKind> {
        if let Self::Spans(kind) = self { Some(kind) } else { None }
    }

    #[inline]
    fn of(note: u8) -> Self {
        match note {
            0 => Self::Nothing,
            1 => Self::Times,
            _ => SpanKind::ALL.get(usize::from(note - 2)).map_or(Self::Times, |&kind| Self::Spans(kind)),
        }
    }
}

/// For a call with `index`: with the core of this thread if it is that worker, with none where it
/// runs the index of another one.
#[inline]
pub(super) fn worker_with(index: usize) -> Worker {
    let index = WorkerIndex(index);
    Worker { index, core: identity().filter(|me| me.index() == index).and_then(Identity::core) }
}

impl Wrap for AffinityPool {
    #[inline]
    fn call(&self, closure: &(impl Fn(usize) -> u64 + Sync), index: usize, note: u8) {
        keep_pinned(self.pin_state, &self.topology);
        let noted = Noted::of(note);
        let began = (noted != Noted::Nothing).then(|| self.begin_timed(index));
        // One call of it: so what many rounds run is there once.
        let idle = closure(index);
        if let Some(began) = began {
            self.end_timed(index, began, idle, noted.spans());
        }
    }
}

impl AffinityPool {
    /// To be called before a call with `index` whose times are noted. Returns when it begins.
    #[inline(never)]
    fn begin_timed(&self, index: usize) -> u64 {
        let began = now();
        if index == WorkerIndex::LEADER.0 {
            self.counters.leader.begin(began);
        }
        began
    }

    /// To be called after it: notes on the account of this thread what the call took.
    #[inline(never)]
    fn end_timed(&self, index: usize, began: u64, idle: u64, recorded: Option<SpanKind>) {
        let call = CallTimes { began, ended: now(), idle };
        match identity() {
            Some(me) if me.index() == WorkerIndex::LEADER => self.note_led(WorkerIndex(index), call, recorded),
            Some(me) => self.note_followed(me, call, recorded),
            None => {}
        }
    }

    /// Notes that this thread, the worker `me`, made the `call`.
    fn note_followed(&self, me: Identity, call: CallTimes, recorded: Option<SpanKind>) {
        let looked = recorded.map_or_else(Looked::default, |_| self.look(me));
        // Asks the system once in a millisecond at most.
        let core_taken = match self.watchful.then(|| finds_core_taken(call.ended)).flatten() {
            Some(CoreTaken::ByStrangers(taken)) => Some(taken),
            _ => None,
        };
        self.seats[me.index().0 - 1].round.stats.set(RoundStats { call, looked, core_taken });
    }

    /// Notes that this thread, which leads, made the `call` for an index.
    fn note_led(&self, index: WorkerIndex, call: CallTimes, recorded: Option<SpanKind>) {
        let own = index == WorkerIndex::LEADER;
        self.counters.leader.record(call, own);
        if let (Some(kind), false) = (recorded, own) {
            self.record_taken_over(kind, index, call.began..call.ended, self.counters.leader.last_calls().start);
        }
    }

    /// Looks at whether the core of this thread, which leads, or would if others were present, is
    /// taken.
    pub(super) fn watch_leader(&self, now: u64) {
        match self.watchful.then(|| finds_core_taken(now)).flatten() {
            Some(CoreTaken::ByStrangers(_)) => self.leave_taken_core(now),
            Some(CoreTaken::ByOwnThreads) => self.gang.eviction.note_leader_waits(now),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Noted, SpanKind};

    #[test]
    fn what_is_noted_of_a_round_gets_to_the_workers() {
        let all = SpanKind::ALL.map(Noted::Spans).into_iter().chain([Noted::Nothing, Noted::Times]);
        all.for_each(|noted| assert_eq!(Noted::of(noted.note()), noted));
    }
}
