//! Summing up: from the intersections to the whole city, by joins wherever a district has parts.

use bevy_affinity::prelude::*;

use super::Districts;
use super::quadtree::{District, Quadtree};
use super::traffic::Traffic;

/// The most intersections whose queues are looked at in one frame: about a millisecond's worth. In
/// a larger city districts take turns.
const INTERSECTIONS_A_FRAME: usize = 16_384;

impl Districts {
    /// Counts the traffic of the districts whose turn it is from that `at` each intersection, and
    /// sums up all of them.
    pub fn refit(&mut self, pool: &AffinityPool, at: impl Fn(u32) -> Traffic + Sync) {
        let Self { tree, traffic, turn } = self;
        let count = Count { tree, at, turn: *turn, turns: turns(tree) };
        pool.heartbeat(|scope| count.side_by_side(scope, tree.districts(), traffic));
        *turn = (*turn + 1) % count.turns;
    }

    /// After so many frames all districts have had their turn.
    pub fn turns(&self) -> usize {
        turns(&self.tree)
    }
}

fn turns(tree: &Quadtree) -> usize {
    tree.intersections().div_ceil(INTERSECTIONS_A_FRAME).max(1)
}

/// One frame's count. Each of its functions gets districts, every one followed by its parts, and
/// the counts that belong to them.
struct Count<'a, A> {
    tree: &'a Quadtree,
    at: A,
    turn: usize,
    turns: usize,
}

impl<A: Fn(u32) -> Traffic + Sync> Count<'_, A> {
    /// The sum of districts that lie beside each other.
    fn side_by_side(&self, scope: &mut Scope, districts: &[District], traffic: &mut [Traffic]) -> Traffic {
        let Some(first) = districts.first() else { return Traffic::default() };
        let (first, others) = districts.split_at(first.size);
        let (counts, other_counts) = traffic.split_at_mut(first.len());
        if others.is_empty() {
            return self.one(scope, first, counts);
        }
        let (here, there) =
            scope.join(|scope| self.one(scope, first, counts), |scope| self.side_by_side(scope, others, other_counts));
        here + there
    }

    /// The sum of one district, from its parts or its intersections.
    fn one(&self, scope: &mut Scope, districts: &[District], traffic: &mut [Traffic]) -> Traffic {
        let (Some((district, parts)), Some((own, below))) = (districts.split_first(), traffic.split_first_mut()) else {
            return Traffic::default();
        };
        if district.is_divided() {
            *own = self.side_by_side(scope, parts, below);
        } else if district.number() % self.turns == self.turn {
            *own = self.tree.members(district).iter().map(|&number| (self.at)(number)).sum();
        }
        *own
    }
}
