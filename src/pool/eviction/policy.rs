//! Who is left out of rounds, and for how long. Lock step would wait for a worker whose core is
//! taken by others: it is left out for a while, and then tried again. Where the system does not
//! tell whose core is taken, only workers that stay away altogether are noticed.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use crate::pool::now;

/// A worker is away if it missed rounds of this many nanoseconds altogether, one after another: to
/// wake up takes a twentieth of that.
const AWAY: u64 = 1_000_000;

/// For how long a worker is left out at first and at most, in nanoseconds: trying again costs a few
/// milliseconds where the core is still taken. Each time is as long as all before it, so a core
/// that is free again stands idle for no longer than it was taken.
const FIRST_BACKOFF: u64 = 20_000_000;
/// As above where a worker only stayed away: something passed by, as likely as not.
const FIRST_BACKOFF_WEAK: u64 = 5_000_000;
const LONGEST_BACKOFF: u64 = 1_280_000_000;

/// A worker that stays away because threads of its own process have its core is not suspected again
/// for this many nanoseconds: to find out takes the leader some 100 us.
const EXCUSE: u64 = 20_000_000;

/// How long a verdict about a core holds, in nanoseconds: it takes some turns of the other
/// process, and frames with few rounds give few.
const RECENT: u64 = 500_000_000;

/// A leader that was moved is left where it is for this many nanoseconds: to move takes some 5 us,
/// and who brings it back again and again has reasons.
const MOVE_INTERVAL: u64 = 1_000_000;

/// The backoff starts over after this many backoffs without an eviction.
const PROBATION: u64 = 2;

/// What speaks for leaving a worker out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pool) enum Evidence {
    /// Its core is taken, by the system's account of it.
    Account,
    /// It stays away from rounds.
    Absence,
}

impl Evidence {
    fn first_backoff(self) -> u64 {
        match self {
            Self::Account => FIRST_BACKOFF,
            Self::Absence => FIRST_BACKOFF_WEAK,
        }
    }
}

/// How many workers of the gang are left out of rounds. Who, each seat's [`Record`] says. Written
/// by the thread that leads, in rounds of pools that avoid busy cores.
#[derive(Default)]
pub(in crate::pool) struct Eviction {
    out_count: AtomicU32,
    /// When the core that the leader is on was found to be taken last; 0 after it moved.
    leader_core_taken_at: AtomicU64,
    /// When the core that no worker is pinned to was found to be taken last.
    home_core_taken_at: AtomicU64,
    /// When the leader was last to leave a worker's core.
    leader_moved_at: AtomicU64,
}

/// What is known of one worker: whether, and for how long, it is left out. Written by the thread
/// that leads.
#[derive(Default)]
pub(in crate::pool) struct Record {
    /// When it may come back; 0 while it takes part.
    until: AtomicU64,
    backoff: AtomicU64,
    /// When it came back last.
    back: AtomicU64,
    /// When its core was found to be taken last.
    core_taken_at: AtomicU64,
    /// Nanoseconds of rounds that it missed, one after another.
    missed: AtomicU64,
    /// Whether it was found to be away once, and nothing of this process in its way.
    is_suspected: AtomicBool,
    /// Until when rounds that it misses do not count.
    excused_until: AtomicU64,
}

impl Record {
    #[inline]
    pub(in crate::pool) fn is_out(&self) -> bool {
        self.until.load(Ordering::Relaxed) > 0
    }

    /// Notes that the worker took part in a round, and whether it found its core to be taken.
    #[inline]
    pub(in crate::pool) fn note_present(&self, taken: bool, now: u64) {
        if self.missed.load(Ordering::Relaxed) > 0 {
            self.missed.store(0, Ordering::Relaxed);
            self.is_suspected.store(false, Ordering::Relaxed);
        }
        if taken {
            self.core_taken_at.store(now, Ordering::Relaxed);
        }
    }

    /// Lets the worker come back, if it is out.
    pub(super) fn end_backoff(&self, now: u64) {
        if self.is_out() {
            self.until.store(now, Ordering::Relaxed);
        }
    }

    /// Whether its core was found to be taken a short time ago.
    pub(in crate::pool) fn is_taken(&self, now: u64) -> bool {
        is_recent(&self.core_taken_at, now)
    }

