//! What a row costs at one call site, which decides how a sweep is cut.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crossbeam_utils::CachePadded;

use super::{UNKNOWN_ROWS, WORTH_A_ROUND};
use crate::{
    claims::MAX_CHUNKS,
    placement::WHOLE_LINES,
    record::{Countdown, distance},
};

/// The shortest run that is worth sending a worker to, in nanoseconds: about two cache lines from
/// another core.
const WORTH_A_RUN: u64 = 500;

/// What one more worker costs the leader of a round, in nanoseconds: a cache line there and one
/// back.
const CALLING_A_WORKER: u64 = 100;

/// The shortest grain of a sweep by fork/join, in nanoseconds: what comes with each (a claim, to
/// find its rows in the layout, the copies that a loop begins with: 20 to 40 ns) is little against
/// it.
const WORTH_A_GRAIN: u64 = 2_000;

/// A worker's share is claimed in this many chunks, if they are then neither shorter than
/// [`WORTH_A_GRAIN`] nor longer than [`LONGEST_CHUNK`].
const CHUNKS_OF_A_SHARE: u64 = 8;

/// The shortest share that is claimed in chunks, in nanoseconds: it has four. Of fewer there would
/// hardly ever be two left, as a theft needs.
const SHORTEST_CUT_SHARE: u64 = CHUNKS_OF_A_SHARE / 2 * WORTH_A_GRAIN;

/// The longest chunk, in nanoseconds: others wait so long at most for a worker that has begun one,
/// and a claim (10 ns, and what a loop begins with) is a two-hundredth of it.
const LONGEST_CHUNK: u64 = 8_000;

/// The most rows that the cheapest sweep keeps together.
const MOST_KEPT_TOGETHER: u64 = 1024;

/// Fractions of a nanosecond that the average is kept in.
const FRACTION: u64 = 256;

/// Rounds of a place that are all measured, before one in some is: the first ones are of cold rows.
/// Calls on one thread that were timed by sample count as well.
const FIRST_ROUNDS: u32 = 16;

/// A new measurement of a row counts as one part in this many.
const ROW_SMOOTHING: u64 = 8;

/// A measurement that is far below the estimate brings it down at once, to one part in this many at
/// most.
const FASTEST_FALL: u64 = 4;

/// The dearest row that is told from dearer ones: an hour, which leaves room for what is reckoned
/// with it.
const DEAREST: u64 = 3_600_000_000_000 * FRACTION;

/// The smoothed cost of a row of one call site.
///
/// Relaxed everywhere: the thread that sweeps writes it, one at a time (calls inside of others
/// aside), and a stale or lost value costs nothing but time.
/// On a cache line of its own: workers read what is around it in each round.
#[derive(Debug, Default)]
pub(crate) struct RowCost(CachePadded<Learned>);

#[derive(Debug, Default)]
struct Learned {
    /// In 1/256 ns; 0 before the first measurement.
    row: AtomicU64,
    /// Sweeps that go untimed until the next one that is timed, and those that were.
    untimed_left: Countdown,
    timed: AtomicU32,
}

impl RowCost {
    /// In 1/256 ns; `None` before the first measurement.
    fn get(&self) -> Option<u64> {
        Some(self.0.row.load(Ordering::Relaxed)).filter(|&cost| cost > 0)
    }

    /// What `rows` rows take one thread, in nanoseconds; `None` before the first measurement.
    pub(crate) fn of(&self, rows: u64) -> Option<u64> {
        Some(rows.saturating_mul(self.get()?) / FRACTION)
    }

    /// Whether `rows` rows take one thread longer than a round pays for.
    #[inline]
    pub(crate) fn is_worth_a_round(&self, rows: u64) -> bool {
        match self.get() {
            Some(cost) => rows.saturating_mul(cost) >= WORTH_A_ROUND * FRACTION,
            None => rows >= UNKNOWN_ROWS,
        }
    }

