//! Workers whose core is taken: a thread that is pinned cannot leave a core that another process is busy on, and lock step would wait for it. Such a worker
//! is left out of rounds for a while, and then tried again.
//!
//! How long a thread was ready to run and did not is counted by the system: no guess from times, which rows that became dearer would fool. Where it is
//! not counted, only workers that stay away altogether are noticed.

use std::{
    cell::RefCell,
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
};

use super::{gang::SharedSeat, now};

/// How often at most a thread asks, in nanoseconds: a system call of some 600 ns.
const INTERVAL: u64 = 1_000_000;

/// So much time, running and waiting together, makes a verdict; in nanoseconds. A process that takes turns on the core has it for 3 ms and more at a time.
const WINDOW: u64 = 2_000_000;

/// A core is taken if one part in so many of the time went to waiting for it.
const LARGEST_PART: u64 = 5;

/// A worker is away if it missed rounds of so many nanoseconds altogether, one after another: to wake up takes a twentieth of that.
const AWAY: u64 = 1_000_000;

/// For how long a worker is left out at first and at most, in nanoseconds: trying again costs a few milliseconds where the core is still taken.
const FIRST_PENALTY: u64 = 20_000_000;
const LONGEST_PENALTY: u64 = 1_000_000_000;

/// Whoever stays for so many penalties after coming back begins with the first penalty again.
const PROBATION: u64 = 8;

/// What a thread knows of itself.
#[derive(Default)]
struct Watch {
    source: Option<source::Source>,
    asked: u64,
    last: Waited,
    window: Waited,
}

/// How long a thread ran, and how long it waited for a core although it could have run; in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Waited {
    ran: u64,
    waited: u64,
}

impl Watch {
    fn ask(&mut self, now: u64) -> bool {
        self.asked = now;
        let waited = self.source.get_or_insert_with(source::Source::open).read();
        waited.is_some_and(|waited| self.judge(waited))
    }

    /// Whether the core is taken by others, as far as the time since the last verdict tells.
    fn judge(&mut self, total: Waited) -> bool {
        let first = self.last == Waited::default();
        self.window.ran += total.ran.saturating_sub(self.last.ran);
        self.window.waited += total.waited.saturating_sub(self.last.waited);
        self.last = total;
        if first {
            // What was before the first round belongs to no round.
            self.window = Waited::default();
        }
        let Waited { ran, waited } = self.window;
        if ran + waited < WINDOW {
            return false;
        }
        self.window = Waited::default();
        waited >= (ran + waited) / LARGEST_PART
    }
}

thread_local! {
    static WATCH: RefCell<Watch> = RefCell::default();
}

/// Whether the core of this thread was found to be taken, at `now`; asks the system once in a millisecond at most.
#[inline]
pub(super) fn is_core_taken(now: u64) -> bool {
    WATCH.with_borrow_mut(|watch| now.saturating_sub(watch.asked) >= INTERVAL && watch.ask(now))
}

/// How many workers of the gang are left out of rounds. Who, each seat's [`Record`] says. Written by the thread that leads.
#[derive(Default)]
pub(super) struct Attendance {
    out: AtomicU32,
    /// When the leader's core was found to be taken last.
    leader: AtomicU64,
}

/// What is known of the attendance of one worker. Written by the thread that leads.
#[derive(Default)]
pub(super) struct Record {
    /// When it may come back; 0 while it takes part.
    until: AtomicU64,
    penalty: AtomicU64,
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

    /// Whether its core was found to be taken a short time ago.
    pub(super) fn is_taken(&self, now: u64) -> bool {
        is_recent(&self.taken, now)
    }

    /// Notes that the worker missed a round of so many nanoseconds; true if it has been away for too long.
    #[cold]
    pub(super) fn missing(&self, nanoseconds: u64) -> bool {
        add(&self.missed, nanoseconds) >= AWAY
    }
}

impl Attendance {
    /// To be called before a round: those whose time is over take part again, and the seats know who does not.
    #[inline]
    pub(super) fn prepare(&self, seats: &[SharedSeat]) {
        if self.out.load(Ordering::Relaxed) > 0 {
            self.call_back(seats, now());
        }
    }

