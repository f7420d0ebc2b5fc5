//! Who takes part in rounds. Lock step would wait for a worker whose core is taken by others: it is
//! left out for a while, and then tried again. Where the system does not tell whose core is taken,
//! only workers that stay away altogether are noticed.

use std::{
    ptr,
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
};

use super::{AffinityPool, gang::SharedSeat, now};
use crate::{
    settings::Pinning,
    topology::{current_core, move_current_thread_to},
};

/// A worker is away if it missed rounds of this many nanoseconds altogether, one after another: to
/// wake up takes a twentieth of that.
const AWAY: u64 = 1_000_000;

/// For how long a worker is left out at first and at most, in nanoseconds: trying again costs a few
/// milliseconds where the core is still taken. Each time is as long as all before it, so a core
/// that is free again stands idle for no longer than it was taken.
const FIRST_BACKOFF: u64 = 20_000_000;
const LONGEST_BACKOFF: u64 = 1_280_000_000;

/// How long a verdict about a core holds, in nanoseconds: it takes some turns of the other
/// process, and frames with few rounds give few.
const RECENT: u64 = 500_000_000;

/// A leader that was moved is left where it is for this many nanoseconds: to move takes some 5 us,
/// and who brings it back again and again has reasons.
const MOVE_INTERVAL: u64 = 1_000_000;

/// The backoff starts over after this many backoffs without an eviction.
const PROBATION: u64 = 2;

/// How many workers of the gang are left out of rounds. Who, each seat's [`Record`] says. Written
/// by the thread that leads, in rounds of pools that avoid busy cores.
#[derive(Default)]
pub(super) struct Eviction {
    out: AtomicU32,
    /// When the core that the leader is on was found to be taken last; 0 after it moved.
    leader: AtomicU64,
    /// When the core that no worker is pinned to was found to be taken last.
    home: AtomicU64,
    /// When the leader was last to leave a worker's core.
    moved: AtomicU64,
}

/// What is known of one worker: whether, and for how long, it is left out. Written by the thread
/// that leads.
#[derive(Default)]
pub(super) struct Record {
    /// When it may come back; 0 while it takes part.
    until: AtomicU64,
    backoff: AtomicU64,
    /// When it came back last.
    back: AtomicU64,
    /// When its core was found to be taken last.
    taken: AtomicU64,
    /// Nanoseconds of rounds that it missed, one after another.
    missed: AtomicU64,
}

impl Record {
    #[inline]
    pub(super) fn is_out(&self) -> bool {
        self.until.load(Ordering::Relaxed) > 0
    }

    /// Notes that the worker took part in a round, and whether it found its core to be taken.
    #[inline]
    pub(super) fn present(&self, taken: bool, now: u64) {
        if self.missed.load(Ordering::Relaxed) > 0 {
            self.missed.store(0, Ordering::Relaxed);
        }
        if taken {
            self.taken.store(now, Ordering::Relaxed);
        }
    }

    /// Lets the worker come back, if it is out.
    fn end_penalty(&self, now: u64) {
        if self.is_out() {
            self.until.store(now, Ordering::Relaxed);
        }
    }

    /// Whether its core was found to be taken a short time ago.
    pub(super) fn is_taken(&self, now: u64) -> bool {
        is_recent(&self.taken, now)
    }

    /// Notes that the worker missed a round of this many nanoseconds; true if it has been away for
    /// too long. One round alone is never too long: something passed by.
    #[cold]
    pub(super) fn missing(&self, nanoseconds: u64) -> bool {
        add(&self.missed, nanoseconds.min(AWAY / 2)) >= AWAY
    }
}

impl Eviction {
    /// To be called before a round: those whose time is over take part again.
    #[inline]
    pub(super) fn prepare(&self, seats: &[SharedSeat]) {
        if self.out.load(Ordering::Relaxed) > 0 {
            self.call_back(seats, now());
        }
    }

    /// How many workers would not take part in a round that began now. Those whose time is over
    /// would: nothing calls them back before there is a round.
    #[inline]
    pub(super) fn absent(&self, seats: &[SharedSeat]) -> usize {
        if self.out.load(Ordering::Relaxed) > 0 { Self::absent_at(seats, now()) } else { 0 }
    }

