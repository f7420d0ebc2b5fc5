//! How a sweep over rows runs: `Plan::new(rows, site).run(body)` calls `body` with disjoint parts
//! of the rows, on the threads that suit, and learns what that took.
//!
//! From the top: `plan.rs` decides and learns, for the place that started the call. `lock_step.rs`
//! and `fork_join.rs` deal out the rows on the gang, laid out one storage after another;
//! `bevys_threads.rs` does so on Bevy's threads. A thread goes through its rows part by part
//! (`part.rs`): what it claims of a share, a range that is forked (`fork_range.rs`, `ranges.rs`),
//! or one part of an even division (`division.rs`). `rows.rs` says which rows there are, and
//! `fetch.rs` is the contract with the ECS: the items of a range of rows; `selected.rs` visits some
//! of a range, `lookup.rs` single rows, and `prefetch.rs` asks for large ones ahead. `scratch.rs`
//! keeps memory from call to call, `span.rs` records what the gang has no part in, `untagged.rs`
//! warns.

mod bevys_threads;
mod division;
mod fetch;
mod fork_join;
mod fork_range;
mod lock_step;
mod lookup;
mod part;
mod plan;
mod prefetch;
mod ranges;
mod rows;
mod scratch;
mod selected;
mod span;
mod untagged;

pub(crate) use division::{Division, Owners, Parts, pieces};
pub use fetch::Sweep;
pub(crate) use lookup::RowLookup;
pub(crate) use part::Part;
pub(crate) use plan::{Plan, QueryCalls, SiteRef};
pub(crate) use prefetch::Columns;
pub use rows::{Matched, Rows};
pub(crate) use rows::{Missing, Selection};
pub(crate) use scratch::Scratch;
pub(crate) use span::SweepSpan;

use std::sync::MutexGuard;

use crossbeam_utils::CachePadded;

use crate::{
    auto::RowCost,
    context::{Context, Ownership},
};
use lock_step::Layouts;
use ranges::Ranges;
use rows::Layout;

/// What a call on the gang works with, whichever way its rows are dealt out. Holds the locks of
/// that until it is over.
struct GangCall<'a> {
    context: &'a Context,
    ownership: MutexGuard<'a, CachePadded<Ownership>>,
    memory: MutexGuard<'a, Memory>,
    cost: &'a RowCost,
    /// Whether it is to be learned what a row costs, if the call is a short one. Long ones tell in
    /// any case.
    measured: bool,
}

/// The memory that calls on the gang are laid out in.
#[derive(Default)]
struct Memory {
    /// The rows of each worker, and those of each that receives what they send.
    by_owner: [Layouts; 2],
    /// All rows, for fork/join, and the ranges of the workers.
    whole: Layout,
    ranges: Ranges,
}