    /// The fewest rows that a worker should be given, of a sweep of `rows` on at most `workers`.
    ///
    /// A sweep that takes one thread T takes n of them T / n, and the leader n * c to call them:
    /// least where n = sqrt(T / c), in runs of sqrt(T * c). Where all workers are worth their call,
    /// runs may be as short as storages are.
    pub(crate) fn shortest_run(&self, rows: u64, workers: usize) -> u32 {
        let Some(cost) = self.get() else { return WHOLE_LINES };
        let shortest = (WORTH_A_RUN * FRACTION / cost).clamp(1, MOST_KEPT_TOGETHER);
        let sweep = rows.saturating_mul(cost) / FRACTION;
        if (sweep / CALLING_A_WORKER).isqrt() >= workers as u64 {
            return shortest as u32;
        }
        let run = sweep.saturating_mul(CALLING_A_WORKER).isqrt();
        shortest.max(run.saturating_mul(FRACTION) / cost).min(u32::MAX.into()) as u32
    }

    /// How many rows a worker should take at a time in a sweep by fork/join, before they are
    /// rounded up to whole cache lines: not more than `longest`.
    pub(crate) fn grain(&self, longest: usize) -> u64 {
        let grain = match self.get() {
            Some(cost) => WORTH_A_GRAIN * FRACTION / cost,
            None => WHOLE_LINES.into(),
        };
        grain.clamp(1, longest as u64)
    }

    /// How many of `rows` rows a worker should claim in one go, of which `workers` have equal
    /// shares; `None` if the shares are too short for one worker to help another.
    pub(crate) fn rows_of_chunk(&self, rows: u64, workers: usize) -> Option<u32> {
        let cost = self.get()?;
        let share = rows.saturating_mul(cost) / FRACTION / workers as u64;
        if share < SHORTEST_CUT_SHARE {
            return None;
        }
        let chunk = (share / CHUNKS_OF_A_SHARE).clamp(WORTH_A_GRAIN, LONGEST_CHUNK);
        let exact =
            (chunk * FRACTION / cost).max(rows / u64::from(MAX_CHUNKS)).clamp(1, u64::from(u32::MAX / 2)) as u32;
        Some(if exact > WHOLE_LINES { exact.next_multiple_of(WHOLE_LINES) } else { exact })
    }

    /// Counts a sweep; true if it is a sample, which is to be timed, as the first is. Only then
    /// `count_rows` is called.
    #[inline]
    pub(crate) fn count_call(&self, count_rows: impl FnOnce() -> u64) -> bool {
        if !self.0.untimed_left.pass() {
            return false;
        }
        let timed = self.0.timed.load(Ordering::Relaxed);
        self.0.timed.store(timed.wrapping_add(1), Ordering::Relaxed);
        let takes = self.of(count_rows()).map(|nanoseconds| nanoseconds as f32);
        self.0.untimed_left.start(distance(timed.into(), takes) - 1);
        true
    }

    /// Counts a sweep by the gang; true if it is a sample, which is to be measured, as the first
    /// ones are.
    #[inline]
    pub(crate) fn count_round(&self, count_rows: impl FnOnce() -> u64) -> bool {
        let timed = self.0.timed.load(Ordering::Relaxed);
        if timed < FIRST_ROUNDS {
            self.0.timed.store(timed + 1, Ordering::Relaxed);
            return true;
        }
        self.count_call(count_rows)
    }