    #[cold]
    fn absent_at(seats: &[SharedSeat], now: u64) -> usize {
        seats.iter().filter(|seat| seat.record.until.load(Ordering::Relaxed) > now).count()
    }

    #[cold]
    fn call_back(&self, seats: &[SharedSeat], now: u64) {
        for seat in seats.iter().filter(|seat| seat.record.is_out()) {
            let record = &seat.record;
            if record.until.load(Ordering::Relaxed) <= now && record.until.swap(0, Ordering::Relaxed) > 0 {
                record.back.store(now, Ordering::Relaxed);
                self.out.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    /// Notes that the leader's core was found to be taken.
    pub(super) fn note_leader(&self, now: u64) {
        self.leader.store(now, Ordering::Relaxed);
    }

    /// The leader is on another core now.
    fn forget_leader(&self) {
        self.leader.store(0, Ordering::Relaxed);
    }

    /// Leaves the worker out of rounds from the next one on, unless the leader is no better off:
    /// where all cores are taken, more threads have a larger part of them.
    #[cold]
    pub(super) fn leave_out_late(&self, record: &Record, now: u64) {
        if !is_recent(&self.leader, now) {
            self.leave_out(record, now);
        }
    }

    /// Leaves the worker out of rounds from the next one on: shorter the first time, longer if it
    /// was soon left out again.
    #[cold]
    pub(super) fn leave_out(&self, record: &Record, now: u64) {
        if record.is_out() {
            return;
        }
        let (last, back) = (record.backoff.load(Ordering::Relaxed), record.back.load(Ordering::Relaxed));
        let again = last > 0 && now.saturating_sub(back) < last * PROBATION;
        let backoff = if again { (last * 2).min(LONGEST_BACKOFF) } else { FIRST_BACKOFF };
        record.backoff.store(backoff, Ordering::Relaxed);
        record.missed.store(0, Ordering::Relaxed);
        record.until.store(now.saturating_add(backoff), Ordering::Relaxed);
        self.out.fetch_add(1, Ordering::Relaxed);
    }
}

fn is_recent(time: &AtomicU64, now: u64) -> bool {
    let time = time.load(Ordering::Relaxed);
    time > 0 && now.saturating_sub(time) < RECENT
}

fn add(counter: &AtomicU64, amount: u64) -> u64 {
    let sum = counter.load(Ordering::Relaxed) + amount;
    counter.store(sum, Ordering::Relaxed);
    sum
}

impl AffinityPool {
    /// How many workers would take part in a round that began now: the others' cores are taken by
    /// other processes.
    #[inline]
    pub(crate) fn present(&self) -> usize {
        self.workers() - if self.watchful { self.gang.eviction.absent(&self.seats) } else { 0 }
    }

    /// Whether `worker` is left out of rounds now. A pool that does not avoid busy cores calls
    /// everybody, whomever others leave out.
    #[inline]
    pub(crate) fn is_left_out(&self, worker: usize) -> bool {
        worker.checked_sub(1).is_some_and(|seat| self.has_left_out(&self.seats[seat]))
    }

    fn has_left_out(&self, seat: &SharedSeat) -> bool {
        self.watchful && seat.record.is_out()
    }

    /// Whether any worker may be left out of a round that begins now.
    #[inline]
    pub(super) fn is_anybody_out(&self) -> bool {
        self.watchful && self.gang.eviction.out.load(Ordering::Relaxed) > 0
    }

    /// How many rounds each worker was left out of so far, by worker index, because its core was
    /// busy with something else.
    pub fn rounds_left_out(&self) -> impl Iterator<Item = u64> + '_ {
        self.counters.iter().map(|counters| counters.left_out())
    }

    /// To be called before a round: whose time is over takes part again, and the leader is on none
    /// of the cores of those who do.
    #[inline]
    pub(super) fn prepare_round(&self) {
        if self.watchful {
            self.gang.eviction.prepare(&self.seats);
        }
        if self.pin_state.pinning == Pinning::Core && current_core() != self.topology.cores.first().map(|core| core.id)
        {
            self.leave_workers_core();
        }
    }

    /// Moves the leader home from the core of a worker that takes part in rounds, or leaves the
    /// worker out if that core is taken, or if the application keeps this thread from it. The
    /// leader comes to be there when it wakes up while the workers sleep; called, the worker would
    /// wait for its core, and the leader would run its rows.
    #[cold]
    fn leave_workers_core(&self) {
        let Some(seat) = self.owner_of_this_core().filter(|seat| !self.has_left_out(seat)) else { return };
        let (eviction, now) = (&self.gang.eviction, now());
        if now.saturating_sub(eviction.moved.load(Ordering::Relaxed)) < MOVE_INTERVAL {
            return;
        }
        eviction.moved.store(now, Ordering::Relaxed);
        let went_home = !is_recent(&eviction.home, now) && self.move_leader(0);
        if !went_home && self.watchful {
            eviction.leave_out(&seat.record, now);
        }
    }

    /// Moves the leader off a core that is taken: a round waits for nobody as it does for the
    /// leader. From a worker's core it goes home, to the core that no worker is pinned to; if that
    /// is taken too, to the core of the last worker that is better off, which is left out. Where
    /// nobody is better off all take part again: together they have a larger part of the cores.
    #[cold]
    pub(super) fn leave_taken_core(&self, now: u64) {
        let eviction = &self.gang.eviction;
        eviction.note_leader(now);
        match self.owner_of_this_core() {
            Some(seat) => seat.record.taken.store(now, Ordering::Relaxed),
            None => eviction.home.store(now, Ordering::Relaxed),
        }
        if !is_recent(&eviction.home, now) && self.move_leader(0) {
            return;
        }
        let is_better_off = |seat: &SharedSeat| !seat.record.is_out() && !seat.record.is_taken(now);
        let mut better_off = self.seats.iter().enumerate().filter(|(_, seat)| is_better_off(seat));
        let Some((last, seat)) = better_off.next_back() else {
            return self.seats.iter().for_each(|seat| seat.record.end_penalty(now));
        };
        eviction.leave_out(&seat.record, now);
        self.move_leader(last + 1);
    }

    /// Whether this thread is on the core that the worker is pinned to.
    #[cold]
    pub(super) fn is_on_core_of(&self, seat: &SharedSeat) -> bool {
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
        let core = self.topology.cores.get(worker).filter(|_| self.pin_state.pinning == Pinning::Core);
        let moved = core.is_some_and(|core| move_current_thread_to(core.id).is_ok());
        if moved {
            self.gang.eviction.forget_leader();
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn whoever_is_found_out_again_stays_out_longer() {
        let (eviction, seats) = (Eviction::default(), [SharedSeat::default()]);
        let record = &seats[0].record;
        let mut now = 1;
        let mut backoffs = Vec::new();
        for _ in 0..10 {
            eviction.leave_out(record, now);
            assert!(record.is_out());
            backoffs.push(record.backoff.load(Ordering::Relaxed));
            now = record.until.load(Ordering::Relaxed);
            eviction.call_back(&seats, now - 1);
            assert!(record.is_out());
            assert_eq!([now - 1, now].map(|now| Eviction::absent_at(&seats, now)), [1, 0], "before it is called back");
            eviction.call_back(&seats, now);
            assert!(!record.is_out());
            now += MS;
        }
        assert_eq!(backoffs[..3], [20 * MS, 40 * MS, 80 * MS]);
        assert_eq!(backoffs[9], LONGEST_BACKOFF);
        eviction.leave_out(record, now + PROBATION * LONGEST_BACKOFF);
        assert_eq!(record.backoff.load(Ordering::Relaxed), FIRST_BACKOFF);
    }

    #[test]
    fn nobody_is_left_out_where_all_cores_are_taken() {
        let (eviction, record) = (Eviction::default(), Record::default());
        eviction.note_leader(MS);
        eviction.leave_out_late(&record, 2 * MS);
        assert!(!record.is_out());
        eviction.leave_out_late(&record, 2 * MS + RECENT);
        assert!(record.is_out());
    }

    #[test]
    fn who_misses_rounds_one_after_another_is_away() {
        let record = Record::default();
        assert!((0..19).all(|_| !record.missing(AWAY / 20)));
        record.present(false, 1);
        assert!(!record.missing(10 * AWAY), "one long round");
        assert!(record.missing(AWAY));
    }
}
