//! Claiming the nodes of a tree under loom: every schedule of two threads that come by the same
//! entities.
//!
//! `cargo test --release --manifest-path tests/loom/Cargo.toml --test nodes`
#![cfg(affinity_loom)]
#![allow(
    dead_code,
    unused_imports,
    reason = "the protocol's files are taken from the crate as they are, and each test uses a part"
)]

#[path = "../../src/tree/claims.rs"]
mod claims;
#[path = "model.rs"]
mod model;
#[path = "../../src/sync.rs"]
mod sync;

use std::sync::Arc;

use loom::{cell::UnsafeCell, thread};

use crate::{
    claims::{NodeClaims, Rank, Threads},
    model::exhaust,
};

/// What loom watches for overlapping access, one for each entity, with how often it was visited.
struct Nodes(Vec<UnsafeCell<u32>>);
// SAFETY: loom itself reports every overlapping access to a cell.
unsafe impl Sync for Nodes {}
// SAFETY: as above.
unsafe impl Send for Nodes {}

/// Claims each node in turn, and visits those that it gets.
fn walk(claims: &NodeClaims, nodes: &Nodes, by: &[(u32, Rank)]) {
    for &(index, rank) in by {
        if claims.claim(index, rank, Threads::Many) {
            // SAFETY: one claim of a call succeeds; loom checks it.
            nodes.0[index as usize].with_mut(|visits| unsafe { *visits += 1 });
        }
    }
}

/// Two calls of which the second has one thread for each walk; `root` is reserved in both.
fn walks(of: &'static [&'static [(u32, Rank)]], root: Option<u32>) {
    let (mut claims, nodes) = (NodeClaims::default(), Arc::new(Nodes((0..2).map(|_| UnsafeCell::new(0)).collect())));
    for _ in 0..2 {
        claims.begin(2);
        assert!(root.is_none_or(|root| claims.reserve_root(root) && !claims.reserve_root(root)));
        let shared = Arc::new(claims);
        let walkers = of.iter().map(|&by| {
            let (claims, nodes) = (shared.clone(), nodes.clone());
            thread::spawn(move || walk(&claims, &nodes, by))
        });
        walkers.collect::<Vec<_>>().into_iter().for_each(|walker| walker.join().unwrap());
        claims = Arc::into_inner(shared).expect("all walkers are done");
    }
    // SAFETY: all threads have been joined.
    nodes.0.iter().for_each(|visits| visits.with(|visits| assert_eq!(unsafe { *visits }, 2)));
}

#[test]
fn a_node_with_two_parents_is_visited_once() {
    exhaust(|| walks(&[&[(0, Rank::Child), (1, Rank::Child)], &[(1, Rank::Child), (0, Rank::Child)]], None));
}

#[test]
fn a_root_that_is_a_child_too_goes_to_who_was_given_it() {
    exhaust(|| walks(&[&[(1, Rank::Child), (0, Rank::Root)], &[(0, Rank::Child), (1, Rank::Child)]], Some(0)));
}
