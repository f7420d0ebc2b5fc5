//! What the rows of a table cost: notices when some runs take longer than others, finds out where,
//! and says where to cut.
//!
//! Two steps, because knowing costs time: how long each worker took is known anyway, and enough to
//! see *that* runs are out of balance. Only then are chunks timed for some frames, to see *where*
//! the time goes.

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

/// A run that takes longer than the mean by more than this is out of balance; in learning, less
/// than that is enough.
const TOLERATED: f64 = 0.10;
const SETTLED: f64 = 0.04;

/// An imbalance of so much is no noise: the world has changed.
const OBVIOUS: f64 = 0.25;

/// Frames in which the same run was too long, beyond those in which it was not, before cuts may
/// move: half of it for an obvious imbalance. Doubles with each time that was for nothing or soon
/// followed by another, up to the second number.
const PATIENCE: u32 = 16;
const LONGEST_PATIENCE: u32 = 512;

/// Frames of learning after which it ends, in balance or not.
const MOST_FRAMES: u32 = 40;

/// Frames that are timed at least before cuts move, or it is given up: in one alone an interrupt
/// would look like dear rows.
const FEWEST_FRAMES: u32 = 3;

/// A table whose rows take less than this in a frame, in nanoseconds, is left alone: what is gained
/// is less than what is noise.
const WORTH_LEARNING: f64 = 20_000.0;

/// Cuts move by at most one part in this many of the rows in a frame, so that few rows at a time
/// come into another cache.
const LONGEST_MOVE: u32 = 8;

/// The best cuts have to be better than the present ones by this factor.
const WORTH_MOVING: f64 = 0.97;

/// The bins in which the cost of rows is told apart.
const BINS: usize = 64;

/// What is known of the cost of one table's runs. The leader's alone, between rounds.
#[derive(Debug)]
pub(super) struct Balancer {
    /// Nanoseconds by run, in this frame.
    loads: Vec<u64>,
    /// By run: frames in which it was too long, less those in which it was not. Noise meets this
    /// run and that one.
    strikes: Vec<u32>,
    patience: u32,
    /// Frames since learning began, or since it ended, that were worth it, and those since the
    /// last one that was.
    frames: u32,
    cheap_frames: u32,
}

impl Balancer {
    pub(super) fn new(parts: usize) -> Self {
        Self { loads: vec![0; parts], strikes: vec![0; parts], patience: PATIENCE, frames: 0, cheap_frames: 0 }
    }

    /// Adds what a run took in a round; true for the first of a frame.
    pub(super) fn add(&mut self, part: usize, nanoseconds: u64) -> bool {
        let first = self.loads.iter().all(|&load| load == 0);
        self.loads[part] = self.loads[part].saturating_add(nanoseconds);
        first && nanoseconds > 0
    }

    /// What a run of this frame took on average; `None` if that is not worth knowing.
    fn mean(&self) -> Option<f64> {
        let total: f64 = self.loads.iter().map(|&load| load as f64).sum();
        (total >= WORTH_LEARNING).then(|| total / self.loads.len() as f64)
    }

    /// What is to be done at the end of a frame.
    pub(super) fn end_frame(&mut self, learning: bool) -> Verdict {
        let mean = self.mean();
        self.count_frame(mean.is_some());
        let verdict = match mean {
            Some(mean) if learning => self.learn(mean),
            Some(mean) => self.watch(mean),
            None if learning && self.cheap_frames >= MOST_FRAMES => self.end(),
            None => Verdict::GoOn,
        };
        self.loads.fill(0);
        verdict
    }

    fn count_frame(&mut self, is_worth_learning: bool) {
        if is_worth_learning {
            (self.frames, self.cheap_frames) = (self.frames.saturating_add(1), 0);
        } else {
            self.cheap_frames = self.cheap_frames.saturating_add(1);
        }
    }

    fn watch(&mut self, mean: f64) -> Verdict {
        for (strikes, &load) in self.strikes.iter_mut().zip(&self.loads) {
            let excess = load as f64 / mean - 1.0;
            let strike = if excess > OBVIOUS { 2 } else { 1 };
            *strikes = if excess > TOLERATED { *strikes + strike } else { strikes.saturating_sub(1) };
        }
        if self.frames > LONGEST_PATIENCE {
            self.patience = PATIENCE;
        }
        if self.strikes.iter().all(|&strikes| strikes < self.patience) {
            return Verdict::GoOn;
        }
        self.strikes.fill(0);
        self.frames = 0;
        Verdict::Begin
    }

    fn learn(&mut self, mean: f64) -> Verdict {
        let longest = self.loads.iter().copied().max().unwrap_or(0) as f64;
        if longest < mean * (1.0 + SETTLED) || self.frames >= MOST_FRAMES {
            self.end()
        } else if self.frames < FEWEST_FRAMES {
            Verdict::GoOn
        } else {
            Verdict::Move
        }
    }

