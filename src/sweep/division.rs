//! Who owns which rows in one call, and into how many parts they are divided.

use std::ops::Range;

use crate::placement::{Placement, Runs, Storage};

/// Who owns which rows in one call.
#[derive(Clone, Copy)]
pub(crate) enum Division<'a> {
    /// As the placement says.
    Placed(&'a Placement),
    /// Each storage in this many even runs.
    Even { parts: usize },
}

/// The owners of the rows of one storage.
pub(crate) enum Owners<'a> {
    /// All rows are this part's.
    One(usize),
    /// As the placement says.
    Runs(&'a Runs),
    /// `rows` rows in `parts` even runs, or one row each from part `first` on.
    Even { rows: u32, parts: usize, first: usize },
}

/// The rows of one of `parts` even parts of a `storage` of `rows` rows. Parts are disjoint, and
/// together they are all rows; [`Owners::of`] says whose a row is.
#[inline]
pub(super) fn even_rows(storage: Storage, rows: u32, part: usize, parts: usize) -> Range<u32> {
    if (rows as usize) < parts {
        let row = part.wrapping_sub(first_part(storage, rows, parts));
        return if row < rows as usize { row as u32..row as u32 + 1 } else { 0..0 };
    }
    let cut = |part: usize| (u64::from(rows) * part as u64).div_ceil(parts as u64) as u32;
    cut(part)..cut(part + 1)
}

/// The part with the first row of a storage with fewer rows than there are parts. Of thousands of
/// those not all rows are the first part's.
fn first_part(storage: Storage, rows: u32, parts: usize) -> usize {
    storage.index() % (parts - (rows as usize).min(parts) + 1)
}

/// The places of one of `parts` even parts of `rows` selected rows, which are not addressed by
/// owner.
pub(super) fn even_positions(rows: u64, part: usize, parts: usize) -> Range<u64> {
    let cut = |part: usize| (u128::from(rows) * part as u128 / parts as u128) as u64;
    cut(part)..cut(part + 1)
}

/// `rows`, split into ranges of at most `length`, which is not 0.
pub(crate) fn split_by_length(rows: Range<u32>, length: usize) -> impl Iterator<Item = Range<u32>> {
    let most = u32::try_from(length).unwrap_or(u32::MAX);
    rows.clone().step_by(length).map(move |start| start..rows.end.min(start.saturating_add(most)))
}

impl<'a> Division<'a> {
    /// Whose the rows of `storage` are, which are `rows`.
    pub(crate) fn owners(&self, storage: Storage, rows: impl FnOnce() -> u32) -> Owners<'a> {
        match *self {
            Self::Placed(placement) => placement.get(storage).map_or(Owners::One(0), Owners::Runs),
            Self::Even { parts } => {
                let rows = rows();
                Owners::Even { rows, parts, first: first_part(storage, rows, parts) }
            }
        }
    }
}

impl Owners<'_> {
    /// The part whose range has `row`.
    #[inline]
    pub(crate) fn of(&self, row: u32) -> usize {
        match *self {
            Self::One(part) => part,
            Self::Runs(runs) => runs.owner_of(row),
            Self::Even { rows, parts, first } if (rows as usize) < parts => first + row as usize,
            Self::Even { rows, parts, .. } => (u64::from(row) * parts as u64 / u64::from(rows)) as usize,
        }
    }
}

/// Into how many parts a call that sends is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Parts {
    /// Parts that send.
    pub(crate) senders: usize,
    /// Parts that receive.
    pub(crate) owners: usize,
    /// Chunks of each sending part that other workers may sweep.
    pub(crate) most_stolen: u32,
}

#[cfg(test)]
mod tests {
    use super::{Division, even_rows, split_by_length};
    use crate::placement::Storage;

    #[test]
    fn even_parts_are_all_rows_in_order_and_know_their_owners() {
        for parts in [1, 2, 3, 16] {
            for (number, rows) in (0..60).zip([0, 1, 2, 3, 15, 16, 17, 1_000].into_iter().cycle()) {
                let storage = Storage::Table(number);
                let owners = Division::Even { parts }.owners(storage, || rows);
                let mut next = 0;
                for part in 0..parts {
                    let range = even_rows(storage, rows, part, parts);
                    assert!(range.is_empty() || range.start == next, "{rows} rows in {parts} parts");
                    assert!(range.clone().all(|row| owners.of(row) == part));
                    next += range.len() as u32;
                }
                assert_eq!(next, rows);
            }
            let has_row = |part| (0..60).any(|number| !even_rows(Storage::Table(number), 1, part, parts).is_empty());
            assert!((0..parts).all(has_row), "tables of a row are spread over {parts} parts");
        }
    }

    #[test]
    fn split_rows_are_all_rows_in_order() {
        assert_eq!(split_by_length(3..10, 3).collect::<Vec<_>>(), [3..6, 6..9, 9..10]);
        assert_eq!(split_by_length(5..5, 3).count(), 0);
        let end = u32::MAX;
        assert_eq!(split_by_length(end - 3..end, 2).collect::<Vec<_>>(), [end - 3..end - 1, end - 1..end]);
        assert!(split_by_length(0..end, usize::MAX).eq(std::iter::once(0..end)));
    }
}
