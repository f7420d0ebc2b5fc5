//! How the rows of one table (or archetype) are cut into runs, one long contiguous run a worker.

use std::{
    ops::Range,
    sync::atomic::{AtomicU32, Ordering},
};

use crossbeam_utils::CachePadded;
use smallvec::{SmallVec, smallvec};

use super::{
    WHOLE_LINES,
    balancer::{Balancer, Histogram, Verdict},
};
use crate::topology::CoreId;

/// The longest run may exceed the fair share by one part in this many before rows change owner.
const TOLERATED_EXCESS: u32 = 8;

/// After rows changed owner the longest run exceeds the fair share by at most one part in this
/// many. Not zero, so that few rows move.
const REMAINING_EXCESS: u32 = 32;

/// The first placements of a storage, in which it may come to have fewer runs; later only more. At
/// first nothing is known of what its rows cost, then only what cold ones do.
const SETTLING: u8 = 16;

/// And again when less than one part in this many of its rows is left.
const SHRUNK: u32 = 8;

/// As many as a storage of few rows has runs, and one more: a world may have thousands of those,
/// and each place in memory that a sweep looks at counts.
type Few<T> = SmallVec<[T; 4]>;

/// The rows of one storage, cut into runs.
///
/// # Invariant (runs)
/// `cuts` ascends from 0 to the number of rows and has one more entry than there are runs. So the
/// runs are disjoint and cover every row, whatever the balance.
#[derive(Debug)]
pub(crate) struct Runs {
    /// The worker that owns the first run; the next ones belong to the workers that follow.
    first_owner: usize,
    cuts: Few<u32>,
    /// For each run the core that swept it last, plus one; 0 before the first sweep.
    swept_on: Few<AtomicU32>,
    /// What the runs cost, where there are several. Apart: the leader writes it in each round, and
    /// workers read what stands around it.
    balancer: Option<Box<CachePadded<Balancer>>>,
    /// While cuts are being learned, where the time goes.
    histogram: Option<Box<Histogram>>,
    /// The cuts that were learned last, none if rows count alike. They are kept as they were: a
    /// table that empties and fills again has the same proportions. They may be for another number
    /// of runs, and wait then until there are as many again.
    learned: Option<Box<Few<u32>>>,
    /// In how many more placements the storage may come to have fewer runs.
    settling: u8,
    /// The most rows that there were since then.
    most_rows: u32,
}

impl Runs {
    /// `rows` rows in `parts` even runs, the first of which belongs to `first_owner`.
    pub(super) fn even(rows: u32, parts: usize, first_owner: usize) -> Self {
        let mut runs = Self {
            first_owner,
            cuts: smallvec![0; parts + 1],
            swept_on: (0..parts).map(|_| AtomicU32::new(0)).collect(),
            balancer: (parts > 1).then(|| Box::new(CachePadded::new(Balancer::new(parts)))),
            histogram: None,
            learned: None,
            settling: SETTLING,
            most_rows: rows,
        };
        let alignment = runs.alignment_for(rows);
        for (part, cut) in runs.cuts.iter_mut().enumerate() {
            let exact = (u64::from(rows) * part as u64 / parts as u64) as u32;
            *cut = aligned(exact, alignment, rows);
        }
        runs.cuts[parts] = rows;
        runs
    }

    pub(crate) fn rows(&self) -> u32 {
        self.cuts[self.parts()]
    }

    pub(crate) fn parts(&self) -> usize {
        self.cuts.len() - 1
    }

    /// Counts a call that places it with this many rows. Returns whether runs may still become
    /// fewer: systems with dearer rows may want them back, but not for ever. It settles anew where
    /// far fewer than the most rows are left, since what the runs were made for is gone; not where
    /// none is, since they may come back.
    ///
    /// Writes only while it settles: workers read what stands around it.
    #[inline]
    pub(super) fn settle(&mut self, rows: u32) -> bool {
        if rows > 0 && rows < self.most_rows / SHRUNK && self.parts() > 1 {
            (self.settling, self.most_rows) = (SETTLING, rows);
        }
        let settles = rows > 0 && self.settling > 0;
        if settles {
            self.settling -= 1;
        }
        settles
    }

    /// With as much settling left as the runs had that these take the place of, and what those had
    /// learned.
    pub(super) fn following(mut self, before: &Self) -> Self {
        (self.settling, self.learned) = (before.settling, before.learned.clone());
        if self.learned_cuts().is_some() {
            self.stretch_learned(self.rows());
        }
        self
    }

    /// How many rows of these have another owner by `new` ones.
    pub(super) fn moved_to(&self, new: &Self) -> u32 {
        let common = self.rows().min(new.rows());
        let kept = self.by_owner().map(|(owner, old)| {
            let new = new.range_of(owner);
            old.end.min(new.end).saturating_sub(old.start.max(new.start))
        });
        common - kept.sum::<u32>()
    }

    pub(super) fn first_owner(&self) -> usize {
        self.first_owner
    }