    /// To be called when there are no better cuts: it cannot be mended, or what was out of balance
    /// was something else.
    pub(super) fn give_up(&mut self) -> bool {
        let enough = self.frames > FEWEST_FRAMES;
        if enough {
            self.end();
        }
        enough
    }

    /// Ends learning: what comes next has to be more obvious, or last longer.
    fn end(&mut self) -> Verdict {
        self.frames = 0;
        self.patience = (self.patience * 2).min(LONGEST_PATIENCE);
        Verdict::End
    }
}

/// What is to be done with a table at the end of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    GoOn,
    /// Begin to time chunks.
    Begin,
    /// Move cuts by what was timed.
    Move,
    /// Stop timing.
    End,
}

/// Where in a table the time goes. Workers add to it while they sweep.
#[derive(Debug)]
pub(crate) struct Histogram {
    /// Rows of a bin.
    width: u32,
    /// Nanoseconds by bin. Relaxed: read after the round.
    bins: [AtomicU64; BINS],
}

impl Histogram {
    pub(super) fn new(rows: u32) -> Self {
        Self { width: rows.div_ceil(BINS as u32).max(1), bins: [const { AtomicU64::new(0) }; BINS] }
    }

    /// Adds what a sweep of `rows` took, evenly over the bins they lie in.
    pub(crate) fn add(&self, rows: Range<u32>, nanoseconds: u64) {
        // In 128 bits: a chunk of millions of rows may have been stopped for hours.
        let part = |part: u32| u128::from(nanoseconds) * u128::from(part) / u128::from(rows.end - rows.start);
        let mut start = rows.start;
        while start < rows.end {
            let bin = self.bin_of(start);
            let end = if bin + 1 < BINS { rows.end.min((bin as u32 + 1) * self.width) } else { rows.end };
            self.bins[bin].fetch_add(part(end - start) as u64, Ordering::Relaxed);
            start = end;
        }
    }

    /// Rows that came since the histogram was made count to the last bin.
    fn bin_of(&self, row: u32) -> usize {
        ((row / self.width) as usize).min(BINS - 1)
    }

    /// Where `rows` rows should be cut, if the present `cuts` are not good enough; moves no cut too
    /// far at once.
    pub(super) fn better_cuts(&self, cuts: &[u32]) -> Option<Vec<u32>> {
        let rows = *cuts.last()?;
        let steps = self.cumulated(rows);
        let best = self.even_cuts(&steps, cuts.len() - 1, rows);
        let longest = |cuts: &[u32]| {
            let run = |run: &[u32]| self.cost_before(&steps, run[1], rows) - self.cost_before(&steps, run[0], rows);
            cuts.windows(2).map(run).fold(0.0, f64::max)
        };
        if longest(&best) >= longest(cuts) * WORTH_MOVING {
            return None;
        }
        let most = (rows / LONGEST_MOVE).max(1);
        let limited =
            cuts.iter().zip(&best).map(|(&cut, &best)| best.clamp(cut.saturating_sub(most), cut.saturating_add(most)));
        Some(limited.collect())
    }

    /// The cost of all rows before each bin, and of all.
    fn cumulated(&self, rows: u32) -> [f64; BINS + 1] {
        let mut steps = [0.0; BINS + 1];
        for bin in 0..BINS {
            // Rows that no longer exist cost nothing.
            let exists = self.first_row(bin, rows) < rows;
            let cost = if exists { self.bins[bin].load(Ordering::Relaxed) as f64 } else { 0.0 };
            steps[bin + 1] = steps[bin] + cost;
        }
        steps
    }

    fn first_row(&self, bin: usize, rows: u32) -> u32 {
        if bin == BINS { rows } else { (bin as u32 * self.width).min(rows) }
    }

    fn cost_before(&self, steps: &[f64; BINS + 1], row: u32, rows: u32) -> f64 {
        let bin = self.bin_of(row);
        let (first, end) = (self.first_row(bin, rows), self.first_row(bin + 1, rows));
        let part = if end > first { f64::from(row.min(end) - first) / f64::from(end - first) } else { 0.0 };
        steps[bin] + (steps[bin + 1] - steps[bin]) * part
    }

    fn even_cuts(&self, steps: &[f64; BINS + 1], parts: usize, rows: u32) -> Vec<u32> {
        let cut = |part: usize| match part {
            0 => 0,
            part if part == parts => rows,
            part => {
                let cost = steps[BINS] * part as f64 / parts as f64;
                let bin = steps[1..].partition_point(|&step| step < cost).min(BINS - 1);
                let (first, end) = (self.first_row(bin, rows), self.first_row(bin + 1, rows));
                let inside = steps[bin + 1] - steps[bin];
                let part = if inside > 0.0 { (cost - steps[bin]) / inside } else { 0.0 };
                first + (f64::from(end - first) * part) as u32
            }
        };
        (0..=parts).map(cut).collect()
    }