    /// How many workers would not take part in a round that began now. Those whose time is over would: nobody calls them back before there is a round.
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
            let out = record.until.load(Ordering::Relaxed) > now;
            if !out {
                record.until.store(0, Ordering::Relaxed);
                record.back.store(now, Ordering::Relaxed);
                self.out.fetch_sub(1, Ordering::Relaxed);
            }
            seat.leave_out(out);
        }
    }

    /// Notes that the leader's core was found to be taken.
    pub(super) fn note_leader(&self, now: u64) {
        self.leader.store(now, Ordering::Relaxed);
    }

    /// Leaves the worker out of rounds from the next one on, unless the leader is no better off: where all cores are taken, more threads have a larger part of
    /// them.
    #[cold]
    pub(super) fn leave_out_late(&self, record: &Record, now: u64) {
        if !is_recent(&self.leader, now) {
            self.leave_out(record, now);
        }
    }

    /// Leaves the worker out of rounds from the next one on: shorter the first time, longer if it was soon left out again.
    #[cold]
    pub(super) fn leave_out(&self, record: &Record, now: u64) {
        if record.is_out() {
            return;
        }
        let (last, back) = (record.penalty.load(Ordering::Relaxed), record.back.load(Ordering::Relaxed));
        let again = last > 0 && now.saturating_sub(back) < last * PROBATION;
        let penalty = if again { (last * 2).min(LONGEST_PENALTY) } else { FIRST_PENALTY };
        record.penalty.store(penalty, Ordering::Relaxed);
        record.missed.store(0, Ordering::Relaxed);
        record.until.store(now + penalty, Ordering::Relaxed);
        self.out.fetch_add(1, Ordering::Relaxed);
    }
}

fn is_recent(time: &AtomicU64, now: u64) -> bool {
    let time = time.load(Ordering::Relaxed);
    time > 0 && now.saturating_sub(time) < FIRST_PENALTY
}

fn add(counter: &AtomicU64, amount: u64) -> u64 {
    let sum = counter.load(Ordering::Relaxed) + amount;
    counter.store(sum, Ordering::Relaxed);
    sum
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod source {
    use std::{fs::File, os::unix::fs::FileExt};

    use super::Waited;

    /// The scheduler's account of the thread that opened it; nothing where the kernel keeps none.
    pub(super) struct Source(Option<File>);

    impl Source {
        pub(super) fn open() -> Self {
            Self(File::open("/proc/thread-self/schedstat").ok())
        }

        pub(super) fn read(&self) -> Option<Waited> {
            let mut text = [0; 64];
            let length = self.0.as_ref()?.read_at(&mut text, 0).ok()?;
            let mut numbers = std::str::from_utf8(&text[..length]).ok()?.split_ascii_whitespace();
            let mut next = || numbers.next()?.parse().ok();
            Some(Waited { ran: next()?, waited: next()? })
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod source {
    use super::Waited;

    /// This system does not tell.
    pub(super) struct Source;

    impl Source {
        pub(super) fn open() -> Self {
            Self
        }

        pub(super) fn read(&self) -> Option<Waited> {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn judge(watch: &mut Watch, ran: u64, waited: u64) -> bool {
        let last = watch.last;
        watch.judge(Waited { ran: last.ran + ran, waited: last.waited + waited })
    }

    #[test]
    fn a_core_that_others_use_is_noticed_and_a_late_wake_up_is_not() {
        let mut watch = Watch::default();
        assert!(!judge(&mut watch, 50 * MS, 50 * MS), "what was before counts for nothing");
        for _ in 0..10 {
            assert!(!judge(&mut watch, MS, 50_000));
        }
        assert!(judge(&mut watch, MS, 3 * MS));
        assert!(!judge(&mut watch, 3 * MS, 0));
        let verdicts: Vec<_> = (0..8).map(|_| judge(&mut watch, MS / 2, MS / 2)).collect();
        assert!(verdicts.iter().filter(|&&taken| taken).count() >= 3, "{verdicts:?}");
    }

    #[test]
    fn whoever_is_found_out_again_stays_out_longer() {
        let (attendance, seats) = (Attendance::default(), [SharedSeat::default()]);
        let record = &seats[0].record;
        let mut now = 1;
        let mut penalties = Vec::new();
        for _ in 0..10 {
            attendance.leave_out(record, now);
            assert!(record.is_out());
            penalties.push(record.penalty.load(Ordering::Relaxed));
            now = record.until.load(Ordering::Relaxed);
            attendance.call_back(&seats, now - 1);
            assert!(record.is_out());
            assert_eq!(
                [now - 1, now].map(|now| Attendance::absent_at(&seats, now)),
                [1, 0],
                "before it is called back"
            );
            attendance.call_back(&seats, now);
            assert!(!record.is_out());
            now += MS;
        }
        assert_eq!(penalties[..3], [20 * MS, 40 * MS, 80 * MS]);
        assert_eq!(penalties[9], LONGEST_PENALTY);
        attendance.leave_out(record, now + PROBATION * LONGEST_PENALTY);
        assert_eq!(record.penalty.load(Ordering::Relaxed), FIRST_PENALTY);
    }

    #[test]
    fn nobody_is_left_out_where_all_cores_are_taken() {
        let (attendance, record) = (Attendance::default(), Record::default());
        attendance.note_leader(MS);
        attendance.leave_out_late(&record, 2 * MS);
        assert!(!record.is_out());
        attendance.leave_out_late(&record, 2 * MS + FIRST_PENALTY);
        assert!(record.is_out());
    }

    #[test]
    fn who_misses_rounds_one_after_another_is_away() {
        let record = Record::default();
        assert!((0..19).all(|_| !record.missing(AWAY / 20)));
        record.present(false, 1);
        assert!(!record.missing(AWAY / 20));
        assert!(record.missing(AWAY));
    }
}
