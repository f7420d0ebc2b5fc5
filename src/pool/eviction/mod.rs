//! Eviction: workers that share their core with other processes rest between rounds, and those
//! whose core is taken for the most part are left out of rounds for a while.
//!
//! `contention.rs` finds out whose core is taken, `policy.rs` which workers rest or are left out
//! and for how long, and `leader.rs` moves the leader, for which every round waits, to a core that
//! is free.

mod contention;
mod leader;
mod policy;

pub(super) use contention::{CoreTaken, finds_core_taken, waits_for_own_threads};
pub(super) use policy::{Eviction, Evidence, Record};