    /// The rows of `worker`; none if it owns no run here.
    #[inline]
    pub(crate) fn range_of(&self, worker: usize) -> Range<u32> {
        match worker.checked_sub(self.first_owner) {
            Some(part) if part < self.parts() => self.cuts[part]..self.cuts[part + 1],
            _ => 0..0,
        }
    }

    /// All runs and who owns them.
    #[inline]
    pub(crate) fn by_owner(&self) -> impl Iterator<Item = (usize, Range<u32>)> {
        (self.first_owner..).zip(self.cuts.windows(2).map(|cuts| cuts[0]..cuts[1]))
    }

    /// The worker that owns `row`.
    #[inline]
    pub(crate) fn owner_of(&self, row: u32) -> usize {
        let inner_cuts = &self.cuts[1..self.parts()];
        self.first_owner + inner_cuts.partition_point(|&cut| cut <= row)
    }

    /// Takes over a new number of rows and returns how many rows changed owner. Growth goes to the
    /// last run until the balance is off; then each cut moves just as far as it must, or in
    /// proportion if cuts were learned.
    pub(super) fn resize(&mut self, rows: u32) -> u32 {
        // On the stack: it is so in each call of a system whose rows come and go.
        let before = SmallVec::<[u32; 32]>::from_slice(&self.cuts);
        let parts = self.parts();
        self.cuts[parts] = rows;
        self.most_rows = self.most_rows.max(rows);
        self.cuts.iter_mut().for_each(|cut| *cut = (*cut).min(rows));
        let fair = rows.div_ceil(parts as u32);
        if self.learned_cuts().is_some() {
            self.keep_proportions(rows);
        } else if self.longest() > fair.saturating_add(fair / TOLERATED_EXCESS + self.alignment_for(rows)) {
            self.shorten(fair.saturating_add(fair / REMAINING_EXCESS));
        }
        moved_rows(&before, &self.cuts)
    }

    /// Stretches cuts that were learned when there were fewer or more rows, if that is far from
    /// now, or if nothing is left of the last run.
    fn keep_proportions(&mut self, rows: u32) {
        let (parts, alignment) = (self.parts(), self.alignment_for(rows));
        let Some(learned) = self.learned_cuts() else { return };
        let then = u64::from(learned[parts].max(1));
        let last = u64::from(learned[parts] - learned[parts - 1]) * u64::from(rows) / then;
        // All that came and went is in the last run.
        let fair = rows.div_ceil(parts as u32);
        let is_far =
            u64::from(rows - self.cuts[parts - 1]).abs_diff(last) > u64::from(fair / TOLERATED_EXCESS + alignment);
        if is_far || self.cuts[parts - 1] >= rows {
            self.stretch_learned(rows);
        }
    }

    /// What was learned of as many runs as there are.
    fn learned_cuts(&self) -> Option<&Few<u32>> {
        self.learned.as_deref().filter(|learned| learned.len() == self.cuts.len())
    }

    /// Cuts `rows` rows in the proportions that were learned, of as many runs as there are.
    fn stretch_learned(&mut self, rows: u32) {
        let (parts, alignment) = (self.parts(), self.alignment_for(rows));
        let Some(learned) = &self.learned else { return };
        let then = u64::from(learned[parts].max(1));
        for (cut, &learned) in self.cuts[1..parts].iter_mut().zip(&learned[1..parts]) {
            let exact = u64::from(learned) * u64::from(rows) / then;
            *cut = aligned(exact as u32, alignment, rows);
        }
    }

    /// Adds what the run of `worker` took in a round; true for the first of a frame.
    pub(super) fn observe(&mut self, worker: usize, nanoseconds: u64) -> bool {
        let part = worker.wrapping_sub(self.first_owner);
        let inside = part < self.parts();
        inside && self.balancer.as_mut().is_some_and(|balancer| balancer.add(part, nanoseconds))
    }

    /// Where the time goes in these rows, while cuts are being learned.
    #[inline]
    pub(crate) fn histogram(&self) -> Option<&Histogram> {
        self.histogram.as_deref()
    }

    /// Moves cuts towards what was learned in the frame that ends; returns how many rows changed
    /// owner.
    pub(super) fn end_frame(&mut self) -> u32 {
        let Some(balancer) = &mut self.balancer else { return 0 };
        match (balancer.end_frame(self.histogram.is_some()), &mut self.histogram) {
            (Verdict::Begin, histogram) => *histogram = Some(Box::new(Histogram::new(self.cuts[self.cuts.len() - 1]))),
            (Verdict::Move, Some(histogram)) => {
                if let Some(better) = histogram.better_cuts(&self.cuts) {
                    histogram.fade();
                    return self.take_over(&better);
                }
                if balancer.give_up() {
                    self.histogram = None;
                }
            }
            (Verdict::End, histogram) => *histogram = None,
            _ => {}
        }
        0
    }

