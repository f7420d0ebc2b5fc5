//! What is known of the places that start parallel calls: what their rows cost, what calls took by
//! each strategy, and so how the next call is to run.
//!
//! Numbers in, a decision out: nothing here visits rows or knows a thread. All modes use it: what a
//! row costs says how calls are cut in each (`cost.rs`). Calls in mode `Auto` ask `decide.rs`.
//! `site.rs` is the record of one place, shared by those who ask. `model.rs` is the choice of mode
//! `Auto`; below it is what only it knows: what calls took (`estimate.rs`), how they differ by
//! their rows (`sizes.rs`), trials of other strategies. How they differ by what they take
//! (`heavy.rs`), and when another way is tried and what that may cost (`rival.rs`), schedules ask
//! too. A place has one model for calls that find workers awake and one for the others
//! (`model_pair.rs`), since to wake them is worth something to the calls that follow
//! (`wake_ups.rs`). Most calls of less than a microsecond, and on one thread after a pause, do not
//! ask (`unasked.rs`). `strategy.rs` has the words: how a call runs, and what it took;
//! `explanation.rs` those for what was chosen and why, which `model/explain.rs` says.

mod cost;
mod decide;
mod explanation;
mod heavy;
mod model;
mod model_pair;
pub(crate) mod rival;
mod site;
mod strategy;
mod unasked;
mod wake_ups;

pub(crate) use cost::RowCost;
pub(crate) use decide::decide;
pub use explanation::ChoiceReason;
pub(crate) use explanation::{Explanation, Figure};
pub(crate) use heavy::{HeavyFraction, is_heavy};
pub(crate) use site::{Notice, Origin, Site, SiteList, SiteRegistry};
pub(crate) use strategy::{Decision, Outcome, Probe, Situation, Strategy, Timing, in_proportion};
pub(crate) use wake_ups::WakeUps;

/// What one thread does in less than this stays there, in nanoseconds: in the fixed modes, in trees
/// and in short recursions. `Auto` measures instead. A round and the cache lines it moves cost 600
/// ns where two cores share a cache and 2,500 where they do not, and two workers halve the work at
/// best: it breaks even at 1,200 to 5,000. A session of fork/join costs as much.
pub(crate) const WORTH_A_ROUND: u64 = 5_000;

/// The same of trees and recursions where one worker sleeps: to wake it takes some 10 us of the
/// leader, and it comes 30 us later.
const WORTH_A_WAKE_UP: u64 = 40_000;

/// What each further worker takes the leader that it has to wake, in nanoseconds: it wakes one
/// after another.
const ONE_MORE_WAKE_UP: u64 = 5_000;

/// What trees and recursions take one thread at least before it wakes the others of `workers`, in
/// nanoseconds. About as long as waking them takes: so a call takes at most twice what the better
/// way does.
pub(crate) fn worth_a_wake_up(workers: usize) -> u64 {
    WORTH_A_WAKE_UP + ONE_MORE_WAKE_UP * workers.saturating_sub(2) as u64
}

/// Sweeps of this many rows go parallel before anything is known: for the cheapest rows (0.14 ns)
/// that wastes one round, for all others it gains.
const UNKNOWN_ROWS: u64 = 4096;
