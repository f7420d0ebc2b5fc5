//! Sweeps by fork/join: a worker goes through a range of rows in order, and whenever another one
//! has nothing to do the far half of what is left goes there.

use std::ops::Range;

use super::{
    line::Line,
    parts::{Body, Division, Part},
};
use crate::{
    context::Context,
    placement::{Placement, Storage},
    pool::{Finished, Scope, running_on},
    topology::CoreId,
};

/// Long pieces are multiples of this many rows: whole cache lines, so that two workers seldom write
/// to one.
const ALIGNMENT: u64 = 64;

/// One call's sweep of a line.
#[derive(Clone, Copy)]
struct Call<'a> {
    context: &'a Context,
    placement: &'a Placement,
    line: &'a Line,
    /// How many rows are swept between two looks at whether another worker wants some.
    piece: u64,
    /// What is done with a range, on any worker.
    body: &'a Body<'a>,
    /// Where the leader runs: asking the system takes longer than many a range.
    led_on: Option<CoreId>,
}

/// Rows that one worker sweeps in order. Its end moves towards it when other workers take the far
/// halves.
///
/// # Invariant (ranges)
/// The first range is the whole line; one that is cut goes on with the near half, and a new one
/// is made of the far half, once. So ranges are disjoint, and together they are all rows.
pub(super) struct ForkRange<'a, 's> {
    call: Call<'a>,
    scope: &'a mut Scope<'s>,
    rows: Range<u64>,
}

/// Sweeps `line` in one session of fork/join: `body` is called for each range, which is cut
/// between pieces of `piece` rows, or a few more. Returns how many rows the leader swept, and what
/// was measured.
pub(super) fn on_heartbeat<'c>(
    context: &'c Context,
    placement: &mut Placement,
    line: &Line,
    piece: u64,
    body: &Body<'_>,
) -> (u64, Finished<'c>) {
    line.sections().iter().for_each(|section| placement.footprints.cover(section.storage, section.rows.end));
    let piece = if piece > ALIGNMENT { piece.next_multiple_of(ALIGNMENT) } else { piece.max(1) };
    let led = || context.affinity[0].read().0;
    let before = led();
    let call = Call { context, placement, line, piece, body, led_on: running_on() };
    let ((), round) = context.pool.session(|scope| call.start(scope, 0..line.rows()));
    (led() - before, round)
}

impl<'a> Call<'a> {
    /// The number of the piece that begins at `row`.
    fn piece_at(&self, row: u64) -> usize {
        (row / self.piece) as usize
    }

    /// The first row of the far half of `rows`; `None` if they are one piece.
    #[inline]
    fn middle(&self, rows: &Range<u64>) -> Option<u64> {
        let pieces = (rows.end - rows.start).div_ceil(self.piece);
        (pieces > 1).then(|| rows.start + pieces / 2 * self.piece)
    }

    fn start(self, scope: &mut Scope<'_>, rows: Range<u64>) {
        let (index, division) = (self.piece_at(rows.start), Division::Placed(self.placement));
        (self.body)(Part::fork_range(index, division, ForkRange { call: self, scope, rows }));
    }
}

impl<'a> ForkRange<'a, '_> {
    /// Calls `visit` for the rows that are left to this worker, piece by piece, in order.
    pub(super) fn for_each_range(mut self, visit: &mut impl FnMut(u32, Storage, Range<u32>)) {
        let Call { context, placement, line, led_on, .. } = self.call;
        let worker = self.scope.worker();
        let start = self.rows.start;
        let end = self.sweep(visit);
        let Some(core) = (if worker == 0 { led_on } else { running_on() }) else { return };
        let mut same_core = 0;
        line.for_each_range(start..end, |_, storage, rows| {
            same_core += u64::from(placement.footprints.leave(storage, rows, core));
        });
        context.affinity[worker].add(end - start, same_core);
    }

    /// Returns where the range ended.
    fn sweep(&mut self, visit: &mut impl FnMut(u32, Storage, Range<u32>)) -> u64 {
        let call = self.call;
        while !self.rows.is_empty() {
            if self.scope.is_to_publish()
                && let Some(middle) = call.middle(&self.rows)
            {
                return self.share(middle, visit);
            }
            let end = self.rows.end.min(self.rows.start + call.piece);
            call.line.for_each_range(self.rows.start..end, &mut *visit);
            self.rows.start = end;
        }
        self.rows.end
    }

    /// Goes on with the rows before `middle`, while or before somebody sweeps the others.
    fn share(&mut self, middle: u64, visit: &mut impl FnMut(u32, Storage, Range<u32>)) -> u64 {
        let (call, near, far) = (self.call, self.rows.start..middle, middle..self.rows.end);
        let sweep_near = |scope: &mut Scope<'_>| ForkRange { call, scope, rows: near }.sweep(visit);
        self.scope.join(sweep_near, |scope| call.start(scope, far)).0
    }
}
