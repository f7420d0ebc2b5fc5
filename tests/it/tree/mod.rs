//! Recursive queries: the same values in every mode and with every number of workers, whatever the
//! trees look like.

mod faults;
mod forest;
mod malformed;
mod queries;

use bevy::prelude::*;
use proptest::{collection::vec, prelude::*};

use crate::common::Scheduling;
use forest::{Forest, Outcome};

/// The same forest in every mode, and in the test's own recursion.
fn check(forest: &Forest) {
    let expected = forest.expected();
    let mut app = forest::app(forest, Scheduling::SERIAL);
    for scheduling in Scheduling::all() {
        app.insert_resource(scheduling.settings()).insert_resource(scheduling.mode);
        let outcome = Outcome::of_next_frame(&mut app);
        assert!(outcome == expected, "{scheduling:?}, {} nodes", forest.parents.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Each node's parent is one of those before it: from bushes to chains.
    #[test]
    fn random_forests(picks in vec(0..1000_usize, 1..2000), spread in 1..1000_usize) {
        let parent = |(node, pick): (usize, &usize)| match node {
            0 => None,
            _ if *pick == 0 => None,
            _ => Some(node - 1 - pick % spread.min(node)),
        };
        check(&Forest { parents: picks.iter().enumerate().map(parent).collect() });
    }
}

#[test]
fn no_roots() {
    check(&Forest { parents: vec![] });
}

#[test]
fn one_node() {
    check(&Forest { parents: vec![None] });
}

#[test]
fn a_binary_tree() {
    check(&Forest {
        parents: (0..(1 << 13) - 1).map(|node: usize| node.checked_sub(1).map(|above| above / 2)).collect(),
    });
}

#[test]
fn a_hundred_thousand_children() {
    check(&Forest { parents: (0..100_001).map(|node: usize| (node > 0).then_some(0)).collect() });
}

#[test]
fn a_chain_of_two_hundred_thousand() {
    check(&Forest { parents: (0..200_000_usize).map(|node| node.checked_sub(1)).collect() });
}

/// A chain in which each node has a leaf besides, before or after the next one.
#[test]
fn two_hundred_thousand_nodes_with_a_leaf_each() {
    for next in [1, 2] {
        let parent = |node: usize| {
            let above = node.checked_sub(1)? / 2 * 2;
            Some(if above == 0 { 0 } else { above - 2 + next })
        };
        check(&Forest { parents: (0..200_001).map(parent).collect() });
    }
}

#[test]
fn many_small_trees() {
    check(&Forest { parents: (0..40_000_usize).map(|node| (node % 4 > 0).then(|| node / 4 * 4)).collect() });
}

/// One of many subtrees holds nearly all the work, at the far end of a chain.
#[test]
fn work_is_shared_wherever_it_lies() {
    let chain = 3000;
    let parents = (0..chain + 20_000_usize).map(|node| node.checked_sub(1).map(|above| above.min(chain))).collect();
    let forest = Forest { parents };
    check(&forest);
    let mut app = forest::app(&forest, Scheduling::heartbeat(4));
    let pool = app.world().resource::<bevy_affinity::AffinityPool>().clone();
    // Whether workers come in time is up to the machine.
    for _ in 0..1000 {
        app.update();
        if pool.worker_stats().map(|worker| worker.jobs_taken).sum::<u64>() > 0 {
            return;
        }
    }
    panic!("nobody has taken anything in 1000 calls");
}

/// To divide a walk costs more than to visit some nodes: parts are laid out for others when they
/// have nothing to do, and not because some time has passed.
#[test]
fn walks_are_divided_only_if_somebody_asks() {
    let forest = Forest { parents: vec![None; 50_000] };
    let mut app = forest::app(&forest, Scheduling::heartbeat(2));
    let pool = app.world().resource::<bevy_affinity::AffinityPool>().clone();
    for _ in 0..10 {
        app.update();
    }
    let (published, taken) = pool
        .worker_stats()
        .fold((0, 0), |(published, taken), worker| (published + worker.joins_published, taken + worker.jobs_taken));
    // One for each request. Of a part that is taken some more may be asked for before the next may
    // be taken, and workers may lose the core between the two.
    assert!(published <= 10 * taken + 500, "{published} parts laid out, {taken} taken");
}