    /// Notes that the worker missed a round of this many nanoseconds, which ended `now`; true if it
    /// has been away for too long. One round alone is never too long: something passed by.
    #[cold]
    pub(in crate::pool) fn note_missed(&self, nanoseconds: u64, now: u64) -> bool {
        now >= self.excused_until.load(Ordering::Relaxed) && add(&self.missed, nanoseconds.min(AWAY / 2)) >= AWAY
    }

    /// Notes that the worker is away, and nothing of its own process in its way; true the second
    /// time: who was in its way may have gone just before the first.
    #[cold]
    pub(in crate::pool) fn suspect(&self) -> bool {
        // More than nothing: it is what takes the suspicion back when the worker comes.
        self.missed.store(1, Ordering::Relaxed);
        self.is_suspected.swap(true, Ordering::Relaxed)
    }

    /// Notes that the worker is away because threads of its own process have its core.
    #[cold]
    pub(in crate::pool) fn excuse(&self, now: u64) {
        self.missed.store(0, Ordering::Relaxed);
        self.is_suspected.store(false, Ordering::Relaxed);
        self.excused_until.store(now.saturating_add(EXCUSE), Ordering::Relaxed);
    }
}

impl Eviction {
    /// Whether any worker may be left out of a round that begins now.
    #[inline]
    pub(super) fn is_anybody_out(&self) -> bool {
        self.out_count.load(Ordering::Relaxed) > 0
    }

