//! Which chunk a worker that is done takes, and from whom.

use super::share::{CallShares, Chunking, ShareClaim};
use crate::ablation::Mechanism;

/// A theft begins only where at least this many chunks are left: less is the ordinary difference
/// between two cores, and rows that stay are worth more.
pub(super) const FEWEST_LEFT: u32 = 2;

/// And only where at least one part in this many of the share is left, for the same reason.
const LEAST_PART_LEFT: u32 = 10;

/// A chunk of the worker that has most left, as long as that is more than it should be.
#[cold]
pub(super) fn steal(shares: CallShares<'_>, thief: usize) -> Option<ShareClaim<'_>> {
    let chunks = shares.chunks.filter(|_| !Mechanism::Stealing.is_out())?;
    loop {
        let (owner, count) = most_left(shares, thief, chunks)?;
        let claims = shares.ownership.board.claims_of(owner);
        // Another thief may have been faster.
        if let Some(back) = claims.take_back(chunks.tag, count, fewest_left(count), chunks.most_stolen) {
            return Some(shares.stolen(chunks, owner, thief, back));
        }
    }
}

/// The owner who has most chunks left, and how many its share has; `None` if none has enough left
/// to begin.
fn most_left(shares: CallShares<'_>, thief: usize, chunks: Chunking) -> Option<(usize, u32)> {
    let pool = &shares.context.pool;
    // The leader sweeps the whole share of a worker that is left out, from the front, when it runs
    // that index.
    let is_the_leaders = |owner| thief == 0 && pool.is_left_out(owner);
    let owners = (0..pool.workers()).filter(|&owner| owner != thief && !is_the_leaders(owner));
    let with_left = owners.filter_map(|owner| {
        let count = shares.chunks_of(owner, chunks);
        let left = shares.ownership.board.claims_of(owner).left(chunks.tag, count, chunks.most_stolen);
        (left >= fewest_left(count)).then_some((owner, count, left))
    });
    with_left.max_by_key(|&(_, _, left)| left).map(|(owner, count, _)| (owner, count))
}

/// A share with this many chunks is only stolen from where this many are left.
fn fewest_left(chunks: u32) -> u32 {
    FEWEST_LEFT.max(chunks / LEAST_PART_LEFT)
}
