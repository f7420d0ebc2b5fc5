//! Which workers rest between rounds or are left out of them, and for how long. A worker that
//! shares its core with another process rests: it sleeps as soon as it has nothing to do, so that
//! the system owes it the core when it is called. Lock step would wait for a worker whose core is
//! taken by others for the most part: it is left out for a while, and then tried again; it only
//! rests where the leader is no better off. Where the system does not tell whose core is taken,
//! only workers that stay away altogether are noticed.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::{pool::now, sync::OwnU64};

/// A worker is away if it missed rounds of this many nanoseconds altogether, one after another: to
/// wake up takes a twentieth of that.
const AWAY: u64 = 1_000_000;

/// One that rests is away if it missed rounds of this many nanoseconds: the other process on its
/// core has that for 3 or 4 ms at a time, and the leader runs its rows meanwhile.
const AWAY_AT_REST: u64 = 12_000_000;

/// For how long a worker is left out at first, and rests or is left out at most, in nanoseconds:
/// trying again costs a few milliseconds where the core is still taken. Each time is as long as all
/// before it, so a core that is free again stands idle for no longer than it was taken.
const FIRST_BACKOFF: u64 = 20_000_000;
const LONGEST_BACKOFF: u64 = 1_280_000_000;

/// For how long a worker rests at first, in nanoseconds: some frames, for others' work lies between
/// its rounds. To rest costs wake-ups where the core is free again, not to where it is shared some
/// milliseconds now and then.
const FIRST_REST: u64 = 160_000_000;

/// For how long a worker that only stayed away is left out at first, in nanoseconds: something
/// passed by, as likely as not.
const FIRST_BACKOFF_WEAK: u64 = 5_000_000;

/// A worker that stays away because threads of its own process have its core is not suspected again
/// for this many nanoseconds: to find out takes the leader some 100 us.
const EXCUSE: u64 = 20_000_000;

/// How long a verdict about a core holds, in nanoseconds: it takes some turns of the other process,
/// and frames with few rounds give few. If verdicts expired sooner, the leader would think a
/// worker's core free again, move there, and evict the worker.
const RECENT: u64 = 2_000_000_000;

/// A core that is found to be taken on and on for this many nanoseconds is taken for certain: what
/// passes by has it for some tens of milliseconds.
const CERTAIN_AFTER: u64 = 100_000_000;

/// A leader that was moved is left where it is for this many nanoseconds: to move takes some 5 us,
/// and who brings it back again and again has reasons.
const MOVE_INTERVAL: u64 = 1_000_000;

/// The backoff starts over after this many backoffs without another.
const PROBATION: u64 = 2;

/// What speaks for having a worker rest, or leaving it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pool) enum Evidence {
    /// It shares its core, by the system's account of it.
    Sharing,
    /// Its core is taken for the most part, by the same account.
    Account,
    /// It stays away from rounds.
    Absence,
}

impl Evidence {
    fn first_backoff(self) -> u64 {
        match self {
            Self::Sharing => FIRST_REST,
            Self::Account => FIRST_BACKOFF,
            Self::Absence => FIRST_BACKOFF_WEAK,
        }
    }
}

/// How many workers of the gang are left out of rounds, and how many rest. Which ones, each seat's
/// [`WorkerEviction`] says. Written by the thread that leads, in rounds of pools that avoid busy
/// cores, and where it is moved.
#[derive(Default)]
pub(in crate::pool) struct Eviction {
    out_count: AtomicU32,
    /// How many workers rest.
    resting_count: AtomicU32,
    /// Of the core that the leader is on.
    leaders_core: Findings,
    /// Of the core that no worker is pinned to.
    home: Findings,
    /// When the leader was found to wait for threads of its own process last.
    leader_waited_at: OwnU64,
    /// When the leader was last to leave a worker's core.
    leader_moved_at: OwnU64,
}

/// When a core was found to be taken by other processes: the last time, and the first of those that
/// it followed within [`RECENT`] each.
#[derive(Default)]
struct Findings {
    first: OwnU64,
    last: OwnU64,
}

impl Findings {
    fn note(&self, now: u64) {
        if !self.hold(now) {
            self.first.set(now);
        }
        self.last.set(now);
    }

    /// What is known of another core holds for this one from now on.
    fn copy(&self, other: &Self) {
        self.first.set(other.first.get());
        self.last.set(other.last.get());
    }

    /// Whether it was a short time ago.
    fn hold(&self, now: u64) -> bool {
        is_recent(&self.last, now)
    }

    /// Whether it is no passer-by.
    fn are_certain(&self, now: u64) -> bool {
        // Threads that lead in turns may have read the clock in another order.
        let lasted = self.last.get().saturating_sub(self.first.get());
        self.hold(now) && lasted >= CERTAIN_AFTER
    }
}

/// A time in which a worker rests or is left out, each as long as all before it.
#[derive(Default)]
struct Backoff {
    /// When it is over; 0 while there is none.
    until: OwnU64,
    length: OwnU64,
    /// When the last one was over.
    back: OwnU64,
}

