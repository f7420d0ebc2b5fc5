//! Calls of one place with far fewer rows than others of it: a system that spawns what came in this
//! frame, mostly nothing. What calls take is learned from the larger ones, and for the others
//! reckoned from that: the other way round it would be a guess.

use crate::auto::Strategy;

/// A call has few rows if these are less than one part in this many of those of the first call of
/// the usual size.
const FEWER: u64 = 4;

/// This many calls with few rows in a row are the usual ones from now on.
const ON_END: u32 = 64;

/// And this many while another strategy is tried: that is compared at the size that it began with.
const ON_END_IN_TRIAL: u32 = 4_096;

/// One in this many calls with few rows is timed.
const CHECKED: u32 = 8;

/// After this many forecasts in a row that were off by a factor of [`WRONG`], it is clear that rows
/// of small calls cost something else. If the last of these calls ran on the gang and took longer
/// than expected, small ones stay on one thread for [`STAY`] calls. Otherwise no call counts as one
/// with few rows from then on.
const MOST_WRONG: u32 = 4;
const WRONG: f32 = 3.0;

/// Not for ever: another process may have been the cause. To find out anew takes 32 calls.
const STAY: u32 = 4_096;

/// On one thread it takes this many nanoseconds of difference, too: ten rows that were not visited
/// for a while take some cache misses, 1 to 3 us, and not what ten of 50,000 take. On the gang less
/// will do: there one thread may be better.
const LEAST_WRONG_ALONE: f32 = 5_000.0;
const LEAST_WRONG: f32 = 200.0;

/// How many rows a call has, beside those before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    Usual,
    /// What it takes says little about usual calls. Some are timed all the same.
    Fewer {
        timed: bool,
    },
    /// Far more than usual, or far fewer, and from now on that is usual.
    Changed,
}

/// How many rows calls of one place have.
#[derive(Debug)]
pub(super) struct Sizes {
    /// The fewest rows of a usual call and the most; none is usual before the first one.
    fewest: u64,
    most: u64,
    /// Calls with fewer rows since a usual one, and since the beginning.
    fewer: u32,
    all_fewer: u32,
    /// How many of the last calls that were timed did not take what was expected, in a row.
    wrong: u32,
    /// How many calls with fewer rows are still to stay on one thread.
    few_stay: u32,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { fewest: 1, most: 0, fewer: 0, all_fewer: 0, wrong: 0, few_stay: 0 }
    }
}

impl Sizes {
    /// Notes a call of `rows` rows, which stands for this many `calls`; whether another strategy is
    /// being tried.
    #[inline]
    pub(super) fn note_calls(&mut self, rows: u64, calls: u32, in_trial: bool) -> Size {
        if (self.fewest..=self.most).contains(&rows) {
            self.fewer = 0;
            return Size::Usual;
        }
        self.note_unusual(rows, calls, in_trial)
    }

    #[inline(never)]
    fn note_unusual(&mut self, rows: u64, calls: u32, in_trial: bool) -> Size {
        let on_end = if in_trial { ON_END_IN_TRIAL } else { ON_END };
        if rows == 0 {
            return Size::Fewer { timed: false };
        }
        if self.are_few(rows) && self.fewer < on_end {
            self.fewer += calls;
            self.few_stay = self.few_stay.saturating_sub(calls);
            self.all_fewer = self.all_fewer.wrapping_add(1);
            return Size::Fewer { timed: self.all_fewer.is_multiple_of(CHECKED) };
        }
        let is_first = self.most == 0;
        *self =
            Self { fewest: (rows / FEWER).max(1), most: rows.saturating_mul(FEWER), fewer: 0, few_stay: 0, ..*self };
        if is_first { Size::Usual } else { Size::Changed }
    }

    /// The fewest rows of a usual call.
    pub(super) fn fewest(&self) -> u64 {
        self.fewest
    }

    /// Whether that is far less than usual.
    pub(super) fn are_few(&self, rows: u64) -> bool {
        rows < self.fewest
    }

    /// Whether calls with few rows stay on one thread.
    pub(super) fn few_stay(&self) -> bool {
        self.few_stay > 0
    }

    /// Notes that a call with few rows took this many nanoseconds by `strategy`, of which another
    /// number was `expected`.
    pub(super) fn check(&mut self, strategy: Strategy, nanoseconds: f32, expected: f32) {
        let least = if strategy == Strategy::Serial { LEAST_WRONG_ALONE } else { LEAST_WRONG };
        let is_wrong = !(expected / WRONG..expected * WRONG).contains(&nanoseconds);
        let is_wrong = is_wrong && (nanoseconds - expected).abs() > least;
        self.wrong = if is_wrong { self.wrong + 1 } else { 0 };
        if self.wrong == MOST_WRONG && strategy.is_the_gangs() && nanoseconds > expected {
            (self.few_stay, self.wrong) = (STAY, 0);
        } else if self.wrong == MOST_WRONG {
            (self.fewest, self.most) = (1, u64::MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEW: Size = Size::Fewer { timed: false };

    #[test]
    fn few_rows_are_usual_when_there_are_no_others_any_more() {
        let mut sizes = Sizes::default();
        let mut note = |rows, in_trial| sizes.note_calls(rows, 1, in_trial);
        assert_eq!([100, 25, 400].map(|rows| note(rows, false)), [Size::Usual; 3]);
        assert_eq!([401, 100, 0, 10].map(|rows| note(rows, false)), [Size::Changed, Size::Usual, FEW, FEW]);
        let timed = (1..ON_END).filter(|_| note(10, false) == Size::Fewer { timed: true }).count();
        assert_eq!(timed as u32, ON_END / CHECKED);
        assert!(matches!(note(10, true), Size::Fewer { .. }), "while there is a trial");
        assert_eq!(
            [10, 10, 2, 41].map(|rows| note(rows, false)),
            [Size::Changed, Size::Usual, Size::Usual, Size::Changed]
        );
    }

    #[test]
    fn few_rows_count_as_usual_where_they_cost_something_else() {
        let mut sizes = Sizes::default();
        sizes.note_calls(1_000, 1, false);
        for _ in 0..2 {
            (1..MOST_WRONG).for_each(|_| sizes.check(Strategy::Serial, 40_000.0, 10_000.0));
            sizes.check(Strategy::Serial, 11_000.0, 10_000.0);
            assert!(sizes.are_few(10));
        }
        (0..MOST_WRONG).for_each(|_| sizes.check(Strategy::Serial, 2_000.0, 20.0));
        assert!(sizes.are_few(10), "a call takes some time, whatever its rows");
        (0..MOST_WRONG).for_each(|_| sizes.check(Strategy::LockStep, 2_600.0, 700.0));
        assert!(sizes.few_stay() && sizes.are_few(10), "the gang costs more than was reckoned");
        (0..STAY).for_each(|_| _ = sizes.note_calls(10, 1, true));
        assert!(!sizes.few_stay() && sizes.are_few(10), "that may have been a while ago");
        (0..MOST_WRONG).for_each(|_| sizes.check(Strategy::Serial, 10_000.0, 1_000.0));
        assert_eq!([10, 1_000, 10].map(|rows| sizes.note_calls(rows, 1, false)), [Size::Usual; 3]);
    }
}
