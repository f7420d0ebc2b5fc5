//! One part of a sweep: what a thread is given of it at a time, whichever way it is divided.

use std::ops::Range;

use super::{
    cursor::RowCursor, division::Division, fork_range::ForkRange, gang_call::Visits, gate::Gate, rows::Rows,
    share::ShareClaim,
};
use crate::placement::Storage;

/// One part of a divided sweep.
///
/// # Invariant (parts)
/// The ranges that the parts of one sweep visit are disjoint, and together they are all rows, or
/// all that are selected ('selection' on `Selection`): a division has disjoint runs ('runs' on
/// `Runs`), of which [`bevys_threads`](super::bevys_threads) makes a part each;
/// [`ShareClaim`] and [`ForkRange`] say the same of shares and ranges.
pub(crate) struct Part<'a> {
    /// The number of the owner whose rows these are, or of the grain that a [`ForkRange`] begins
    /// with. Ascends with the rows of each storage.
    pub(crate) index: usize,
    /// For a chunk that its owner lost: how many others of the share were taken before, which
    /// ascends against the rows.
    pub(crate) taken_before: Option<u32>,
    /// Who owns which rows. Those of this part, unless it is a [`ForkRange`].
    pub(crate) division: Division<'a>,
    rows: PartRows<'a>,
}

/// Which rows a [`Part`] has.
enum PartRows<'a> {
    /// One of some even parts of all rows.
    Even(RowCursor<'a>),
    /// What one worker may sweep of a share.
    Claimed(ShareClaim<'a>),
    /// Grains that no other worker has taken.
    ForkRange(ForkRange<'a>),
}

impl<'a> Part<'a> {
    /// All rows in one part.
    pub(super) fn whole(rows: Rows<'a, 'a>) -> Self {
        Self::even(rows, 0, 1)
    }

    /// One of `parts` even parts of all rows.
    pub(super) fn even(rows: Rows<'a, 'a>, index: usize, parts: usize) -> Self {
        let rows = PartRows::Even(RowCursor::through(rows, index, parts));
        Self { index, taken_before: None, division: Division::Even { parts }, rows }
    }

    pub(super) fn claimed(claim: ShareClaim<'a>) -> Self {
        let (index, taken_before, division) = (claim.owner(), claim.taken_before(), claim.division());
        Self { index, taken_before, division, rows: PartRows::Claimed(claim) }
    }

    pub(super) fn of_fork(range: ForkRange<'a>) -> Self {
        let (index, division) = (range.first_grain(), range.division());
        Self { index, taken_before: None, division, rows: PartRows::ForkRange(range) }
    }

    /// The gate to report visited rows to, where the part itself cannot count them: in a sweep of
    /// blocks that the leader begins alone.
    pub(crate) fn gate(&self) -> Option<&'a Gate> {
        let PartRows::ForkRange(range) = &self.rows else { return None };
        range.gate().filter(|gate| gate.visits() == Visits::Blocks)
    }

    /// Calls `visit` for each non-empty range of rows that belongs to this part, in ascending order
    /// of storages and rows, with the storage's place in that order.
    #[inline]
    pub(crate) fn for_each_range(self, mut visit: impl FnMut(u32, Storage, Range<u32>)) {
        let (mut cursor, mut claim) = match self.rows {
            PartRows::ForkRange(range) => return range.for_each_range(&mut visit),
            PartRows::Claimed(claim) => (claim.cursor(), Some(claim)),
            PartRows::Even(cursor) => (cursor, None),
        };
        // One place that visits, beside that of ranges in a function of its own: so both are
        // inlined, and only then their loops are vectorised.
        loop {
            let room = claim.as_mut().map_or(u64::MAX, |claim| claim.claim_room(&mut cursor));
            if room == 0 {
                break;
            }
            let Some((ordinal, storage, range)) = cursor.next(room) else { break };
            let timed = claim.as_ref().and_then(|claim| claim.time(storage));
            visit(ordinal, storage, range.clone());
            if let Some(claim) = &mut claim {
                claim.count(storage, range, timed);
            }
        }
        if let Some(claim) = claim {
            claim.report();
        }
    }
}
