//! Group `tree`: the sum of a binary tree by recursion, the measure of fork/join libraries: nothing
//! is done at a node but to add it, so what a join costs is seen undiluted.
//!
//! Large trees are a matter of memory, and there it counts in which order a library runs the two
//! halves: in the order of the nodes in memory the processor fetches ahead. So each tree is laid
//! out both ways.

use rayon::ThreadPool;

use bevy_affinity::prelude::*;

use crate::race::Race;
use crate::report::SizeTable;
use crate::setup::Setup;
use crate::{ours, rivals};

/// 1,023 and 16,777,215 nodes are the sizes that chili publishes.
const SIZES: [usize; 5] = [1_000, 1_023, 1_000_000, 10_000_000, (1 << 24) - 1];

/// Trees above this size get a sixth of the rounds: a round takes seconds.
const LARGE: usize = 100_000;

pub fn run(setup: &Setup) -> Result<(), String> {
    let pools = Pools::new(setup.workers)?;
    for (first, order) in [(Side::Left, "left"), (Side::Right, "right")] {
        let mut table =
            SizeTable::new(&format!("Tree sum, x serial, nodes in memory: parent, {order} half, other half"));
        for size in SIZES.into_iter().filter(|&size| setup.sizes.last().is_some_and(|&largest| size <= 2 * largest)) {
            let rounds = if size > LARGE { setup.rounds.div_ceil(6) } else { setup.rounds };
            let standings = race(&pools, size, first).run(rounds)?;
            table.push_per_item(size, &standings);
        }
        table.print();
    }
    Ok(())
}

struct Pools {
    ours: AffinityPool,
    chili: chili::ThreadPool,
    rayon: ThreadPool,
}

impl Pools {
    fn new(workers: usize) -> Result<Self, String> {
        Ok(Self { ours: ours::pool(workers), chili: rivals::chili(workers), rayon: rivals::rayon(workers)? })
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Left,
    Right,
}

struct Node {
    value: u64,
    left: Option<Box<Node>>,
    right: Option<Box<Node>>,
}

impl Node {
    /// A balanced tree of `size` nodes, each allocated before its children, of which those on the
    /// side `first` come first.
    fn tree(size: usize, first: Side) -> Option<Box<Self>> {
        let below = size.checked_sub(1)?;
        let mut node = Box::new(Self { value: 1, left: None, right: None });
        let (left, right) = (below / 2, below - below / 2);
        if first == Side::Left {
            node.left = Self::tree(left, first);
        }
        node.right = Self::tree(right, first);
        if first == Side::Right {
            node.left = Self::tree(left, first);
        }
        Some(node)
    }
}

/// A tree, and the sum of all its sums.
struct Sums {
    tree: Option<Box<Node>>,
    size: usize,
    total: u64,
}

impl Sums {
    fn add(&mut self, sum: impl FnOnce(&Node) -> u64) {
        self.total += self.tree.as_deref().map_or(0, sum);
    }
}

/// Each library keeps its scope open for a turn, as chili's own benchmark does, but for one line of
/// ours.
fn race(pools: &Pools, size: usize, first: Side) -> Race<'_, Sums> {
    let mut race = Race::new(Sums { tree: Node::tree(size, first), size, total: 0 }, fault);
    race.enter_baseline("serial", |sums, turn| turn.repeat(|| sums.add(serial)));
    race.enter("ours, join at every node", |sums, turn| {
        pools.ours.heartbeat(|scope| turn.repeat(|| sums.add(|node| at_every_node(node, scope))));
    });
    race.enter("ours, where both children exist", |sums, turn| {
        pools.ours.heartbeat(|scope| turn.repeat(|| sums.add(|node| where_both_exist(node, scope))));
    });
    race.enter("ours, the same, right half first", |sums, turn| {
        pools.ours.heartbeat(|scope| turn.repeat(|| sums.add(|node| right_half_first(node, scope))));
    });
    race.enter("ours, left half first, `heartbeat` for each sum", |sums, turn| {
        turn.repeat(|| sums.add(|node| pools.ours.heartbeat(|scope| where_both_exist(node, scope))));
    });
    race.enter("chili, join at every node", |sums, turn| {
        let mut scope = pools.chili.scope();
        turn.repeat(|| sums.add(|node| chili_at_every_node(node, &mut scope)));
    });
    race.enter("chili, where both children exist", |sums, turn| {
        let mut scope = pools.chili.scope();
        turn.repeat(|| sums.add(|node| chili_where_both_exist(node, &mut scope)));
    });
    race.enter("rayon, where both children exist", |sums, turn| {
        pools.rayon.install(|| turn.repeat(|| sums.add(rayon_where_both_exist)));
    });
    race
}

fn fault(sums: &mut Sums, calls: u64) -> Option<String> {
    let expected = sums.size as u64 * calls;
    (sums.total != expected).then(|| format!("{} and not {expected} after {calls} calls", sums.total))
}

fn serial(node: &Node) -> u64 {
    node.value + node.left.as_deref().map_or(0, serial) + node.right.as_deref().map_or(0, serial)
}

fn at_every_node(node: &Node, scope: &mut Scope) -> u64 {
    let (left, right) = scope.join(
        |scope| node.left.as_deref().map_or(0, |left| at_every_node(left, scope)),
        |scope| node.right.as_deref().map_or(0, |right| at_every_node(right, scope)),
    );
    node.value + left + right
}

fn where_both_exist(node: &Node, scope: &mut Scope) -> u64 {
    match (node.left.as_deref(), node.right.as_deref()) {
        (Some(left), Some(right)) => {
            let (left, right) =
                scope.join(|scope| where_both_exist(left, scope), |scope| where_both_exist(right, scope));
            node.value + left + right
        }
        (Some(child), None) | (None, Some(child)) => node.value + where_both_exist(child, scope),
        (None, None) => node.value,
    }
}

/// The order in which chili runs the halves of a join.
fn right_half_first(node: &Node, scope: &mut Scope) -> u64 {
    match (node.left.as_deref(), node.right.as_deref()) {
        (Some(left), Some(right)) => {
            let (right, left) =
                scope.join(|scope| right_half_first(right, scope), |scope| right_half_first(left, scope));
            node.value + left + right
        }
        (Some(child), None) | (None, Some(child)) => node.value + right_half_first(child, scope),
        (None, None) => node.value,
    }
}

fn chili_at_every_node(node: &Node, scope: &mut chili::Scope) -> u64 {
    let (left, right) = scope.join(
        |scope| node.left.as_deref().map_or(0, |left| chili_at_every_node(left, scope)),
        |scope| node.right.as_deref().map_or(0, |right| chili_at_every_node(right, scope)),
    );
    node.value + left + right
}

fn chili_where_both_exist(node: &Node, scope: &mut chili::Scope) -> u64 {
    match (node.left.as_deref(), node.right.as_deref()) {
        (Some(left), Some(right)) => {
            let (left, right) =
                scope.join(|scope| chili_where_both_exist(left, scope), |scope| chili_where_both_exist(right, scope));
            node.value + left + right
        }
        (Some(child), None) | (None, Some(child)) => node.value + chili_where_both_exist(child, scope),
        (None, None) => node.value,
    }
}

fn rayon_where_both_exist(node: &Node) -> u64 {
    match (node.left.as_deref(), node.right.as_deref()) {
        (Some(left), Some(right)) => {
            let (left, right) = rayon::join(|| rayon_where_both_exist(left), || rayon_where_both_exist(right));
            node.value + left + right
        }
        (Some(child), None) | (None, Some(child)) => node.value + rayon_where_both_exist(child),
        (None, None) => node.value,
    }
}
