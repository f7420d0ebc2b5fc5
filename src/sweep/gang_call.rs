//! What a call on the gang works with, in lock step and by fork/join.

use std::sync::MutexGuard;

use crossbeam_utils::CachePadded;

use super::{
    layout::{Layout, Layouts},
    ranges::Ranges,
};
use crate::{
    auto::{Outcome, Probe, RowCost},
    context::{Context, Ownership},
    pool::Finished,
};

/// What a call on the gang works with, whichever way its rows are dealt out. Holds the locks of
/// that until it is over.
pub(super) struct GangCall<'a> {
    pub(super) context: &'a Context,
    pub(super) ownership: MutexGuard<'a, CachePadded<Ownership>>,
    pub(super) memory: MutexGuard<'a, Memory>,
    pub(super) cost: &'a RowCost,
    /// What a round teaches; more if its shares are cut into chunks. Sessions ignore it: they
    /// always teach what a row costs.
    pub(super) teaches: Teaches,
    pub(super) visits: Visits,
    /// For how many nanoseconds the leader is to begin alone, if it is, in a call by fork/join.
    pub(super) probe_for: Option<u64>,
}

/// What a call on the gang took, and what the leader did alone if it began so.
pub(super) type Took = (Outcome, Option<Probe>);

/// Which rows a part visits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Visits {
    /// Those that it has.
    Own,
    /// Whole blocks that begin with one of them. The time of one part then tells nothing of its
    /// rows; the sum does.
    Blocks,
}

/// What a round teaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Teaches {
    /// Nothing. To teach, each worker reads two clocks, and the leader a cache line of each.
    Nothing,
    /// What a row costs.
    Rows,
    /// And what the rows of each worker took. Of a call cut into chunks: it is long enough to tell.
    Shares,
}

/// The memory that calls on the gang are laid out in.
#[derive(Default)]
pub(super) struct Memory {
    /// The rows of each worker; and in a call that sends, those of each that receive.
    pub(super) rows: Layouts,
    pub(super) receivers: Layouts,
    /// All rows, for fork/join, and the ranges of the workers.
    pub(super) whole: Layout,
    pub(super) ranges: Ranges,
}

/// What the leader had swept before a round.
pub(super) struct LeaderBefore(u64);

impl LeaderBefore {
    pub(super) fn of(context: &Context) -> Self {
        Self(context.pool.swept[0].all())
    }

    /// What `round` over `rows` rows took: the leader's part too, which tells what a row costs if
    /// not all workers took part.
    pub(super) fn outcome(self, context: &Context, rows: u64, round: &Finished<'_>) -> Outcome {
        let leader_rows = context.pool.swept[0].all() - self.0;
        Outcome { rows, leader_rows, leader_ns: round.leader_busy(), busy: round.busy_of_all() }
    }
}
