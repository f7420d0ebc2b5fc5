//! Where the leader runs: every round waits for it, so it leaves a core that is taken, and those of
//! its workers.

use std::ptr;

use super::{contention::note_core, policy::Evidence};
use crate::{
    ablation::Mechanism,
    pool::{AffinityPool, gang::SharedSeat, now, words::Participants},
    settings::Pinning,
    topology::{current_core, move_current_thread_to},
};

impl AffinityPool {
    /// Whether this thread, which leads, is on another core than its own.
    pub(super) fn may_be_on_workers_core(&self) -> bool {
        !Mechanism::LeaderMoves.is_out() && self.pin_state.pinning == Pinning::Core && !self.is_at_home()
    }

    /// Whether this thread is on the core that no worker is pinned to.
    fn is_at_home(&self) -> bool {
        current_core() == self.topology.cores.first().map(|core| core.id)
    }

    /// Looks at the leader's own core, where there are no rounds for want of other workers.
    #[cold]
    pub(super) fn watch_lone_leader(&self) {
        // What is known of cores is written by the thread that holds the lead.
        if let Some(_lead) = self.gang.board.try_lead() {
            self.watch_leader(now());
        }
    }

    /// Moves the leader home from the core of a worker that takes part in rounds, or leaves the
    /// worker out if the leader is better off here, or if the application keeps it from its home.
    /// The leader comes to be there when it wakes up while the workers sleep; called, the worker
    /// would wait for its core, and the leader would run its rows. Nothing is done unless that
    /// worker is one of `participants`.
    #[cold]
    pub(super) fn leave_workers_core(&self, participants: Participants) {
        let takes_part = |&(worker, seat): &(usize, &SharedSeat)| participants.has(worker) && !self.has_left_out(seat);
        let Some((_, seat)) = self.owner_of_this_core().filter(takes_part) else { return };
        let (eviction, now) = (&self.gang.eviction, now());
        if !eviction.try_move(now) {
            return;
        }
        let went_home = !eviction.is_better_off_than_home(&seat.eviction, now) && self.move_leader(0);
        if !went_home && self.watchful {
            eviction.leave_out(&seat.eviction, now, Evidence::Account);
        }
    }

    /// Moves the leader off a core that is taken: a round waits for no one as it does for the
    /// leader. From a worker's core it goes home, to the core that no worker is pinned to; if that
    /// is taken too, to the core of the last worker that is better off, which is left out. Where
    /// none is better off all take part again: together they have a larger part of the cores. A
    /// leader that cannot move stays, and so do its workers.
    #[cold]
    pub(in crate::pool) fn leave_taken_core(&self, now: u64) {
        let eviction = &self.gang.eviction;
        eviction.note_leader(self.owner_of_this_core().map(|(_, seat)| &*seat.eviction), self.is_at_home(), now);
        if !eviction.is_home_taken(now) && self.move_leader(0) {
            return;
        }
        let is_better_off = |seat: &SharedSeat| !seat.eviction.is_out() && !seat.eviction.is_taken(now);
        let mut better_off = self.seats.iter().enumerate().filter(|(_, seat)| is_better_off(seat));
        let Some((last, seat)) = better_off.next_back() else {
            return eviction.call_all_back(self.evictions(), now);
        };
        if self.move_leader(last + 1) {
            eviction.leave_out(&seat.eviction, now, Evidence::Account);
        }
    }

    /// Whether this thread is on the core that the worker is pinned to.
    #[cold]
    pub(super) fn is_on_core_of(&self, seat: &SharedSeat) -> bool {
        self.owner_of_this_core().is_some_and(|(_, owner)| ptr::eq(owner, seat))
    }

    /// The worker that is pinned to the core that this thread is on.
    fn owner_of_this_core(&self) -> Option<(usize, &SharedSeat)> {
        let here = current_core().filter(|_| self.pin_state.pinning == Pinning::Core)?;
        let is_here = |worker: usize| self.topology.cores.get(worker).is_some_and(|core| core.id == here);
        (1..).zip(self.seats.iter()).find(|&(worker, _)| is_here(worker))
    }

    /// Moves the leader to the core of `worker`; false where cores are not told apart, and where
    /// the application keeps this thread to other cores.
    fn move_leader(&self, worker: usize) -> bool {
        let is_told_apart = self.pin_state.pinning == Pinning::Core && !Mechanism::LeaderMoves.is_out();
        let Some(core) = self.topology.cores.get(worker).filter(|_| is_told_apart) else { return false };
        note_core();
        let moved = move_current_thread_to(core.id).is_ok();
        if moved {
            let owner = worker.checked_sub(1).map(|seat| &*self.seats[seat].eviction);
            self.gang.eviction.note_leader_moved(owner);
        }
        moved
    }
}