    /// Learns that sweeps of `rows` rows took this long, on one thread or on several together.
    pub(crate) fn observe(&self, rows: u64, nanoseconds: u64) {
        if rows == 0 {
            return;
        }
        let measured = (nanoseconds.saturating_mul(FRACTION) / rows).clamp(1, DEAREST);
        let smoothed = match self.get() {
            // The estimate was of cold rows, or an interrupt fell into it: what is measured is
            // never too little.
            Some(cost) if measured < cost / 2 => measured.max(cost / FASTEST_FALL),
            Some(cost) => (cost * (ROW_SMOOTHING - 1) + measured) / ROW_SMOOTHING,
            None => measured,
        };
        self.0.row.store(smoothed.max(1), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::{FIRST_ROUNDS, MAX_CHUNKS, RowCost};

    #[test]
    fn cheap_rows_need_many_and_dear_rows_few() {
        let cheap = RowCost::default();
        assert!(!cheap.is_worth_a_round(100) && cheap.is_worth_a_round(10_000));
        cheap.observe(1_000, 400);
        assert!(!cheap.is_worth_a_round(11_000) && cheap.is_worth_a_round(14_000));
        let dear = RowCost::default();
        dear.observe(8, 80_000);
        assert!(dear.is_worth_a_round(2));
        assert_eq!(dear.shortest_run(2, 64), 1);
    }

    #[test]
    fn rows_take_one_thread_as_long_as_was_measured() {
        let cost = RowCost::default();
        assert_eq!(cost.of(1_000), None);
        cost.observe(2_500, 925);
        assert!((3_650..=3_700).contains(&cost.of(10_000).expect("it was measured")));
        assert_eq!(cost.of(0), Some(0));
    }

    /// How many runs a table of `rows` has on many workers.
    fn runs(cost: &RowCost, rows: u64, workers: usize) -> u64 {
        (rows / u64::from(cost.shortest_run(rows, workers))).clamp(1, workers as u64)
    }

    #[test]
    fn a_row_may_take_seconds() {
        let cost = RowCost::default();
        (0..100).for_each(|_| cost.observe(3, 15_000_000_000));
        assert_eq!(cost.of(2), Some(10_000_000_000));
        assert_eq!((cost.shortest_run(1_000, 64), cost.grain(100), cost.rows_of_chunk(1_000, 2)), (1, 1, Some(1)));
    }

    #[test]
    fn short_sweeps_are_for_few_workers() {
        let cost = RowCost::default();
        cost.observe(1_000, 2_000);
        let many = 64;
        assert_eq!([100, 2_500, 10_000, 50_000, 1_000_000].map(|rows| runs(&cost, rows, many)), [1, 7, 14, 31, 64]);
        let dear = RowCost::default();
        dear.observe(10, 10_000);
        assert_eq!([1, 10, 100, 1_000].map(|rows| runs(&dear, rows, many)), [1, 10, 33, 64]);
    }

    #[test]
    fn two_workers_share_what_is_worth_a_round() {
        for row in [1, 3, 40, 700, 50_000] {
            let cost = RowCost::default();
            cost.observe(10, row * 10);
            let shortest = (500 / row).max(1) as u32;
            for rows in [1, 10, 1_000, 1_000_000] {
                assert_eq!(cost.shortest_run(rows, 2), shortest, "{rows} rows of {row} ns");
            }
        }
    }

    #[test]
    fn the_first_sweep_is_timed_and_then_one_in_many() {
        let cost = RowCost::default();
        cost.observe(1_000, 1_000);
        let timed = |rows| (0..8_000).filter(|_| cost.count_call(|| rows)).collect::<Vec<_>>();
        assert_eq!((timed(1_000)[0], timed(1_000).len() / 100), (0, 9), "one in 8.4");
        assert_eq!(timed(500).len() / 10, 32, "one in 25");
    }

    #[test]
    fn the_first_rounds_are_measured_and_then_one_in_many() {
        let cost = RowCost::default();
        let measured: Vec<_> = (0..8_000).filter(|_| cost.count_round(|| 1_000)).collect();
        assert!((0..FIRST_ROUNDS).all(|round| measured[round as usize] == round));
        assert_eq!((measured.len() - FIRST_ROUNDS as usize) / 100, 9, "one in 8.4");
    }

    #[test]
    fn one_outlier_is_forgotten() {
        let cost = RowCost::default();
        cost.observe(1_000, 500);
        cost.observe(1_000, 5_000_000);
        for _ in 0..100 {
            cost.observe(1_000, 500);
        }
        assert!(!cost.is_worth_a_round(2_000));
    }

    #[test]
    fn chunks_are_few_however_many_rows_there_are() {
        for (rows, nanoseconds) in [(1_000, 1), (1_000, 1_000), (1, 1_000_000), (1, u64::MAX / 1_000)] {
            let cost = RowCost::default();
            cost.observe(rows, nanoseconds);
            for total in [1, 7, 100, 32_767, 32_768, 99_999, 1 << 32, 1 << 40] {
                for workers in [2, 3, 64] {
                    let chunk = cost.rows_of_chunk(total, workers);
                    let chunks = chunk.map_or(0, |rows| total.div_ceil(rows.into()));
                    assert!(chunks <= u64::from(2 * MAX_CHUNKS), "{chunks} chunks of {chunk:?} in {total} rows");
                }
            }
        }
    }

    #[test]
    fn extremes_do_not_overflow() {
        let cost = RowCost::default();
        for _ in 0..20 {
            cost.observe(1, u64::MAX);
        }
        assert!(cost.is_worth_a_round(1) && cost.is_worth_a_round(u64::MAX));
        assert_eq!(cost.shortest_run(u64::MAX, 64), 1);
    }
}
