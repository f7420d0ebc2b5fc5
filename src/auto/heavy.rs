//! Calls and runs that take far longer than the others: paths are searched in every sixteenth
//! frame, say. They may be most of what a system or a schedule takes, so what counts then is what
//! runs take on average.

use super::Strategy;

/// A run is heavy if it takes this many times as long as usual ...
const HEAVY: f32 = 4.0;

/// ... and this much longer, in nanoseconds: less may be chance.
const MUCH_LONGER: f32 = 100_000.0;

/// This many heavy ones among the last of the window are no chance.
const FEWEST: u32 = 3;

/// They count if what they add to the mean is at least this part of what runs usually take.
const LEAST_PART: f32 = 0.25;

/// Once heavy runs count, they do as long as they are this part of that.
const LEAST_PART_LEFT: f32 = LEAST_PART / 4.0;

/// Calls of one kind that the fraction of heavy ones is taken of.
const WINDOW: u32 = 1_024;

/// A new time of a heavy call counts as one part in this many.
const SMOOTHING: f32 = 4.0;

/// Calls among which this many heavy ones were to be expected, and none was, have none: that is
/// chance in 2 of 1,000 cases.
const TELLING: f32 = 6.0;

/// One thread has far fewer heavy calls than the gang, or the other way round, if it has less than
/// one for this many there.
const FAR_FEWER: f32 = 4.0;

