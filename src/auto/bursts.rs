//! Runs that take much longer than the others: paths are searched in every sixteenth frame, say.
//! They may be most of what a system or a schedule takes, so what counts then is what runs take on
//! average.

/// A run is heavy if it takes this many times as long as usual ...
const HEAVY: f32 = 4.0;

/// ... and this much longer, in nanoseconds: less may be chance.
const MUCH_LONGER: f32 = 100_000.0;

/// This many heavy ones among the last [`WINDOW`] are no chance.
const FEWEST: u32 = 3;

/// They count if what they add to the mean is at least this part of what runs usually take.
const LEAST_PART: f32 = 0.25;

/// Once heavy runs count, they do as long as they are this part of that.
const LEAST_PART_LEFT: f32 = LEAST_PART / 4.0;

/// Runs that the fraction of heavy ones is taken of: after as many, both counts are halved.
const WINDOW: u32 = 1_024;

/// Whether a run of this many nanoseconds is heavy where one usually takes `usual`.
pub(crate) fn is_heavy(nanoseconds: f32, usual: f32) -> bool {
    nanoseconds > HEAVY * usual && nanoseconds > usual + MUCH_LONGER
}

/// How many of the last runs were heavy, and whether that counts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HeavyFraction {
    seen: u32,
    heavy: u32,
    /// Of the last ones, without another in between.
    on_end: u32,
    counts: bool,
}

impl HeavyFraction {
    /// Notes a run.
    pub(crate) fn note(&mut self, heavy: bool) {
        if self.seen == WINDOW {
            (self.seen, self.heavy) = (self.seen / 2, self.heavy / 2);
        }
        self.seen += 1;
        self.heavy += u32::from(heavy);
        self.on_end = if heavy { self.on_end + 1 } else { 0 };
    }

    /// Begins anew with some runs that were seen, and the heavy ones among them.
    pub(crate) fn restart(&mut self, seen: u32, heavy: u32) {
        *self = Self { seen, heavy, on_end: 0, counts: self.counts };
    }

    /// Decides whether heavy runs count that take `heavy` nanoseconds where one usually takes
    /// `usual`. Returns whether that is new.
    pub(crate) fn judge(&mut self, usual: f32, heavy: f32) -> bool {
        let before = self.counts;
        let part = self.part() * (heavy - usual) / usual.max(1.0);
        self.counts = match before {
            true => self.heavy > 0 && part >= LEAST_PART_LEFT,
            false => self.heavy >= FEWEST && part >= LEAST_PART,
        };
        self.counts != before
    }

    fn part(&self) -> f32 {
        self.heavy as f32 / self.seen.max(1) as f32
    }

    /// The part of runs that are heavy, if heavy runs count.
    pub(crate) fn get(&self) -> Option<f32> {
        self.counts.then(|| self.part())
    }

    /// How many of the last runs were heavy without another in between.
    pub(crate) fn on_end(&self) -> u32 {
        self.on_end
    }

    /// What a run takes on average, where usual and heavy ones take these times, in nanoseconds.
    pub(crate) fn mean(&self, usual: f32, heavy: f32) -> f32 {
        usual + self.get().unwrap_or(0.0) * (heavy - usual).max(0.0)
    }
}
