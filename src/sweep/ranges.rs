//! The grains of a call by fork/join: each worker has a range of them, and an idle worker takes the
//! far half of the longest.
//!
//! As in work-stealing schedulers of loops (OpenMP runtimes, paralight): no grain is a job of its
//! own, and what is left to a worker is one word.

use std::ops::Range;

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicU64, Ordering, planted};

/// The grains that are left to each worker, in one word each: those not yet begun.
///
/// # Invariant (grains)
/// In one call each grain is in one range, or was returned once by [`take`](Self::take) or
/// [`take_anywhere`](Self::take_anywhere): a word is the range itself, is changed in one atomic
/// step from what was read, and what a thief takes off one range it writes into its own, which is
/// empty. An empty one is written by its worker alone. Calls begin with all words for themselves:
/// [`begin`](Self::begin).
///
/// Relaxed: being one read-modify-write makes a claim unique. What is claimed was published with
/// the round, and what was done with it is published by the worker's arrival.
#[derive(Default)]
pub(super) struct Ranges(Box<[CachePadded<AtomicU64>]>);

/// Begin (32 bits) and end (32) of a range.
fn word(grains: Range<u32>) -> u64 {
    u64::from(grains.start) << 32 | u64::from(grains.end)
}

fn range(word: u64) -> Range<u32> {
    (word >> 32) as u32..word as u32
}

/// Where a range that is not empty is cut: near its middle, at the roundest number, so that ranges
/// mostly begin where they began in the last call. What is kept for each then fits, and rows mostly
/// come to the same worker.
fn middle_of(grains: &Range<u32>) -> u32 {
    let quarter = grains.len() as u32 / 4;
    if quarter == 0 {
        return grains.end - (grains.len() as u32 / 2).max(1);
    }
    let (after, last) = (grains.start + quarter, grains.end - quarter);
    // The bits from the first in which the two differ on are free; all below it can be 0.
    let free = (after ^ last).ilog2();
    last >> free << free
}

impl Ranges {
    /// Gives all of `grains` grains to worker 0 of `workers`.
    pub(super) fn begin(&mut self, workers: usize, grains: u32) {
        if self.0.len() != workers {
            self.0 = (0..workers).map(|_| CachePadded::new(AtomicU64::new(0))).collect();
        }
        self.0.iter().for_each(|own| own.store(0, Ordering::Relaxed));
        self.0[0].store(word(0..grains), Ordering::Relaxed);
    }

    /// The next grain of what `worker` has.
    #[inline]
    pub(super) fn take(&self, worker: usize) -> Option<u32> {
        let mut now = self.0[worker].load(Ordering::Relaxed);
        loop {
            let left = range(now);
            if left.is_empty() {
                return None;
            }
            match self.exchange(worker, now, word(left.start + 1..left.end)) {
                Ok(_) => return Some(left.start),
                Err(other) => now = other,
            }
        }
    }

    /// Takes the first grain of what `worker` has, or of the far half of the longest range of
    /// others if it has nothing, which is its own then; and says whether it was another's. `None`
    /// if all grains were taken.
    pub(super) fn take_anywhere(&self, worker: usize) -> Option<(u32, bool)> {
        if let Some(own) = self.take(worker) {
            return Some((own, false));
        }
        loop {
            let others = (0..self.0.len()).filter(|&other| other != worker);
            let ranges = others.map(|other| (other, self.0[other].load(Ordering::Relaxed)));
            let (owner, now) = ranges.max_by_key(|&(_, word)| range(word).len())?;
            let left = range(now);
            if left.is_empty() {
                return None;
            }
            let middle = middle_of(&left);
            let kept = if planted("both_have_the_middle") { middle + 1 } else { middle };
            // Another thief, or the owner, may have been faster.
            if self.exchange(owner, now, word(left.start..kept)).is_ok() {
                self.0[worker].store(word(middle + 1..left.end), Ordering::Relaxed);
                return Some((middle, true));
            }
        }
    }

    #[inline]
    fn exchange(&self, worker: usize, now: u64, next: u64) -> Result<u64, u64> {
        if planted("range_not_atomic") {
            self.0[worker].store(next, Ordering::Relaxed);
            return Ok(now);
        }
        let outcome = self.0[worker].compare_exchange(now, next, Ordering::Relaxed, Ordering::Relaxed);
        if planted("range_after_failure") { Ok(now) } else { outcome }
    }
}

#[cfg(all(test, not(affinity_loom)))]
mod tests {
    use super::middle_of;

    #[test]
    fn a_cut_leaves_both_a_quarter_and_takes_one_grain_at_least() {
        for start in 0..70 {
            for len in 1..200 {
                let middle = middle_of(&(start..start + len));
                let (kept, taken) = (middle - start, start + len - middle);
                assert!(taken >= (len / 4).max(1) && kept >= len / 4, "{start} and {len}: {middle}");
            }
        }
        assert_eq!([0..32, 3..32, 7..32, 9..13, 5..6].map(|range| middle_of(&range)), [16, 16, 16, 12, 5]);
    }
}
