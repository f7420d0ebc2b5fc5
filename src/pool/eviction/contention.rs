//! Whether the core of a thread is taken by others: a thread that is pinned cannot leave a core
//! that another process is busy on.
//!
//! How long a thread was ready to run and did not is counted by the system: no guess from times,
//! which rows that became dearer would fool.

use std::cell::RefCell;

use crate::topology::{SchedulerAccount, Waited};

/// How often at most a thread asks, in nanoseconds: a system call of some 600 ns.
const INTERVAL: u64 = 1_000_000;

/// So much time, running and waiting together, makes a verdict; in nanoseconds. A process that
/// takes turns on the core has it for 3 or 4 ms at a time: two turns are seen, and a thread that
/// passes by once is none.
const WINDOW: u64 = 16_000_000;

/// As above for a core that was taken when it was looked at last: one turn of the other process
/// confirms that it still is.
const NEXT_WINDOW: u64 = 4_000_000;

/// A core is taken if one part in this many of the time went to waiting for it.
const LARGEST_PART: u64 = 3;

/// What a thread knows of itself.
#[derive(Default)]
struct Watch {
    account: Option<SchedulerAccount>,
    asked: u64,
    last: Waited,
    window: Waited,
    /// The last verdict.
    taken: bool,
}

impl Watch {
    fn ask(&mut self, now: u64) -> bool {
        self.asked = now;
        let waited = self.account.get_or_insert_with(SchedulerAccount::open).read();
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
        if ran + waited < if self.taken { NEXT_WINDOW } else { WINDOW } {
            return false;
        }
        self.window = Waited::default();
        self.taken = waited >= (ran + waited) / LARGEST_PART;
        self.taken
    }
}

thread_local! {
    static WATCH: RefCell<Watch> = RefCell::default();
}

/// Whether the core of this thread was found to be taken, at `now`; asks the system once in a
/// millisecond at most.
#[inline]
pub(in crate::pool) fn finds_core_taken(now: u64) -> bool {
    let look = |watch: &RefCell<Watch>| {
        let mut watch = watch.borrow_mut();
        now.saturating_sub(watch.asked) >= INTERVAL && watch.ask(now)
    };
    // A thread that is ending may have forgotten already what it knew: rounds of a thread-local's
    // destructor.
    WATCH.try_with(look).unwrap_or(false)
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
        for _ in 0..40 {
            assert!(!judge(&mut watch, MS, 50_000));
        }
        let mut watch = Watch { last: Waited { ran: MS, waited: 0 }, ..Watch::default() };
        assert!(!judge(&mut watch, 6 * MS, 4 * MS) && !judge(&mut watch, 6 * MS, 0), "one turn of another thread");
        let verdicts: Vec<_> =
            (0..16).map(|turn| judge(&mut watch, 4 * MS * (turn % 2), 4 * MS * (1 - turn % 2))).collect();
        assert!(verdicts.iter().filter(|&&taken| taken).count() >= 3, "{verdicts:?}");
    }

    #[test]
    fn a_core_that_was_taken_needs_one_turn_to_be_found_taken_again_and_a_quiet_one_to_be_free() {
        let taken = || Watch { last: Waited { ran: MS, waited: 0 }, taken: true, ..Watch::default() };
        assert!(judge(&mut taken(), 0, 4 * MS));
        let mut watch = taken();
        assert!(!judge(&mut watch, 4 * MS, 0) && !judge(&mut watch, 0, 4 * MS), "one turn is none again");
    }
}
