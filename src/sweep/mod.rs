//! How a sweep over rows runs: `Plan::new(rows, site).run(body)` calls `body` with disjoint parts
//! of the rows, on the threads that suit, and learns what that took.
//!
//! From the top: `plan.rs` decides and learns, for the place that started the call
//! (`site_ref.rs`). `lock_step.rs` and `fork_join.rs` deal out the rows on the gang, with what
//! `gang_call.rs` has of the call; `bevys_threads.rs` does so on Bevy's threads. A thread goes
//! through its rows part by part (`part.rs`, `cursor.rs`): what it claims of a share (`share.rs`),
//! a range that is forked (`fork_range.rs`, `ranges.rs`), or one part of an even division
//! (`division.rs`). Now and then the leader begins alone, to see what one thread takes
//! (`gate.rs`).
//!
//! `rows.rs` says which rows there are, `selection.rs` which of them are meant, `layout.rs` in what
//! order they are swept and by whom. `fetch.rs` is the contract with the ECS: the items of rows.
//! `visit.rs` visits a range of rows, `selected.rs` some of a range, `lookup.rs` single rows, and
//! `prefetch.rs` asks for large ones ahead. `scratch.rs` keeps memory from call to call, `span.rs`
//! records what the gang has no part in, `untagged.rs` warns.

mod bevys_threads;
mod cursor;
mod division;
mod fetch;
mod fork_join;
mod fork_range;
mod gang_call;
mod gate;
mod layout;
mod lock_step;
mod lookup;
mod part;
mod plan;
mod prefetch;
mod ranges;
mod rows;
mod scratch;
mod selected;
mod selection;
mod share;
mod site_ref;
mod span;
mod untagged;
mod visit;

pub(crate) use division::{Division, Owners, Parts, split_by_length};
pub use fetch::Sweep;
pub(crate) use lookup::RowLookup;
pub(crate) use part::Part;
pub(crate) use plan::Plan;
pub(crate) use prefetch::Columns;
pub(crate) use rows::Missing;
pub use rows::{Matched, Rows};
pub(crate) use scratch::Scratch;
pub(crate) use selection::Selection;
pub(crate) use site_ref::{QueryCalls, SiteRef};
pub(crate) use span::SweepSpan;
