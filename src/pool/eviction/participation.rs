//! Who takes part in rounds, rests between them or is left out, by what each did in the last ones.

use std::ops::Range;

use super::{
    contention::{skip_pause, waits_for_own_threads},
    policy::{Evidence, WorkerEviction},
};
use crate::pool::{
    AffinityPool,
    gang::SharedSeat,
    now,
    words::{Participants, RoundStats, Taken},
};

impl AffinityPool {
    /// How many workers would take part in a round that began now: the others' cores are taken by
    /// other processes. With none but the leader there are no rounds, so its own core is looked at
    /// here.
    #[inline]
    pub(crate) fn present(&self) -> usize {
        let present = self.workers() - if self.watchful { self.gang.eviction.absent(self.evictions()) } else { 0 };
        if present == 1 && self.workers() > 1 {
            self.watch_lone_leader();
        }
        present
    }

    /// Whether `worker` is left out of rounds now. A pool that does not avoid busy cores calls
    /// all its workers, whichever others leave out.
    #[inline]
    pub(crate) fn is_left_out(&self, worker: usize) -> bool {
        worker.checked_sub(1).is_some_and(|seat| self.has_left_out(&self.seats[seat]))
    }

    /// What is kept of the eviction of each worker but the leader.
    pub(super) fn evictions(&self) -> impl Iterator<Item = &WorkerEviction> + Clone {
        self.seats.iter().map(|seat| &*seat.eviction)
    }

    pub(super) fn has_left_out(&self, seat: &SharedSeat) -> bool {
        self.watchful && seat.eviction.is_out()
    }

    /// Whether any worker may be left out of a round that begins now.
    #[inline]
    pub(in crate::pool) fn is_any_out(&self) -> bool {
        self.watchful && self.gang.eviction.is_any_out(self.evictions())
    }

    /// To be called before a round. Workers whose backoff is over take part again: they count as
    /// [`present`](Self::present) from then on. Most rounds find all of `participants` awake and
    /// none left out, and are not `due` to be looked at.
    #[inline]
    pub(in crate::pool) fn prepare_round(&self, participants: Participants, due: bool) {
        if due || self.is_any_out() || self.called(participants).any(|(seat, _)| seat.round.is_asleep()) {
            self.prepare_unusual_round(participants, due);
        }
    }

    /// Where one of `participants` sleeps, it may be that the leader did something else for a
    /// while. If the round is `due`, or one that does not rest has to be woken, rests end that are
    /// over, and the leader leaves the cores of `participants`: it may have come there while they
    /// slept, and to ask for its core is a system call.
    #[inline(never)]
    fn prepare_unusual_round(&self, participants: Participants, due: bool) {
        let is_asleep = |seat: &SharedSeat| seat.round.is_asleep() && !self.has_left_out(seat);
        if self.is_any_out() {
            self.gang.eviction.prepare(self.evictions());
        }
        let sleepers = self.called(participants).filter(|(seat, _)| is_asleep(seat));
        let all_rest = sleepers.map(|(seat, _)| seat.round.rests()).reduce(|all, rests| all && rests);
        if self.watchful && all_rest.is_some() {
            // Before the leader is moved: what it waits for where it goes counts.
            skip_pause(now());
        }
        if !due && all_rest != Some(false) {
            return;
        }
        if self.watchful {
            self.gang.eviction.prepare(self.evictions());
        }
        self.wake_who_rested();
        if self.may_be_on_workers_core() {
            self.leave_workers_core(participants);
        }
    }

    /// Tells workers to stay awake whose rest is over. In rounds of a pool that does not avoid busy
    /// cores no worker rests.
    fn wake_who_rested(&self) {
        let rested = self.seats.iter().filter(|seat| seat.round.rests() && !(self.watchful && seat.eviction.rests()));
        rested.for_each(|seat| seat.round.let_rest(false));
    }

    /// Has a worker that was called rest, or leaves it out of the next rounds, if what it did in
    /// this one speaks for it.
    pub(in crate::pool) fn judge(&self, seat: &SharedSeat, stats: Option<RoundStats>, round: &Range<u64>) {
        let evidence = if self.watchful { self.evidence_against(seat, stats, round) } else { None };
        if let Some(evidence) = evidence {
            self.gang.eviction.act_on(&seat.eviction, round.end, evidence);
            seat.round.let_rest(seat.eviction.rests());
        }
    }

    /// What speaks against a worker that was called.
    fn evidence_against(&self, seat: &SharedSeat, stats: Option<RoundStats>, round: &Range<u64>) -> Option<Evidence> {
        if let Some(stats) = stats {
            seat.eviction.note_present(stats.core_taken.is_some(), round.end);
            return stats.core_taken.map(|taken| match taken {
                Taken::Partly => Evidence::Sharing,
                Taken::Mostly => Evidence::Account,
            });
        }
        self.is_away(seat, round).then_some(Evidence::Absence)
    }

    /// Whether a worker that did not run its index in `round` has been away for too long, and not
    /// because of threads of this process: the leader, which may have been moved to its core, or
    /// others.
    #[cold]
    fn is_away(&self, seat: &SharedSeat, round: &Range<u64>) -> bool {
        if self.is_on_core_of(seat) || !seat.eviction.note_missed(round.end - round.start, round.end) {
            return false;
        }
        let is_excused = seat.thread.get().is_some_and(|&thread| waits_for_own_threads(thread, round.end));
        if is_excused {
            seat.eviction.excuse(round.end);
        }
        !is_excused && seat.eviction.suspect()
    }
}