    /// To be called before a round: those whose time is over take part again.
    #[inline]
    pub(super) fn prepare<'a>(&self, records: impl Iterator<Item = &'a Record>) {
        if self.is_anybody_out() {
            self.call_back(records, now());
        }
    }

    /// How many workers would not take part in a round that began now. Those whose time is over
    /// would: nothing calls them back before there is a round.
    #[inline]
    pub(super) fn absent<'a>(&self, records: impl Iterator<Item = &'a Record>) -> usize {
        if self.is_anybody_out() { Self::absent_at(records, now()) } else { 0 }
    }

    #[cold]
    fn absent_at<'a>(records: impl Iterator<Item = &'a Record>, now: u64) -> usize {
        records.filter(|record| record.until.load(Ordering::Relaxed) > now).count()
    }

    #[cold]
    fn call_back<'a>(&self, records: impl Iterator<Item = &'a Record>, now: u64) {
        for record in records.filter(|record| record.is_out()) {
            if record.until.load(Ordering::Relaxed) <= now && record.until.swap(0, Ordering::Relaxed) > 0 {
                record.back.store(now, Ordering::Relaxed);
                self.out_count.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    /// Notes that the core the leader is on was found to be taken: that of the worker with `owner`,
    /// or the one that no worker is pinned to.
    pub(super) fn note_leader(&self, owner: Option<&Record>, now: u64) {
        self.leader_core_taken_at.store(now, Ordering::Relaxed);
        owner.map_or(&self.home_core_taken_at, |owner| &owner.core_taken_at).store(now, Ordering::Relaxed);
    }

    /// The leader is on another core now.
    pub(super) fn forget_leader(&self) {
        self.leader_core_taken_at.store(0, Ordering::Relaxed);
    }

    /// Whether the core that no worker is pinned to was found to be taken a short time ago.
    pub(super) fn is_home_taken(&self, now: u64) -> bool {
        is_recent(&self.home_core_taken_at, now)
    }

    /// Notes that the leader leaves a worker's core `now`, unless it did a short time ago: false
    /// then.
    pub(super) fn try_move(&self, now: u64) -> bool {
        let due = now.saturating_sub(self.leader_moved_at.load(Ordering::Relaxed)) >= MOVE_INTERVAL;
        if due {
            self.leader_moved_at.store(now, Ordering::Relaxed);
        }
        due
    }

    /// Leaves the worker out of rounds from the next one on, unless the leader is no better off:
    /// where all cores are taken, more threads have a larger part of them.
    #[cold]
    pub(in crate::pool) fn leave_out_late(&self, record: &Record, now: u64, evidence: Evidence) {
        if !is_recent(&self.leader_core_taken_at, now) {
            self.leave_out(record, now, evidence);
        }
    }

    /// Leaves the worker out of rounds from the next one on: shorter the first time, longer if it
    /// was soon left out again.
    #[cold]
    pub(in crate::pool) fn leave_out(&self, record: &Record, now: u64, evidence: Evidence) {
        if record.is_out() {
            return;
        }
        let (last, back) = (record.backoff.load(Ordering::Relaxed), record.back.load(Ordering::Relaxed));
        let again = last > 0 && now.saturating_sub(back) < last * PROBATION;
        let first = evidence.first_backoff();
        let backoff = if again { (last * 2).clamp(first, LONGEST_BACKOFF) } else { first };
        record.backoff.store(backoff, Ordering::Relaxed);
        record.missed.store(0, Ordering::Relaxed);
        record.is_suspected.store(false, Ordering::Relaxed);
        record.until.store(now.saturating_add(backoff), Ordering::Relaxed);
        self.out_count.fetch_add(1, Ordering::Relaxed);
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

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn whoever_is_found_out_again_stays_out_longer() {
        let (eviction, records) = (Eviction::default(), [Record::default()]);
        let record = &records[0];
        let mut now = 1;
        let mut backoffs = Vec::new();
        for _ in 0..10 {
            eviction.leave_out(record, now, Evidence::Account);
            assert!(record.is_out());
            backoffs.push(record.backoff.load(Ordering::Relaxed));
            now = record.until.load(Ordering::Relaxed);
            eviction.call_back(records.iter(), now - 1);
            assert!(record.is_out());
            assert_eq!(
                [now - 1, now].map(|now| Eviction::absent_at(records.iter(), now)),
                [1, 0],
                "before it is called back"
            );
            eviction.call_back(records.iter(), now);
            assert!(!record.is_out());
            now += MS;
        }
        assert_eq!(backoffs[..3], [20 * MS, 40 * MS, 80 * MS]);
        assert_eq!(backoffs[9], LONGEST_BACKOFF);
        eviction.leave_out(record, now + PROBATION * LONGEST_BACKOFF, Evidence::Account);
        assert_eq!(record.backoff.load(Ordering::Relaxed), FIRST_BACKOFF);
    }

    #[test]
    fn nobody_is_left_out_where_all_cores_are_taken() {
        let (eviction, record) = (Eviction::default(), Record::default());
        eviction.note_leader(None, MS);
        eviction.leave_out_late(&record, 2 * MS, Evidence::Account);
        assert!(!record.is_out());
        eviction.leave_out_late(&record, 2 * MS + RECENT, Evidence::Account);
        assert!(record.is_out());
    }

    #[test]
    fn who_only_stays_away_is_tried_again_soon() {
        let (eviction, records) = (Eviction::default(), [Record::default()]);
        let record = &records[0];
        let mut now = 1;
        let mut backoff_by = |evidence| {
            eviction.leave_out(record, now, evidence);
            now = record.until.load(Ordering::Relaxed);
            eviction.call_back(records.iter(), now);
            record.backoff.load(Ordering::Relaxed)
        };
        let backoffs =
            [Evidence::Absence, Evidence::Absence, Evidence::Account, Evidence::Absence].map(&mut backoff_by);
        assert_eq!(backoffs, [5 * MS, 10 * MS, 20 * MS, 40 * MS]);
    }

    #[test]
    fn who_misses_rounds_one_after_another_is_away() {
        let record = Record::default();
        assert!((0..19).all(|_| !record.note_missed(AWAY / 20, 1)));
        record.note_present(false, 1);
        assert!(!record.note_missed(10 * AWAY, 1), "one long round");
        assert!(record.note_missed(AWAY, 1));
    }

    #[test]
    fn who_comes_back_in_time_is_no_longer_suspected() {
        let record = Record::default();
        assert!(!record.suspect() && record.suspect());
        record.note_present(false, 1);
        assert!(!record.suspect());
        record.excuse(1);
        assert!(!record.suspect());
    }

    #[test]
    fn who_is_excused_is_not_away_for_a_while() {
        let record = Record::default();
        assert!(!record.note_missed(AWAY, 1) && record.note_missed(AWAY, 1));
        record.excuse(MS);
        assert!((0..10).all(|_| !record.note_missed(AWAY, EXCUSE)));
        assert!(!record.note_missed(AWAY, EXCUSE + MS) && record.note_missed(AWAY, EXCUSE + MS));
    }
}