    /// Lets newer frames count more than older ones.
    pub(super) fn fade(&mut self) {
        self.bins.iter_mut().for_each(|bin| *bin.get_mut() /= 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(rows: u32, cost: impl Fn(u32) -> u64) -> Histogram {
        let histogram = Histogram::new(rows);
        (0..rows).step_by(100).for_each(|row| histogram.add(row..rows.min(row + 100), cost(row) * 100));
        histogram
    }

    #[test]
    fn a_dear_tail_is_found() {
        let histogram = histogram(100_000, |row| if row >= 90_000 { 200 } else { 10 });
        let mut cuts = vec![0, 50_000, 100_000];
        let mut moves = 0;
        while let Some(better) = histogram.better_cuts(&cuts) {
            assert!(better[1].abs_diff(cuts[1]) <= 100_000 / LONGEST_MOVE);
            (cuts, moves) = (better, moves + 1);
        }
        // 0.9 + 2.0 units in all: half of it is reached 0.55 units into the tail.
        assert!(cuts[1].abs_diff(92_750) < 400 && moves <= 5, "{cuts:?} after {moves}");
    }

    #[test]
    fn even_rows_stay_where_they_are() {
        let histogram = histogram(100_000, |_| 10);
        assert_eq!(histogram.better_cuts(&[0, 25_000, 50_000, 75_000, 100_000]), None);
    }

    #[test]
    fn rows_that_came_or_went_do_no_harm() {
        let histogram = histogram(1_000, |_| 10);
        for rows in [1, 10, 999, 5_000] {
            let better = histogram.better_cuts(&[0, 0, rows]).unwrap_or_else(|| vec![0, 0, rows]);
            assert!(better.is_sorted() && better[2] == rows, "{better:?}");
        }
    }

    #[test]
    fn only_lasting_imbalance_counts() {
        let mut balancer = Balancer::new(2);
        let mut frame = |left: u64, right: u64, learning: bool| {
            balancer.add(0, left);
            balancer.add(1, right);
            balancer.end_frame(learning)
        };
        for _ in 0..100 {
            assert_eq!(frame(100_000, 150_000, false), Verdict::GoOn);
            assert_eq!(frame(100_000, 101_000, false), Verdict::GoOn);
            assert_eq!(frame(100_000, 101_000, false), Verdict::GoOn);
        }
        assert!((0..PATIENCE).any(|_| frame(100_000, 200_000, false) == Verdict::Begin));
        for frames in 1..=FEWEST_FRAMES {
            let expected = if frames < FEWEST_FRAMES { Verdict::GoOn } else { Verdict::Move };
            assert_eq!(frame(100_000, 200_000, true), expected, "frame {frames} of learning");
        }
        assert_eq!(frame(100_000, 101_000, true), Verdict::End);
    }

    #[test]
    fn noise_that_meets_now_this_run_and_now_that_is_no_imbalance() {
        let mut balancer = Balancer::new(2);
        for frame in 0..1_000_u64 {
            // Two of three frames are out of balance, but no run is too long in more than one of
            // three.
            balancer.add(0, if frame % 3 == 0 { 160_000 } else { 100_000 });
            balancer.add(1, if frame % 3 == 1 { 160_000 } else { 100_000 });
            assert_eq!(balancer.end_frame(false), Verdict::GoOn);
        }
    }

    /// Rows are timed chunk by chunk as long as it learns.
    #[test]
    fn learning_ends_where_nothing_is_left_to_learn() {
        let mut balancer = Balancer::new(2);
        let mut frame = |nanoseconds: u64, learning: bool| {
            balancer.add(0, nanoseconds);
            balancer.add(1, 2 * nanoseconds);
            balancer.end_frame(learning)
        };
        assert!((0..PATIENCE).any(|_| frame(100_000, false) == Verdict::Begin));
        let ends = (1..=2 * MOST_FRAMES).find(|_| frame(1_000, true) == Verdict::End);
        assert_eq!(ends, Some(MOST_FRAMES));
    }

    #[test]
    fn one_dear_frame_among_cheap_ones_moves_no_cut() {
        let mut balancer = Balancer::new(2);
        let mut dear_frames = 0;
        for frame in 1.. {
            let is_dear = frame % 10 == 0;
            dear_frames += u32::from(is_dear);
            balancer.add(0, if is_dear { 100_000 } else { 1_000 });
            balancer.add(1, if is_dear { 200_000 } else { 1_000 });
            if balancer.end_frame(true) != Verdict::GoOn {
                break;
            }
        }
        assert_eq!(dear_frames, FEWEST_FRAMES);
    }

    #[test]
    fn imbalance_that_cannot_be_mended_is_left_alone_longer_and_longer() {
        let mut balancer = Balancer::new(2);
        let (mut learning, mut begun) = (false, 0);
        for _ in 0..2_000 {
            balancer.add(0, 100_000);
            balancer.add(1, 130_000);
            match balancer.end_frame(learning) {
                Verdict::Begin => (learning, begun) = (true, begun + 1),
                Verdict::End => learning = false,
                _ => {}
            }
        }
        assert!((2..=8).contains(&begun), "{begun}");
    }
}
