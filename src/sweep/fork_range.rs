//! Rows that one worker sweeps in order, the far half of which goes to another one whenever that
//! has nothing to do.

use std::ops::Range;

use super::{division::Division, layout::Layout};
use crate::{
    context::{Context, Ownership},
    placement::{Storage, WHOLE_LINES},
    pool::{Scope, running_on},
    topology::CoreId,
};

/// One call by fork/join.
#[derive(Clone, Copy)]
pub(super) struct Fork<'a> {
    context: &'a Context,
    ownership: &'a Ownership,
    layout: &'a Layout,
    /// How many rows are swept between two looks at whether another worker wants some.
    grain: u64,
    /// Begins to sweep a range, on any worker.
    begin: &'a (dyn Fn(ForkRange<'_, '_>) + Sync),
    /// Where the leader runs: asking the system takes longer than many a range.
    leader_core: Option<CoreId>,
}

/// Rows that one worker sweeps in order. Its end moves towards it when other workers take the far
/// halves.
///
/// # Invariant (ranges)
/// The first range is the whole layout; one that is cut goes on with the near half, and a new one
/// is made of the far half, once. So ranges are disjoint, and together they are all rows.
pub(super) struct ForkRange<'a, 's> {
    fork: Fork<'a>,
    scope: &'a mut Scope<'s>,
    rows: Range<u64>,
}

impl<'a> Fork<'a> {
    /// A call over `layout`, whose ranges are cut between grains of `grain` rows, or a few more.
    pub(super) fn new(
        context: &'a Context,
        ownership: &'a Ownership,
        layout: &'a Layout,
        grain: u64,
        begin: &'a (dyn Fn(ForkRange<'_, '_>) + Sync),
    ) -> Self {
        let lines = u64::from(WHOLE_LINES);
        let grain = if grain > lines { grain.next_multiple_of(lines) } else { grain.max(1) };
        Self { context, ownership, layout, grain, begin, leader_core: running_on() }
    }

    /// Sweeps all rows, with those who come to help.
    pub(super) fn sweep(self, scope: &mut Scope<'_>) {
        self.start(scope, 0..self.layout.rows());
    }

    fn start(self, scope: &mut Scope<'_>, rows: Range<u64>) {
        (self.begin)(ForkRange { fork: self, scope, rows });
    }

    /// The first row of the far half of `rows`; `None` if they are one grain.
    #[inline]
    fn middle(&self, rows: &Range<u64>) -> Option<u64> {
        let grains = (rows.end - rows.start).div_ceil(self.grain);
        (grains > 1).then(|| rows.start + grains / 2 * self.grain)
    }
}

impl<'a> ForkRange<'a, '_> {
    /// The number of the grain that it begins with: ascends with the rows.
    pub(super) fn first_grain(&self) -> usize {
        (self.rows.start / self.fork.grain) as usize
    }

    /// Who owns which rows, of those that go by owner.
    pub(super) fn division(&self) -> Division<'a> {
        Division::Placed(&self.fork.ownership.placement)
    }

    /// Calls `visit` for the rows that are left to this worker, grain by grain, in order.
    pub(super) fn for_each_range(mut self, visit: &mut impl FnMut(u32, Storage, Range<u32>)) {
        let Fork { context, ownership, layout, leader_core, .. } = self.fork;
        let worker = self.scope.worker();
        let start = self.rows.start;
        let end = self.sweep(visit);
        let Some(core) = (if worker == 0 { leader_core } else { running_on() }) else { return };
        let mut same_core = 0;
        layout.for_each_range(start..end, |_, storage, rows| {
            same_core += u64::from(ownership.footprints.leave(storage, rows, core));
        });
        context.pool.swept[worker].add(end - start, same_core);
    }

    /// Returns where the range ended.
    fn sweep(&mut self, visit: &mut impl FnMut(u32, Storage, Range<u32>)) -> u64 {
        let fork = self.fork;
        while !self.rows.is_empty() {
            if self.scope.is_to_publish()
                && let Some(middle) = fork.middle(&self.rows)
            {
                return self.share(middle, visit);
            }
            let end = self.rows.end.min(self.rows.start + fork.grain);
            fork.layout.for_each_range(self.rows.start..end, &mut *visit);
            self.rows.start = end;
        }
        self.rows.end
    }

    /// Goes on with the rows before `middle`, while or before another worker sweeps the others.
    fn share(&mut self, middle: u64, visit: &mut impl FnMut(u32, Storage, Range<u32>)) -> u64 {
        let (fork, near, far) = (self.fork, self.rows.start..middle, middle..self.rows.end);
        let sweep_near = |scope: &mut Scope<'_>| ForkRange { fork, scope, rows: near }.sweep(visit);
        self.scope.join(sweep_near, |scope| fork.start(scope, far)).0
    }
}