    fn take_over(&mut self, cuts: &[u32]) -> u32 {
        let (before, rows) = (self.cuts.clone(), self.rows());
        let alignment = self.alignment_for(rows);
        let inner = 1..self.parts();
        for (cut, &better) in self.cuts[inner.clone()].iter_mut().zip(&cuts[inner]) {
            *cut = aligned(better, alignment, rows);
        }
        self.learned = Some(Box::new(self.cuts.clone()));
        moved_rows(&before, &self.cuts)
    }

    fn longest(&self) -> u32 {
        self.cuts.windows(2).map(|run| run[1] - run[0]).max().unwrap_or(0)
    }

    /// Moves cuts, each no further than needed, until no run is longer than `limit` (and what
    /// rounding to aligned rows adds).
    fn shorten(&mut self, limit: u32) {
        let (rows, parts) = (self.rows(), self.parts());
        let alignment = self.alignment_for(rows);
        let limit = aligned(limit, alignment, u32::MAX);
        for part in 1..parts {
            self.cuts[part] = self.cuts[part].min(self.cuts[part - 1].saturating_add(limit));
        }
        for part in (1..parts).rev() {
            let earliest = aligned(self.cuts[part + 1].saturating_sub(limit), alignment, rows);
            self.cuts[part] = self.cuts[part].max(earliest);
        }
    }

    /// Cuts of long runs fall on whole cache lines. Short runs are cut at finer rows: an eighth of
    /// a run is the most that alignment may cost.
    fn alignment_for(&self, rows: u32) -> u32 {
        let eighth = rows / (self.parts() as u32 * 8);
        WHOLE_LINES.min(1 << eighth.max(1).ilog2())
    }

    /// Notes on which core the run of `worker` is swept now; true if it was the same last time.
    #[inline]
    pub(crate) fn sweep_on(&self, worker: usize, core: CoreId) -> bool {
        has_stayed(&self.swept_on[worker - self.first_owner], core.index() as u32 + 1)
    }
}

/// The next row from `cut` on that is a multiple of `alignment`, or the end of `rows` rows.
fn aligned(cut: u32, alignment: u32, rows: u32) -> u32 {
    cut.checked_next_multiple_of(alignment).map_or(rows, |aligned| aligned.min(rows))
}

/// How many rows that existed before and exist now have another owner.
fn moved_rows(before: &[u32], after: &[u32]) -> u32 {
    let kept = before.windows(2).zip(after.windows(2)).map(|(old, new)| {
        let (start, end) = (old[0].max(new[0]), old[1].min(new[1]));
        end.saturating_sub(start)
    });
    let common = before[before.len() - 1].min(after[after.len() - 1]);
    common - kept.sum::<u32>()
}

/// Notes `core` (plus one) in `last`; true if it was there before, or nothing was.
#[inline]
pub(super) fn has_stayed(last: &AtomicU32, core: u32) -> bool {
    let before = last.load(Ordering::Relaxed);
    // Read first: the line stays shared between workers for as long as nothing changes.
    if before != core {
        last.store(core, Ordering::Relaxed);
    }
    before == core || before == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs of 100,000 rows, the first nine tenths of which cost as much as the last.
    fn learned() -> Runs {
        let mut runs = Runs::even(100_000, 2, 0);
        runs.take_over(&[0, 90_000, 100_000]);
        runs
    }

    /// Where the cut is in a thousand rows.
    fn cut(runs: &Runs) -> u32 {
        (u64::from(runs.cuts[1]) * 1_000 / u64::from(runs.rows())) as u32
    }

    #[test]
    fn learned_cuts_keep_their_proportions_when_rows_go() {
        for rows in [95_000, 90_000, 88_000, 50_000, 1_000] {
            let mut runs = learned();
            runs.resize(rows);
            assert!((880..960).contains(&cut(&runs)), "{rows} rows: {runs:?}");
        }
    }

    #[test]
    fn learned_cuts_outlive_a_table_that_empties() {
        let mut runs = learned();
        for rows in [10, 0, 1, 20_000, 100_000] {
            runs.resize(rows);
        }
        assert_eq!(cut(&runs), 900, "{runs:?}");
    }

    /// All that comes is in the last run.
    #[test]
    fn learned_cuts_are_stretched_before_the_last_run_is_far_too_long() {
        let mut runs = Runs::even(100_000, 16, 0);
        let cuts: Vec<_> = (0..=16).map(|cut| cut * 6_250).collect();
        runs.take_over(&cuts);
        for rows in (100_000..200_000).step_by(500) {
            runs.resize(rows);
            let (fair, last) = (rows / 16, runs.range_of(15).len() as u32);
            assert!(last <= fair + fair / 8 + 500, "{last} of {rows}");
        }
    }

    #[test]
    fn rows_that_keep_their_owner_have_not_moved() {
        let halves = Runs::even(1_024, 2, 0);
        assert_eq!(halves.moved_to(&Runs::even(1_024, 2, 0)), 0);
        assert_eq!(halves.moved_to(&Runs::even(1_024, 1, 0)), 512);
        assert_eq!(halves.moved_to(&Runs::even(512, 1, 1)), 512);
    }
}
