//! The gate of a sweep that the leader begins alone, under loom: every schedule of the leader and
//! one worker. (Two that wait would look in turns for ever, which is a schedule too.)
//!
//! `cargo test --release --manifest-path tests/loom/Cargo.toml --test gate`
#![cfg(affinity_loom)]
#![allow(
    dead_code,
    unused_imports,
    reason = "the protocol's files are taken from the crate as they are, and each test uses a part"
)]

#[path = "../../src/sweep/gate.rs"]
mod gate;
#[path = "model.rs"]
mod model;
#[path = "../../src/sync.rs"]
mod sync;

/// What the gate knows of the rest of the crate.
mod auto {
    #[derive(Debug, PartialEq)]
    pub(crate) struct Probe {
        pub(crate) rows: u64,
        pub(crate) nanoseconds: u64,
    }
}
mod gang_call {
    #[derive(Clone, Copy)]
    pub(crate) enum Visits {
        Own,
    }
}
mod pool {
    /// No time passes: a gate for 0 ns is opened by the first rows, any other one by none.
    pub(crate) fn now() -> u64 {
        0
    }
}

use loom::{cell::UnsafeCell, sync::Arc, thread};

use crate::{auto::Probe, gang_call::Visits, gate::Gate, model::exhaust};

/// A sweep of two rows, both of which the leader visits, and the first of which others look at
/// behind the gate.
struct Sweep {
    gate: Gate,
    rows: [UnsafeCell<u32>; 2],
}
// SAFETY: loom itself reports every overlapping access to a cell.
unsafe impl Sync for Sweep {}
// SAFETY: as above.
unsafe impl Send for Sweep {}

impl Sweep {
    fn new(longest: u64) -> Arc<Self> {
        let rows = std::array::from_fn(|_| UnsafeCell::new(0));
        Arc::new(Self { gate: Gate::new(longest, Visits::Own), rows })
    }

    fn lead(&self) {
        let _opens = self.gate.enter();
        for row in &self.rows {
            // SAFETY: others look at the first row only, behind the gate; loom checks it.
            row.with_mut(|row| unsafe { *row = 1 });
            self.gate.note(1);
        }
    }

    /// Waits, then looks at the first `rows` rows.
    fn follow(&self, rows: usize) {
        self.gate.wait();
        // SAFETY: the leader has visited them; loom checks it.
        self.rows[..rows].iter().for_each(|row| row.with(|row| assert_eq!(unsafe { *row }, 1)));
    }
}

/// A sweep that the leader is to begin alone for `longest`, beside a worker who looks at the first
/// `rows` behind the gate. Returns how many the leader was alone with.
fn sweep(longest: u64, rows: usize) -> u64 {
    let sweep = Sweep::new(longest);
    let follower = thread::spawn({
        let sweep = sweep.clone();
        move || sweep.follow(rows)
    });
    sweep.lead();
    follower.join().expect("no panic");
    sweep.gate.probe().map_or(0, |Probe { rows, .. }| rows)
}

#[test]
fn others_come_in_when_the_leaders_time_is_over() {
    exhaust(|| assert_eq!(sweep(0, 1), 1, "what it visits beside others does not count"));
}

#[test]
fn others_come_in_when_the_leader_is_done() {
    exhaust(|| assert_eq!(sweep(1, 2), 2));
}