impl Backoff {
    #[inline]
    fn is_on(&self) -> bool {
        self.until.get() > 0
    }

    /// Begins: shorter the first time, longer if the last one was over a short time ago.
    fn begin(&self, now: u64, first: u64) {
        let (last, back) = (self.length.get(), self.back.get());
        let again = last > 0 && now.saturating_sub(back) < last * PROBATION;
        let length = if again { (last * 2).clamp(first, LONGEST_BACKOFF) } else { first };
        self.length.set(length);
        self.until.set(now.saturating_add(length));
    }

    /// It is as long again from now on.
    fn extend(&self, now: u64) {
        self.until.set(now.saturating_add(self.length.get()));
    }

    /// Ends it if its time is over. Returns whether it ended.
    fn end_if_over(&self, now: u64) -> bool {
        let until = self.until.get();
        let ends = until > 0 && until <= now;
        if ends {
            self.until.set(0);
            self.back.set(now);
        }
        ends
    }

    /// Its time is over.
    fn cut_short(&self, now: u64) {
        if self.is_on() {
            self.until.set(now);
        }
    }
}

/// What is known of one worker: whether it rests or is left out, and for how long. Written by the
/// thread that leads.
#[derive(Default)]
pub(in crate::pool) struct WorkerEviction {
    out: Backoff,
    rest: Backoff,
    core: Findings,
    /// Nanoseconds of rounds that it missed, one after another.
    missed: OwnU64,
    /// Whether it was found to be away once, and nothing of this process in its way.
    is_suspected: AtomicBool,
    /// Until when rounds that it misses do not count.
    excused_until: OwnU64,
}

impl WorkerEviction {
    #[inline]
    pub(in crate::pool) fn is_out(&self) -> bool {
        self.out.is_on()
    }

    /// Whether the worker is to sleep as soon as it has nothing to do.
    #[inline]
    pub(in crate::pool) fn rests(&self) -> bool {
        self.rest.is_on()
    }

    /// Notes that the worker took part in a round, and whether it found its core to be taken.
    #[inline]
    pub(in crate::pool) fn note_present(&self, taken: bool, now: u64) {
        if self.missed.get() > 0 {
            self.missed.set(0);
            self.is_suspected.store(false, Ordering::Relaxed);
        }
        if taken {
            self.core.note(now);
        }
    }

    /// Whether its core was found to be taken a short time ago.
    pub(in crate::pool) fn is_taken(&self, now: u64) -> bool {
        self.core.hold(now)
    }

    /// Notes that the worker missed a round of this many nanoseconds, which ended `now`; true if it
    /// has been away for too long. One round alone is never too long: something passed by.
    #[cold]
    pub(in crate::pool) fn note_missed(&self, nanoseconds: u64, now: u64) -> bool {
        let away = if self.rests() { AWAY_AT_REST } else { AWAY };
        now >= self.excused_until.get() && self.missed.add(nanoseconds.min(away / 2)) >= away
    }

    /// Notes that the worker is away, and nothing of its own process in its way; true the second
    /// time: who was in its way may have gone just before the first.
    #[cold]
    pub(in crate::pool) fn suspect(&self) -> bool {
        // More than nothing: it is what takes the suspicion back when the worker comes.
        self.missed.set(1);
        self.is_suspected.swap(true, Ordering::Relaxed)
    }

    /// Notes that the worker is away because threads of its own process have its core.
    #[cold]
    pub(in crate::pool) fn excuse(&self, now: u64) {
        self.missed.set(0);
        self.is_suspected.store(false, Ordering::Relaxed);
        self.excused_until.set(now.saturating_add(EXCUSE));
    }
}

