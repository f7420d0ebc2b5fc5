//! Rows that one worker sweeps in order, the far half of which another one takes whenever it has
//! nothing to do.

use std::ops::Range;

use super::{division::Division, gang_call::Visits, gate::Gate, layout::Layout, ranges::Ranges};
use crate::{
    context::{Context, Ownership},
    placement::{Storage, WHOLE_LINES},
    topology::CoreId,
};

/// How the rows of a call are cut into grains.
#[derive(Clone, Copy)]
pub(super) struct Cut {
    /// Rows of a grain, before they are rounded up to whole cache lines.
    pub(super) grain: u64,
    /// Whether each grain is a part of its own: then the memory for what it sends is the same in
    /// every call, whichever worker sweeps it.
    pub(super) by_grain: bool,
}

/// One call by fork/join.
#[derive(Clone, Copy)]
pub(super) struct Fork<'a> {
    context: &'a Context,
    ownership: &'a Ownership,
    layout: &'a Layout,
    ranges: &'a Ranges,
    cut: Cut,
    /// Where the leader begins alone.
    gate: Option<&'a Gate>,
}

/// What is left to one worker, the first grain of which it has taken.
///
/// # Invariant (ranges)
/// The grains of a call cover its layout: grain `n` is the rows from `n` grains' rows on, up to the
/// next one's or the end. Each is swept once, by the worker that takes it: 'grains' on [`Ranges`].
pub(super) struct ForkRange<'a> {
    fork: Fork<'a>,
    worker: usize,
    core: Option<CoreId>,
    first: u32,
}

impl<'a> Fork<'a> {
    /// A call over `layout`, all of it left to the leader.
    pub(super) fn new(
        context: &'a Context,
        ownership: &'a Ownership,
        layout: &'a Layout,
        ranges: &'a mut Ranges,
        Cut { grain, by_grain }: Cut,
        gate: Option<&'a Gate>,
    ) -> Self {
        let lines = u64::from(WHOLE_LINES);
        let grain = if grain > lines { grain.next_multiple_of(lines) } else { grain.max(1) };
        // As many as a number has bits for.
        let grain = grain.max(layout.rows().div_ceil(u32::MAX.into()));
        // Where each grain is a part there is one at least: the first part also sends for others.
        let grains = (layout.rows().div_ceil(grain) as u32).max(u32::from(by_grain));
        ranges.begin(context.pool.workers(), grains);
        Self { context, ownership, layout, ranges, cut: Cut { grain, by_grain }, gate }
    }

    /// What `worker`, which runs on `core`, has or takes from another; `None` if there is nothing
    /// to take.
    pub(super) fn range_of(self, worker: usize, core: Option<CoreId>) -> Option<ForkRange<'a>> {
        let (first, was_anothers) = self.ranges.take_anywhere(worker)?;
        if was_anothers {
            self.context.pool.count_taken(worker);
        }
        Some(ForkRange { fork: self, worker, core, first })
    }

    /// The rows from one grain up to before another.
    fn rows(&self, grains: Range<u32>) -> Range<u64> {
        let row = |grain: u32| (u64::from(grain) * self.cut.grain).min(self.layout.rows());
        row(grains.start)..row(grains.end)
    }
}

impl<'a> ForkRange<'a> {
    /// Where the leader begins the sweep alone, and this is its: what counts the rows that are
    /// visited.
    pub(super) fn gate(&self) -> Option<&'a Gate> {
        self.fork.gate.filter(|_| self.worker == 0)
    }

    /// The number of the grain that it begins with: ascends with the rows.
    pub(super) fn first_grain(&self) -> usize {
        self.first as usize
    }

    /// Who owns which rows, of those that go by owner.
    pub(super) fn division(&self) -> Division<'a> {
        Division::Placed(&self.fork.ownership.placement)
    }

    /// Calls `visit` for the rows that are left to this worker, or those of the first grain, in
    /// order.
    #[inline]
    pub(super) fn for_each_range(self, visit: &mut impl FnMut(u32, Storage, Range<u32>)) {
        // Of blocks it is not told which rows of theirs are in this range.
        let gate = self.gate().filter(|gate| gate.visits() == Visits::Own);
        let Self { fork, worker, core, first } = self;
        let (mut next, mut end) = (Some(first), first);
        while let Some(grain) = next {
            let rows = fork.rows(grain..grain + 1);
            fork.layout.for_each_range(rows.clone(), &mut *visit);
            if let Some(gate) = gate {
                gate.note(rows.end - rows.start);
            }
            end = grain + 1;
            next = if fork.cut.by_grain { None } else { fork.ranges.take(worker) };
        }
        fork.count(worker, core, fork.rows(first..end));
    }
}

impl Fork<'_> {
    /// Counts rows that `worker` swept, on `core` if that is known.
    fn count(&self, worker: usize, core: Option<CoreId>, rows: Range<u64>) {
        let count = rows.end - rows.start;
        let same_core = core.map(|core| self.stayed(core, rows));
        self.context.pool.swept[worker].add(count, same_core);
    }

    /// How many of these rows `core` swept last time.
    fn stayed(&self, core: CoreId, rows: Range<u64>) -> u64 {
        let mut stayed = 0;
        self.layout.for_each_range(rows, |_, storage, rows| {
            stayed += u64::from(self.ownership.footprints.leave(storage, rows, core));
        });
        stayed
    }
}
