//! What the calls of one site take by one strategy, and all workers together.

/// A new measurement of a call counts as one part in this many.
const CALL_SMOOTHING: f32 = 4.0;

/// A measurement counts as at most this many times the estimate, and at least as its inverse: one
/// that an interrupt fell into hardly counts. Some in a row that surprise the model
/// [restart](Estimate::restart) it.
const LARGEST_STEP: f32 = 1.25;

/// Calls are uneven if they differ by more than this part of the estimate from it.
const UNEVEN: f32 = 0.2;

/// A new deviation counts as one part in this many.
const OF_DEVIATION: f32 = 16.0;

/// A measurement of uneven calls counts as one part in this many, once there are as many, ...
const UNEVEN_SMOOTHING: f32 = 16.0;

/// ... and as at most this many times the estimate.
const LARGEST_UNEVEN_STEP: f32 = 4.0;

/// What calls take with more than this many times as many rows, or as few, is no more than a guess:
/// how much of what was measured depends on the rows is not known.
const MOST_STRETCH: f32 = 8.0;

/// An estimate needs this many measurements.
const FIRST_SAMPLES: u32 = 2;

/// What calls take by one strategy.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Estimate {
    /// Smoothed, in nanoseconds, for `rows` rows.
    time: f32,
    rows: f32,
    samples: u32,
    /// By what part of the estimate measurements differ from it, smoothed.
    deviation: f32,
    /// When it was measured last, on the pool's clock.
    measured_at: u64,
}

impl Estimate {
    /// Whether it was measured often enough.
    pub(super) fn is_known(&self) -> bool {
        self.samples >= FIRST_SAMPLES
    }

    /// Whether it was ever measured.
    pub(super) fn was_tried(&self) -> bool {
        self.time > 0.0
    }

    /// Whether it was measured of calls with about as many rows.
    pub(super) fn tells_of(&self, rows: u64) -> bool {
        self.was_tried() && (self.rows / MOST_STRETCH..=self.rows * MOST_STRETCH).contains(&(rows as f32))
    }

    /// Measurements that it rests on: none while it is in doubt.
    pub(super) fn samples(&self) -> u32 {
        self.samples
    }

    /// When it was measured last, on the pool's clock; 0 if that was not noted.
    pub(super) fn measured_at(&self) -> u64 {
        self.measured_at
    }

    /// Notes when it was measured.
    pub(super) fn stamp(&mut self, now: u64) {
        self.measured_at = now;
    }

    /// What `rows` rows should take, of which `overhead` nanoseconds do not depend on the number of
    /// rows.
    pub(super) fn of(&self, rows: u64, overhead: f32) -> f32 {
        // Whatever is said to be overhead: a part of what was measured depends on rows.
        let overhead = overhead.min(self.time * 0.9);
        overhead + (self.time - overhead) * (rows as f32 / self.rows.max(1.0))
    }

    /// Learns that `rows` rows took `nanoseconds`; returns by which factor that is more or
    /// less than expected.
    pub(super) fn observe(&mut self, rows: u64, nanoseconds: u64, overhead: f32) -> f32 {
        let (now, expected) = ((nanoseconds as f32).max(1.0), self.of(rows, overhead).max(1.0));
        if self.samples == 0 {
            self.restart(rows, nanoseconds);
            return 1.0;
        }
        self.samples = self.samples.saturating_add(1);
        self.rows = rows as f32;
        self.time = match self.samples {
            samples if self.is_uneven() => {
                let bounded = now.min(expected * LARGEST_UNEVEN_STEP);
                expected + (bounded - expected) / UNEVEN_SMOOTHING.min(samples as f32)
            }
            // The first ones are cold, or an interrupt fell into them: the least is nearest to what
            // will be.
            ..=FIRST_SAMPLES => now.min(expected),
            _ => {
                let bounded = now.clamp(expected / LARGEST_STEP, expected * LARGEST_STEP);
                expected + (bounded - expected) / CALL_SMOOTHING
            }
        };
        let off = now / expected;
        if self.samples > FIRST_SAMPLES {
            self.deviation += ((off - 1.0).abs().min(1.0) - self.deviation) / OF_DEVIATION;
        }
        off
    }

    /// Whether calls differ among themselves, as where every second one does more for each row. It
    /// takes several to tell what they take on average.
    pub(super) fn is_uneven(&self) -> bool {
        self.deviation > UNEVEN
    }

    /// By what part of the estimate measurements differ from it.
    pub(super) fn deviation(&self) -> f32 {
        self.deviation
    }

    /// What calls have in common is to be learned anew.
    pub(super) fn forget_deviation(&mut self) {
        self.deviation = 0.0;
    }

    /// Begins anew with one measurement.
    pub(super) fn restart(&mut self, rows: u64, nanoseconds: u64) {
        *self = Self { time: (nanoseconds as f32).max(1.0), rows: rows as f32, samples: 1, ..*self };
    }

    /// The next measurement counts if it is less than the estimate, and else not at all.
    pub(super) fn reopen(&mut self) {
        self.samples = 1;
    }

    /// Keeps the estimate until the next measurement.
    pub(super) fn doubt(&mut self) {
        self.samples = 0;
    }
}

/// For how long all workers together are busy in a call of one site: what one thread takes at most.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Busy {
    /// In nanoseconds, smoothed, for this many rows; 0 before the first call that told.
    time: f32,
    rows: u64,
}

impl Busy {
    pub(super) fn is_known(&self) -> bool {
        self.time > 0.0
    }

    /// With `rows` rows, in nanoseconds; 0 if it is not known.
    pub(super) fn of(&self, rows: u64) -> f32 {
        self.time * (rows as f32 / self.rows.max(1) as f32)
    }

    /// Learns for how many nanoseconds all together were busy with `rows` rows. A time that is far
    /// too long, since one of them lost its core, counts as twice the usual one.
    pub(super) fn observe(&mut self, rows: u64, nanoseconds: u64) {
        let (now, before) = (nanoseconds as f32, self.of(rows));
        self.time = if before > 0.0 { before + (now.min(before * 2.0) - before) / 4.0 } else { now };
        self.rows = rows;
    }
}

#[cfg(test)]
mod tests {
    use super::Estimate;

    #[test]
    fn the_least_of_the_first_measurements_counts_and_then_no_single_one() {
        let mut estimate = Estimate::default();
        estimate.observe(10, 25_000, 0.0);
        assert!(!estimate.is_known());
        estimate.observe(10, 7_000, 0.0);
        assert!(estimate.is_known());
        assert_eq!(estimate.of(10, 0.0), 7_000.0);
        estimate.observe(10, 70_000, 0.0);
        assert!(estimate.of(10, 0.0) < 7_500.0);
    }
}
