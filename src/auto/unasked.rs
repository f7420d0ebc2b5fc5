//! Very short calls, which do not ask how they are to run: to ask takes 15 ns, mostly for a lock,
//! and the answer is known until the next of them is timed.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Calls of one place that may stay on one thread untimed, as the last one did.
///
/// Relaxed everywhere: the thread that starts the calls writes it, one at a time (calls inside of
/// others aside), and a call more or less that did not ask makes no difference.
#[derive(Debug, Default)]
pub(super) struct Unasked {
    left: AtomicU32,
    granted: AtomicU32,
    /// The most rows of such a call.
    rows: AtomicU64,
}

impl Unasked {
    /// Counts a call; true if it need not ask.
    #[inline]
    pub(super) fn take(&self, count_rows: impl FnOnce() -> u64) -> bool {
        let left = self.left.load(Ordering::Relaxed);
        if left == 0 || count_rows() > self.rows.load(Ordering::Relaxed) {
            return false;
        }
        self.left.store(left - 1, Ordering::Relaxed);
        true
    }

    /// From now on this many calls of at most `rows` rows need not ask.
    pub(super) fn grant(&self, calls: u32, rows: u64) {
        self.rows.store(rows, Ordering::Relaxed);
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
    use super::Unasked;

    #[test]
    fn calls_that_need_not_ask_are_few_and_no_larger() {
        let unasked = Unasked::default();
        assert!(!unasked.take(|| 0));
        unasked.grant(3, 100);
        assert_eq!([100, 101, 7, 0, 0].map(|rows| unasked.take(|| rows)), [true, false, true, true, false]);
        assert_eq!(unasked.taken(), 3);
        unasked.grant(3, 100);
        assert!(unasked.take(|| 7));
        unasked.revoke();
        assert!(!unasked.take(|| 7) && unasked.taken() == 1);
        unasked.grant(0, 100);
        assert!(!unasked.take(|| 1) && unasked.taken() == 0);
    }
}
