//! What a pool does about cores that are taken: whom it calls, and where its leader runs.

use std::ptr;

use super::policy::{Evidence, Record};
use crate::{
    ablation::Mechanism,
    pool::{AffinityPool, gang::SharedSeat, now},
    settings::Pinning,
    topology::{current_core, move_current_thread_to},
};

impl AffinityPool {
    /// How many workers would take part in a round that began now: the others' cores are taken by
    /// other processes. With none but the leader there are no rounds, so its own core is looked at
    /// here.
    #[inline]
    pub(crate) fn present(&self) -> usize {
        let present = self.workers() - if self.watchful { self.gang.eviction.absent(self.records()) } else { 0 };
        if present == 1 && self.workers() > 1 {
            self.watch_lone_leader();
        }
        present
    }

    #[cold]
    fn watch_lone_leader(&self) {
        // What is known of cores is written by the thread that holds the lead.
        if let Some(_lead) = self.gang.board.try_lead() {
            self.watch_leader(now());
        }
    }

    /// Whether `worker` is left out of rounds now. A pool that does not avoid busy cores calls
    /// all its workers, whichever others leave out.
    #[inline]
    pub(crate) fn is_left_out(&self, worker: usize) -> bool {
        worker.checked_sub(1).is_some_and(|seat| self.has_left_out(&self.seats[seat]))
    }

    /// The records of all workers but the leader.
    fn records(&self) -> impl Iterator<Item = &Record> {
        self.seats.iter().map(|seat| &*seat.record)
    }

    fn has_left_out(&self, seat: &SharedSeat) -> bool {
        self.watchful && seat.record.is_out()
    }

    /// Whether any worker may be left out of a round that begins now.
    #[inline]
    pub(in crate::pool) fn is_anybody_out(&self) -> bool {
        self.watchful && self.gang.eviction.is_anybody_out()
    }

    /// To be called before a round: whose time is over takes part again, and the leader is on none
    /// of the cores of those workers. Both are looked at if the round is `due`, or if a worker that
    /// does not rest has to be woken, which is when the leader may have come to be on its core: to
    /// ask for the core is a system call.
    #[inline]
    pub(in crate::pool) fn prepare_round(&self, due: bool) {
        let is_to_be_woken =
            |seat: &SharedSeat| seat.round.is_asleep() && !seat.round.rests() && !self.has_left_out(seat);
        if !due && !self.seats.iter().any(is_to_be_woken) {
            return;
        }
        if self.watchful {
            self.gang.eviction.prepare(self.records());
        }
        self.wake_who_rested();
        if !Mechanism::LeaderMoves.is_out()
            && self.pin_state.pinning == Pinning::Core
            && current_core() != self.topology.cores.first().map(|core| core.id)
        {
            self.leave_workers_core();
        }
    }

    /// Tells workers to stay awake whose rest is over. In rounds of a pool that does not avoid busy
    /// cores no worker rests.
    fn wake_who_rested(&self) {
        let rested = self.seats.iter().filter(|seat| seat.round.rests() && !(self.watchful && seat.record.rests()));
        rested.for_each(|seat| seat.round.let_rest(false));
    }

    /// Moves the leader home from the core of a worker that takes part in rounds, or leaves the
    /// worker out if that core is taken, or if the application keeps this thread from it. The
    /// leader comes to be there when it wakes up while the workers sleep; called, the worker would
    /// wait for its core, and the leader would run its rows.
    #[cold]
    fn leave_workers_core(&self) {
        let Some(seat) = self.owner_of_this_core().filter(|seat| !self.has_left_out(seat)) else { return };
        let (eviction, now) = (&self.gang.eviction, now());
        if !eviction.try_move(now) {
            return;
        }
        let went_home = !eviction.is_home_taken(now) && self.move_leader(0);
        if !went_home && self.watchful {
            eviction.leave_out(&seat.record, now, Evidence::Account);
        }
    }

    /// Moves the leader off a core that is taken: a round waits for no one as it does for the
    /// leader. From a worker's core it goes home, to the core that no worker is pinned to; if that
    /// is taken too, to the core of the last worker that is better off, which is left out. Where
    /// none is better off all take part again: together they have a larger part of the cores.
    #[cold]
    pub(in crate::pool) fn leave_taken_core(&self, now: u64) {
        let eviction = &self.gang.eviction;
        eviction.note_leader(self.owner_of_this_core().map(|seat| &*seat.record), now);
        if !eviction.is_home_taken(now) && self.move_leader(0) {
            return;
        }
        let is_better_off = |seat: &SharedSeat| !seat.record.is_out() && !seat.record.is_taken(now);
        let mut better_off = self.seats.iter().enumerate().filter(|(_, seat)| is_better_off(seat));
        let Some((last, seat)) = better_off.next_back() else {
            return self.records().for_each(|record| record.end_backoff(now));
        };
        eviction.leave_out(&seat.record, now, Evidence::Account);
        self.move_leader(last + 1);
    }

    /// Whether this thread is on the core that the worker is pinned to.
    #[cold]
    pub(in crate::pool) fn is_on_core_of(&self, seat: &SharedSeat) -> bool {
        self.owner_of_this_core().is_some_and(|owner| ptr::eq(owner, seat))
    }

    /// The worker that is pinned to the core that this thread is on.
    fn owner_of_this_core(&self) -> Option<&SharedSeat> {
        let here = current_core().filter(|_| self.pin_state.pinning == Pinning::Core)?;
        let mut workers = self.topology.cores.iter().skip(1).zip(self.seats.iter());
        workers.find(|(core, _)| core.id == here).map(|(_, seat)| seat)
    }

    /// Moves the leader to the core of `worker`; false where cores are not told apart, and where
    /// the application keeps this thread to other cores.
    fn move_leader(&self, worker: usize) -> bool {
        let is_told_apart = self.pin_state.pinning == Pinning::Core && !Mechanism::LeaderMoves.is_out();
        let core = self.topology.cores.get(worker).filter(|_| is_told_apart);
        let moved = core.is_some_and(|core| move_current_thread_to(core.id).is_ok());
        if moved {
            self.gang.eviction.forget_leader();
        }
        moved
    }
}