/// When heavy calls take this many times as long as they did, or one part in it, what other
/// strategies took is out of date.
const CHANGED: f32 = 2.0;

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
    /// Notes a run. The fraction is of the last `window`: after as many, both counts are halved.
    pub(crate) fn note(&mut self, heavy: bool, window: u32) {
        if self.seen >= window {
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
    /// `usual`. Returns whether that is new. They do not count where all of them were the last
    /// ones: then it may be that all are so now.
    pub(crate) fn judge(&mut self, usual: f32, heavy: f32) -> bool {
        let before = self.counts;
        let part = self.part() * (heavy - usual) / usual.max(1.0);
        self.counts = match before {
            true => self.heavy > 0 && part >= LEAST_PART_LEFT,
            false => self.heavy >= FEWEST && self.heavy > self.on_end && part >= LEAST_PART,
        };
        self.counts != before
    }

    /// Whether there were several among the last runs, whether or not they count.
    pub(crate) fn are_some(&self) -> bool {
        self.heavy > 1
    }

    /// Whether there are far fewer here than in `other` calls, as far as enough of these tell.
    fn is_far_below(&self, other: &Self) -> bool {
        self.seen as f32 * other.part() >= TELLING && self.part() * FAR_FEWER < other.part()
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

/// What heavy calls take, and how many calls are heavy.
///
/// Mostly it is the rows that are dear then, whichever way calls go. But if another thread of the
/// game has a worker's core, only calls on the gang are heavy: they wait for it. So both are
/// counted apart, and what is known of the one holds for the other until that has had its turn.
#[derive(Debug, Default)]
pub(super) struct HeavyCalls {
    /// Of calls on one thread, and of those on the gang.
    fractions: [HeavyFraction; 2],
    /// Whether a trial has looked since whether others have heavy calls, too.
    was_looked_for: bool,
    /// Nanoseconds of a row by strategy; unknown before one was measured.
    rows: [Option<f32>; Strategy::MEASURED_COUNT],
}

/// Which of the two kinds that are counted apart: one thread, or the gang.
fn kind(strategy: Strategy) -> usize {
    usize::from(strategy.is_the_gangs())
}

impl HeavyCalls {
    /// Notes a call of `rows` rows that took `nanoseconds`, where a usual one is known to take
    /// `usual`. Returns whether it is heavy.
    pub(super) fn note(&mut self, strategy: Strategy, rows: u64, (nanoseconds, usual): (f32, Option<f32>)) -> bool {
        let heavy = usual.is_some_and(|usual| is_heavy(nanoseconds, usual));
        self.fractions[kind(strategy)].note(heavy, WINDOW);
        if heavy {
            let row = nanoseconds / (rows as f32).max(1.0);
            let known = self.rows[strategy as usize];
            if known.is_some_and(|known| !(1.0 / CHANGED..CHANGED).contains(&(row / known))) {
                self.rows = Default::default();
            }
            let known = self.rows[strategy as usize].get_or_insert(row);
            *known += (row - *known) / SMOOTHING;
        }
        heavy
    }

    /// Decides whether heavy calls count, now that calls go by `strategy`. Returns whether that is
    /// new: what was found of the others before is out of date then.
    pub(super) fn judge(&mut self, strategy: Strategy, usual: f32, rows: u64) -> bool {
        let row = self.rows[strategy as usize];
        let own = kind(strategy);
        let turned = self.fractions[own].judge(usual, row.map_or(usual, |row| row * rows as f32));
        if turned && self.fractions[own].counts {
            self.fractions[1 - own] = HeavyFraction::default();
            self.was_looked_for = false;
        }
        turned
    }

    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Of calls as those of `strategy`, and of the others.
    fn both(&self, strategy: Strategy) -> (&HeavyFraction, &HeavyFraction) {
        let own = kind(strategy);
        (&self.fractions[own], &self.fractions[1 - own])
    }

    /// What is known of heavy calls by `strategy`, or has to be taken for it.
    fn fraction(&self, strategy: Strategy) -> &HeavyFraction {
        let (own, other) = self.both(strategy);
        if own.counts || !other.counts || own.is_far_below(other) { own } else { other }
    }

    /// The part of calls by `strategy` that is taken for heavy, if that is in doubt. Either it was
    /// so once, and calls by the `current` one have far fewer heavy ones. Or it is so of calls by
    /// the current one, and it is not known that others have as many.
    pub(super) fn doubtful_fraction(&self, strategy: Strategy, current: Strategy) -> Option<f32> {
        let (own, other) = self.both(strategy);
        let differ = if own.counts { other.is_far_below(own) } else { own.part() * FAR_FEWER < other.part() };
        let is_doubtful = differ && kind(strategy) != kind(current);
        self.fraction(strategy).get().filter(|_| is_doubtful)
    }

    /// What a trial of `strategy` costs, in nanoseconds, that ends with its first heavy call, where
    /// calls by the `current` one take `now`. The first one is free, so that it comes at once.
    pub(super) fn cost_of_looking(
        &self,
        strategy: Strategy,
        (current, now): (Strategy, f32),
        rows: u64,
        workers: usize,
    ) -> f32 {
        let heavy = |strategy| self.row(strategy, workers).map(|row| row * rows as f32);
        let instead = if self.fraction(current).counts { heavy(current) } else { None };
        let cost = heavy(strategy).unwrap_or(0.0) - instead.unwrap_or(now);
        if self.was_looked_for { cost.max(0.0) } else { 0.0 }
    }

    pub(super) fn note_looking(&mut self) {
        self.was_looked_for = true;
    }

    /// None of the last `calls` calls by `strategy` was heavy. Returns whether that is enough to
    /// tell that none is, where this part would be.
    pub(super) fn acquit(&mut self, strategy: Strategy, part: f32, calls: u32) -> bool {
        let is_telling = part * calls as f32 >= TELLING;
        if is_telling {
            self.fractions[kind(strategy)] = HeavyFraction { seen: calls, ..HeavyFraction::default() };
        }
        is_telling
    }

    /// What a call takes on average by `strategy` of which a usual one takes `usual`.
    pub(super) fn mean(&self, strategy: Strategy, usual: f32, rows: u64, workers: usize) -> f32 {
        let fraction = self.fraction(strategy);
        if fraction.get().is_none() {
            return usual;
        }
        self.row(strategy, workers).map_or(usual, |row| fraction.mean(usual, row * rows as f32))
    }

    /// What a row of a heavy call takes: as measured, or as another strategy tells.
    fn row(&self, strategy: Strategy, workers: usize) -> Option<f32> {
        let workers = workers as f32;
        let told = |&other: &Strategy| {
            let row = self.rows[other as usize]?;
            Some(match (other, strategy) {
                (Strategy::Serial, Strategy::Serial) => row,
                (Strategy::Serial, _) => row / workers,
                (_, Strategy::Serial) => row * workers,
                _ => row,
            })
        };
        self.rows.get(strategy as usize).copied().flatten().or_else(|| Strategy::MEASURED.iter().find_map(told))
    }
}
