//! Calls that do not ask how they are to run, since the answer is known until the next of them is
//! timed: very short ones, for which to ask takes long (15 ns, mostly for a lock), and those that
//! find the workers asleep, as after a pause. What is known of their place, and the code that looks
//! at it, has left the leader's caches by then: to ask takes half a microsecond.

use std::{
    ops::RangeInclusive,
    sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
};

/// What calls may do without asking: stay on one thread, untimed.
pub(super) struct Grant {
    pub(super) calls: u32,
    /// How many rows such a call has.
    pub(super) rows: RangeInclusive<u64>,
    /// Whether it holds only as long as workers sleep.
    pub(super) while_asleep: bool,
}

/// Calls of one place that may stay on one thread untimed, as the last one did.
///
/// Relaxed everywhere: the thread that starts the calls writes it, one at a time (calls inside of
/// others aside), and a call more or less that did not ask makes no difference.
#[derive(Debug, Default)]
pub(super) struct Unasked {
    left: AtomicU32,
    granted: AtomicU32,
    /// See [`Grant`].
    fewest_rows: AtomicU64,
    most_rows: AtomicU64,
    while_asleep: AtomicBool,
}

impl Unasked {
    /// Counts a call, which finds workers `asleep` or not; true if it need not ask.
    #[inline]
    pub(super) fn take(&self, asleep: bool, count_rows: impl FnOnce() -> u64) -> bool {
        let left = self.left.load(Ordering::Relaxed);
        if left == 0 || !asleep && self.while_asleep.load(Ordering::Relaxed) {
            return false;
        }
        let rows = self.fewest_rows.load(Ordering::Relaxed)..=self.most_rows.load(Ordering::Relaxed);
        let is_taken = rows.contains(&count_rows());
        if is_taken {
            self.left.store(left - 1, Ordering::Relaxed);
        }
        is_taken
    }

    /// What calls may do from now on.
    pub(super) fn grant(&self, Grant { calls, rows, while_asleep }: Grant) {
        self.fewest_rows.store(*rows.start(), Ordering::Relaxed);
        self.most_rows.store(*rows.end(), Ordering::Relaxed);
        self.while_asleep.store(while_asleep, Ordering::Relaxed);
        self.granted.store(calls, Ordering::Relaxed);
        self.left.store(calls, Ordering::Relaxed);
    }

    /// The next call asks after all.
    pub(super) fn revoke(&self) {
        self.granted.store(self.taken(), Ordering::Relaxed);
        self.left.store(0, Ordering::Relaxed);
    }

    /// How many calls did not ask since the last grant.
    pub(super) fn taken(&self) -> u32 {
        // Diagnostics may look in the middle of a grant.
        self.granted.load(Ordering::Relaxed).saturating_sub(self.left.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::{Grant, Unasked};

    const AWAKE: bool = false;
    const ASLEEP: bool = true;

    #[test]
    fn calls_that_need_not_ask_are_few_and_no_larger() {
        let grant = |calls| Grant { calls, rows: 0..=100, while_asleep: false };
        let unasked = Unasked::default();
        assert!(!unasked.take(AWAKE, || 0));
        unasked.grant(grant(3));
        assert_eq!([100, 101, 7, 0, 0].map(|rows| unasked.take(AWAKE, || rows)), [true, false, true, true, false]);
        assert_eq!(unasked.taken(), 3);
        unasked.grant(grant(3));
        assert!(unasked.take(ASLEEP, || 7));
        unasked.revoke();
        assert!(!unasked.take(AWAKE, || 7) && unasked.taken() == 1);
        unasked.grant(grant(0));
        assert!(!unasked.take(AWAKE, || 1) && unasked.taken() == 0);
    }

    #[test]
    fn what_holds_while_workers_sleep_does_not_when_they_are_awake() {
        let unasked = Unasked::default();
        unasked.grant(Grant { calls: 3, rows: 5..=100, while_asleep: true });
        assert_eq!([ASLEEP, AWAKE, ASLEEP].map(|asleep| unasked.take(asleep, || 7)), [true, false, true]);
        assert!(!unasked.take(ASLEEP, || 4), "calls with few rows are others");
    }
}
