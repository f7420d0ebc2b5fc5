//! A sweep that one thread begins alone, to see what that takes: the others wait at a gate.
//!
//! Rows may get in each other's way: a lock in each, an atomic, a count of references. What one
//! thread would take cannot be told from what several take then, and to try it out could take as
//! many times as long as there are workers. Here it takes twice as long as the gang does at most.

use super::gang_call::Visits;
use crate::{
    auto::Probe,
    pool::now,
    sync::{AtomicBool, AtomicU64, Ordering, needed, planted, spin_loop, yield_now},
};

/// How often a worker looks whether the gate is open before it lets other threads have its core.
const LOOKS: u32 = 1_000;

/// The gate of one sweep. Opens when the leader has been at it for long enough, or is done.
///
/// # Invariant (gate)
/// What the leader did before the gate opened happens before what those do who waited at it, and
/// it opens: when the leader notes that its time is over, and at the latest when it leaves, by a
/// panic or not. The other atomics are written and read by the leader alone.
pub(crate) struct Gate {
    /// In nanoseconds.
    longest: u64,
    visits: Visits,
    began: AtomicU64,
    open: AtomicBool,
    rows: AtomicU64,
    took: AtomicU64,
}

/// Opens the gate when it is dropped: the leader is done, or has panicked.
pub(super) struct Opens<'a>(&'a Gate);

impl Gate {
    /// For a sweep that the leader begins alone, for this many nanoseconds. When they are over it
    /// finishes the rows that it is at, and the gate opens.
    pub(super) fn new(longest: u64, visits: Visits) -> Self {
        let [began, rows, took] = std::array::from_fn(|_| AtomicU64::new(0));
        Self { longest, visits, began, open: AtomicBool::new(false), rows, took }
    }

    /// Which rows the sweep visits.
    pub(super) fn visits(&self) -> Visits {
        self.visits
    }

    /// Lets the leader in, which begins now.
    pub(super) fn enter(&self) -> Opens<'_> {
        self.began.store(now(), Ordering::Relaxed);
        Opens(self)
    }

    /// Blocks any worker but the leader until the gate opens; returns how long, in nanoseconds. A
    /// leader that runs all indices by itself runs its own first: the gate is open by then.
    #[cold]
    pub(super) fn wait(&self) -> u64 {
        let (mut looks, came) = (0, now());
        while !self.open.load(needed(Ordering::Acquire, "gate_seen")) {
            looks += 1;
            if looks < LOOKS { spin_loop() } else { yield_now() }
        }
        now().saturating_sub(came)
    }

    /// Notes that the leader has visited this many rows more.
    #[cold]
    pub(crate) fn note(&self, rows: u64) {
        if self.open.load(Ordering::Relaxed) {
            return;
        }
        let took = now().saturating_sub(self.began.load(Ordering::Relaxed));
        self.rows.fetch_add(rows, Ordering::Relaxed);
        self.took.store(took, Ordering::Relaxed);
        if took >= self.longest {
            self.open.store(true, needed(Ordering::Release, "gate_opened"));
        }
    }

    /// What the leader did. To be asked after the sweep; `None` if it came to no row.
    pub(super) fn probe(&self) -> Option<Probe> {
        let [rows, nanoseconds] = [&self.rows, &self.took].map(|counter| counter.load(Ordering::Relaxed));
        (rows > 0).then_some(Probe { rows, nanoseconds })
    }
}

impl Drop for Opens<'_> {
    fn drop(&mut self) {
        if !planted("gate_left_shut") {
            self.0.open.store(true, needed(Ordering::Release, "gate_left"));
        }
    }
}

#[cfg(all(test, not(affinity_loom)))]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn the_leader_is_alone_until_its_time_is_over() {
        let gate = Gate::new(20_000_000, Visits::Own);
        let first = gate.enter();
        // However long this thread is stopped: it begins in the future.
        gate.began.store(u64::MAX, Ordering::Relaxed);
        gate.note(7);
        assert!(!gate.open.load(Ordering::Relaxed));
        gate.began.store(now(), Ordering::Relaxed);
        thread::sleep(std::time::Duration::from_millis(25));
        gate.note(3);
        gate.note(100);
        let Some(Probe { rows, nanoseconds }) = gate.probe() else { panic!("it swept rows") };
        assert!(rows == 10 && nanoseconds >= 20_000_000, "what it swept beside others does not count");
        assert!(gate.wait() < nanoseconds, "it is open");
        drop(first);
    }

    #[test]
    fn a_leader_that_is_done_or_panics_opens_the_gate() {
        let gate = Gate::new(u64::MAX, Visits::Own);
        thread::scope(|scope| {
            scope.spawn(|| _ = gate.wait());
            let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let _opens = gate.enter();
                panic!("a row");
            }));
            assert!(panic.is_err());
        });
        assert!(gate.probe().is_none());
    }
}
