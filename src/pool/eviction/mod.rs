//! Eviction: workers that share their core with other processes rest between rounds, and those
//! whose core is taken for the most part are left out of rounds for a while.
//!
//! `contention.rs` finds out whose core is taken, `policy.rs` for how long workers rest or are left
//! out, `participation.rs` which ones, from round to round, and `leader.rs` moves the leader, for
//! which every round waits, to a core that is free.

mod contention;
mod leader;
mod participation;
mod policy;

pub(super) use contention::{CoreTaken, finds_core_taken};
#[cfg(test)]
pub(super) use policy::Evidence;
pub(super) use policy::{Eviction, WorkerEviction};