impl Eviction {
    /// Whether any of `workers` may be left out of a round that begins now. Others of the gang may
    /// be left out that only a larger pool calls: they cost this one no look at the clock.
    #[inline]
    pub(super) fn is_any_out<'a>(&self, mut workers: impl Iterator<Item = &'a WorkerEviction>) -> bool {
        self.out_count.load(Ordering::Relaxed) > 0 && workers.any(WorkerEviction::is_out)
    }

    /// Whether any of `workers` rests.
    #[inline]
    pub(super) fn does_any_rest<'a>(&self, mut workers: impl Iterator<Item = &'a WorkerEviction>) -> bool {
        self.resting_count.load(Ordering::Relaxed) > 0 && workers.any(WorkerEviction::rests)
    }

    /// To be called before a round: those whose time is over take part again, and stay awake.
    #[inline]
    pub(super) fn prepare<'a>(&self, workers: impl Iterator<Item = &'a WorkerEviction> + Clone) {
        if self.is_any_out(workers.clone()) || self.does_any_rest(workers.clone()) {
            self.call_back(workers, now());
        }
    }

    /// How many workers would not take part in a round that began now. Those whose time is over
    /// would: nothing calls them back before there is a round.
    #[inline]
    pub(super) fn absent<'a>(&self, workers: impl Iterator<Item = &'a WorkerEviction> + Clone) -> usize {
        if self.is_any_out(workers.clone()) { Self::absent_at(workers, now()) } else { 0 }
    }

    #[cold]
    fn absent_at<'a>(workers: impl Iterator<Item = &'a WorkerEviction>, now: u64) -> usize {
        workers.filter(|worker| worker.out.until.get() > now).count()
    }

    #[cold]
    fn call_back<'a>(&self, workers: impl Iterator<Item = &'a WorkerEviction>, now: u64) {
        for worker in workers {
            for (backoff, count) in [(&worker.out, &self.out_count), (&worker.rest, &self.resting_count)] {
                if backoff.end_if_over(now) {
                    count.fetch_sub(1, Ordering::Relaxed);
                }
            }
        }
    }

    /// Notes that the core the leader is on was found to be taken: that of the worker with `owner`,
    /// its own, where it `is_home`, or a spare one.
    pub(super) fn note_leader(&self, owner: Option<&WorkerEviction>, is_home: bool, now: u64) {
        let core = owner.map(|owner| &owner.core).or(is_home.then_some(&self.home));
        core.into_iter().chain([&self.leaders_core]).for_each(|core| core.note(now));
    }

    /// Notes that the leader waits for its core, though for no stranger: it is no better off than a
    /// worker that waits.
    pub(in crate::pool) fn note_leader_waits(&self, now: u64) {
        self.leader_waited_at.set(now);
    }

    /// Notes that the leader is on the core of the worker with `owner` now, or else at home. What
    /// it waited for elsewhere no longer counts.
    pub(super) fn note_leader_moved(&self, owner: Option<&WorkerEviction>) {
        self.leader_waited_at.set(0);
        self.leaders_core.copy(owner.map_or(&self.home, |owner| &owner.core));
    }

    /// Whether the core that no worker is pinned to was found to be taken a short time ago.
    pub(super) fn is_home_taken(&self, now: u64) -> bool {
        self.home.hold(now)
    }

    /// Whether the leader is better off on the core of the worker with `owner` than at home. Not
    /// where both are taken: there two threads on two cores have more than one has.
    pub(super) fn is_better_off_than_home(&self, owner: &WorkerEviction, now: u64) -> bool {
        self.is_home_taken(now) && !owner.is_taken(now)
    }

    /// Notes that the leader leaves a worker's core `now`, unless it did a short time ago: false
    /// then.
    pub(super) fn try_move(&self, now: u64) -> bool {
        let due = now.saturating_sub(self.leader_moved_at.get()) >= MOVE_INTERVAL;
        if due {
            self.leader_moved_at.set(now);
        }
        due
    }

    /// Leaves the worker out of rounds, or has it rest, from the next one on, unless the leader is
    /// no better off: where all cores are taken, more threads that stay have a larger part of them.
    /// To rest does no harm where the leader waits for its own process, or for what passes by.
    #[cold]
    pub(in crate::pool) fn act_on(&self, worker: &WorkerEviction, now: u64, evidence: Evidence) {
        match evidence {
            Evidence::Account | Evidence::Absence if self.is_leader_better_off(now) => {
                self.leave_out(worker, now, evidence);
            }
            Evidence::Account | Evidence::Sharing if !self.leaders_core.are_certain(now) => self.let_rest(worker, now),
            _ => {}
        }
    }

    fn is_leader_better_off(&self, now: u64) -> bool {
        !self.leaders_core.hold(now) && !is_recent(&self.leader_waited_at, now)
    }

    /// All take part again, since the leader is no better off.
    #[cold]
    pub(in crate::pool) fn call_all_back<'a>(&self, workers: impl Iterator<Item = &'a WorkerEviction>, now: u64) {
        for worker in workers {
            worker.out.cut_short(now);
            if self.leaders_core.are_certain(now) {
                worker.rest.cut_short(now);
            }
        }
    }

    /// Has the worker rest; on and on while it is found to share its core even so.
    fn let_rest(&self, worker: &WorkerEviction, now: u64) {
        if worker.rests() {
            worker.rest.extend(now);
        } else {
            worker.rest.begin(now, Evidence::Sharing.first_backoff());
            self.resting_count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Leaves the worker out of rounds from the next one on: shorter the first time, longer if it
    /// was soon left out again.
    #[cold]
    pub(in crate::pool) fn leave_out(&self, worker: &WorkerEviction, now: u64, evidence: Evidence) {
        if worker.is_out() {
            return;
        }
        worker.out.begin(now, evidence.first_backoff());
        worker.missed.set(0);
        worker.is_suspected.store(false, Ordering::Relaxed);
        self.out_count.fetch_add(1, Ordering::Relaxed);
    }
}

fn is_recent(time: &OwnU64, now: u64) -> bool {
    let time = time.get();
    time > 0 && now.saturating_sub(time) < RECENT
}

#[cfg(test)]
mod tests;
