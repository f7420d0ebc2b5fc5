//! Walks that others can share in: on one thread at first, then on the workers of a pool.

use super::claims::Threads;
use crate::{
    auto::{WORTH_A_ROUND, worth_a_wake_up},
    pool::{AffinityPool, Scope, now},
};

/// One call over a tree: what all its walkers share.
pub(super) trait TreeCall: Sync {
    /// What a walker has still to do, and what has come of it so far.
    type Part: Send;
    type Walker<'c>: Walker<Part = Self::Part>
    where
        Self: 'c;

    /// Someone who goes through `part`, beside others if `threads` says so.
    fn walker(&self, part: Self::Part, threads: Threads) -> Self::Walker<'_>;
}

/// Goes through a part of a tree with a stack of its own, so that the depth of the tree does not
/// matter.
pub(super) trait Walker {
    type Part;

    /// Visits this many nodes, or as many as are left. Returns whether none is left.
    fn advance(&mut self, nodes: u32) -> bool;

    /// Splits off half of the oldest work (a node's children, or the roots), if other work remains.
    /// Until the result is [absorbed](Self::absorb) the walk ends where that half begins.
    fn split(&mut self) -> Option<Self::Part>;

    /// Takes over what came of the part that was split off last. Nothing was left to do before it,
    /// nor is there in it.
    fn absorb(&mut self, done: Self::Part);

    fn into_part(self) -> Self::Part;
}

/// Goes through `part`: on this thread, and if that takes a while with the workers of `pool`.
/// Returns what has come of it.
pub(super) fn walk<C: TreeCall>(call: &C, part: C::Part, pool: Option<&AffinityPool>) -> C::Part {
    let mut walker = call.walker(part, Threads::One);
    let Some(pool) = pool else {
        while !walker.advance(u32::MAX) {}
        return walker.into_part();
    };
    let alone = if pool.is_asleep() { worth_a_wake_up(pool.workers()) } else { WORTH_A_ROUND };
    let began = now();
    let mut nodes = 1;
    while now().saturating_sub(began) < alone {
        if walker.advance(nodes) {
            return walker.into_part();
        }
        // Looking at the clock takes as long as visiting a node or two.
        nodes *= 2;
    }
    let left = walker.into_part();
    pool.session(|scope| walk_shared(scope, call, left, Pace::default()))
}

fn walk_shared<C: TreeCall>(scope: &mut Scope, call: &C, part: C::Part, pace: Pace) -> C::Part {
    scope.publish_only_asked();
    let mut walker = call.walker(part, Threads::Many);
    share(scope, call, &mut walker, pace);
    walker.into_part()
}

/// Finishes what `walker` has to do, and gives parts of it away whenever another worker has nothing
/// to do.
fn share<C: TreeCall>(scope: &mut Scope, call: &C, walker: &mut C::Walker<'_>, mut pace: Pace) {
    while !walker.advance(pace.nodes()) {
        if !scope.is_to_publish() {
            pace.lengthen();
            continue;
        }
        let Some(part) = walker.split() else { continue };
        pace.nest();
        let (_, done) =
            scope.join(|scope| share(scope, call, walker, pace), |scope| walk_shared(scope, call, part, pace));
        walker.absorb(done);
    }
}

/// How many nodes a walker visits before it looks again whether another worker wants some.
#[derive(Clone, Copy)]
struct Pace {
    /// Fewest nodes, in eighths. Grows by an eighth with each join that the walk is inside of:
    /// however a tree of N nodes looks, no more than about 8 ln N joins are open at a time on one
    /// stack.
    least: u32,
    /// Nodes since it last looked: more and more while no other worker wants any.
    quiet: u32,
}

/// Looking costs about a nanosecond: nothing beside these many nodes. A few of them cost less than
/// the interval between two beats, however dear they are.
const LONGEST_QUIET: u32 = 16;

impl Default for Pace {
    fn default() -> Self {
        Self { least: 8, quiet: 1 }
    }
}

impl Pace {
    fn nodes(self) -> u32 {
        self.quiet.max(self.least / 8)
    }

    fn lengthen(&mut self) {
        self.quiet = (2 * self.quiet).min(LONGEST_QUIET);
    }

    fn nest(&mut self) {
        self.quiet = 1;
        self.least += (self.least / 8).min(u32::MAX - self.least);
    }
}
