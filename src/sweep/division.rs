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
    /// `rows` rows in `parts` even runs.
    Even { rows: u32, parts: usize },
}

impl<'a> Division<'a> {
    /// The rows of `part`; runs of different parts are disjoint, and together they are all `rows`
    /// rows.
    #[inline]
    pub(crate) fn range(&self, storage: Storage, rows: impl FnOnce() -> u32, part: usize) -> Range<u32> {
        match self {
            Self::Placed(placement) => placement.get(storage).map_or(0..0, |runs| runs.range_of(part)),
            Self::Even { parts } => {
                let rows = u64::from(rows());
                let cut = |part: usize| (rows * part as u64).div_ceil(*parts as u64) as u32;
                cut(part)..cut(part + 1)
            }
        }
    }

    /// What `part` has of `rows` rows that do not go by owner.
    pub(crate) fn positions(&self, rows: u64, part: usize) -> Range<u64> {
        let parts = if let Self::Even { parts } = self { *parts as u64 } else { 1 };
        let cut = |part: u64| (u128::from(rows) * u128::from(part) / u128::from(parts)) as u64;
        cut(part as u64)..cut(part as u64 + 1)
    }

    /// Whose the rows of `storage` are, which are `rows`.
    pub(crate) fn owners(&self, storage: Storage, rows: impl FnOnce() -> u32) -> Owners<'a> {
        match *self {
            Self::Placed(placement) => placement.get(storage).map_or(Owners::One(0), Owners::Runs),
            Self::Even { parts: 1 } => Owners::One(0),
            Self::Even { parts } => Owners::Even { rows: rows(), parts },
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
            Self::Even { rows, parts } => (u64::from(row) * parts as u64 / u64::from(rows)) as usize,
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
    pub(crate) stolen: u32,
}
