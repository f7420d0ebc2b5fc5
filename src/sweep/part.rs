//! One part of a sweep: what a thread is given of it at a time, whichever way it is divided.

use std::ops::Range;

use super::{claim::Claim, cursor::RowCursor, division::Division, fork_range::ForkRange, rows::Rows};
use crate::placement::Storage;

/// One part of a divided sweep.
///
/// # Invariant (parts)
/// The ranges that the parts of one sweep visit are disjoint, and together they are all rows: a
/// division has disjoint runs, of which [`bevys_threads`](super::bevys_threads) makes a part each;
/// [`Claim`] and [`ForkRange`] say the same of shares and ranges.
pub(crate) struct Part<'a> {
    /// The number of the owner whose rows these are, or of the grain that a [`ForkRange`] begins
    /// with. Ascends with the rows of each storage.
    pub(crate) index: usize,
    /// For a chunk that its owner lost: how many others of the share were taken before, which
    /// ascends against the rows.
    pub(crate) stolen: Option<u32>,
    /// Who owns which rows. Those of this part, unless it is a [`ForkRange`].
    pub(crate) division: Division<'a>,
    rows: PartRows<'a>,
}

/// Which rows a [`Part`] has.
enum PartRows<'a> {
    /// What the division gives to it of all rows.
    Divided(Rows<'a, 'a>),
    /// What is claimed of that in a round.
    Claimed(Claim<'a>),
    /// What other workers leave to it.
    ForkRange(ForkRange<'a>),
}

impl<'a> Part<'a> {
    /// All rows in one part.
    pub(super) fn whole(rows: Rows<'a, 'a>) -> Self {
        Self::divided(rows, 0, Division::Even { parts: 1 })
    }

    pub(super) fn divided(rows: Rows<'a, 'a>, index: usize, division: Division<'a>) -> Self {
        Self { index, stolen: None, division, rows: PartRows::Divided(rows) }
    }

    pub(super) fn claimed(claim: Claim<'a>) -> Self {
        let (index, stolen, division) = (claim.owner(), claim.stolen(), claim.division());
        Self { index, stolen, division, rows: PartRows::Claimed(claim) }
    }

    pub(super) fn of_fork(range: ForkRange<'a>) -> Self {
        let (index, division) = (range.first_grain(), range.division());
        Self { index, stolen: None, division, rows: PartRows::ForkRange(range) }
    }

    /// Calls `visit` for each non-empty range of rows that belongs to this part, in ascending order
    /// of storages and rows, with the storage's place in that order.
    #[inline]
    pub(crate) fn for_each_range(self, mut visit: impl FnMut(u32, Storage, Range<u32>)) {
        let (mut cursor, mut claim) = match self.rows {
            PartRows::ForkRange(range) => return range.for_each_range(&mut visit),
            PartRows::Claimed(claim) => (claim.cursor(), Some(claim)),
            PartRows::Divided(rows) => (RowCursor::through(rows, self.division, self.index), None),
        };
        // One place that visits, so that it is inlined: only then its loop is vectorised.
        loop {
            let room = claim.as_mut().map_or(u64::MAX, |claim| claim.room(&mut cursor));
            if room == 0 {
                break;
            }
            let Some((ordinal, storage, range)) = cursor.next(room) else { break };
            let began = claim.as_ref().and_then(|claim| claim.clock_if_learning(storage));
            visit(ordinal, storage, range.clone());
            if let Some(claim) = &mut claim {
                claim.count(storage, range, began);
            }
        }
        if let Some(claim) = claim {
            claim.report();
        }
    }
}
