//! Calls of one place with far fewer rows than others of it: a system that spawns what came in this
//! frame, mostly nothing. What calls take is learned from the larger ones, and for the others
//! reckoned from that: the other way round it would be a guess.

/// A call has few rows if these are less than one part in this many of the last usual call's.
const FEWER: u64 = 2;

/// This many calls with few rows in a row are the usual ones from now on.
const ON_END: u32 = 64;

/// And this many while another strategy is tried: that is compared at the size that it began with.
const ON_END_IN_TRIAL: u32 = 4_096;

/// How many rows a call has, beside those before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    Usual,
    /// What it takes says little about usual calls.
    Fewer,
    /// More than twice as many as usual, or less than half, and from now on that is usual.
    Changed,
}

/// How many rows calls of one place have.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sizes {
    /// Rows of the last usual call; 0 before one.
    usual: u64,
    /// Calls with fewer rows since.
    fewer: u32,
}

impl Sizes {
    /// Notes a call of `rows` rows; whether another strategy is being tried.
    pub(super) fn note(&mut self, rows: u64, in_trial: bool) -> Size {
        let on_end = if in_trial { ON_END_IN_TRIAL } else { ON_END };
        if rows == 0 {
            return Size::Fewer;
        }
        if rows < self.usual / FEWER && self.fewer < on_end {
            self.fewer += 1;
            return Size::Fewer;
        }
        let before = std::mem::replace(self, Self { usual: rows, fewer: 0 });
        let is_same = before.usual / FEWER <= rows && rows / FEWER <= before.usual;
        if is_same || before.usual == 0 { Size::Usual } else { Size::Changed }
    }

    /// Rows of the last usual call.
    pub(super) fn usual(&self) -> u64 {
        self.usual
    }
}

#[cfg(test)]
mod tests {
    use super::{ON_END, Size, Sizes};

    #[test]
    fn few_rows_are_usual_when_there_are_no_others_any_more() {
        let mut sizes = Sizes::default();
        assert_eq!(
            [100, 60, 119, 50].map(|rows| sizes.note(rows, false)),
            [Size::Usual, Size::Usual, Size::Usual, Size::Fewer]
        );
        assert_eq!([240, 10].map(|rows| sizes.note(rows, false)), [Size::Changed, Size::Fewer]);
        assert!((1..ON_END).all(|_| sizes.note(10, false) == Size::Fewer));
        assert_eq!(sizes.note(10, true), Size::Fewer, "while there is a trial");
        assert_eq!(
            [10, 10, 4, 22].map(|rows| sizes.note(rows, false)),
            [Size::Changed, Size::Usual, Size::Fewer, Size::Changed]
        );
    }
}
