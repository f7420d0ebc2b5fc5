//! How a sweep over rows runs: `Plan::new(rows, site).run(body)` calls `body` with disjoint parts
//! of the rows, on the threads that suit, and learns what that took.
//!
//! From the top: `plan.rs` decides and learns, for the place that started the call (`calls.rs`).
//! `lock_step.rs` and `fork_join.rs` deal out the rows on the gang (`gang_call.rs` is what they
//! work with), `bevys_threads.rs` on Bevy's threads, as `part.rs`: of a share (`claim.rs`), of a
//! range that is forked (`fork_range.rs`, `ranges.rs`), or of an even division (`division.rs`).
//! `cursor.rs` goes through a part, along what `layout.rs` has laid out in segments (`segment.rs`).
//! `rows.rs` says where the rows are: in what the query matched (`matched.rs`), or some of it
//! (`selection.rs`). `fetch.rs` is the contract with the ECS: the items of a range of rows.
//! `scratch.rs` keeps memory from call to call, `span.rs` records what the gang has no part in.

mod bevys_threads;
mod calls;
mod claim;
mod cursor;
mod division;
mod fetch;
mod fork_join;
mod fork_range;
mod gang_call;
mod layout;
mod lock_step;
mod matched;
mod part;
mod plan;
mod prefetch;
mod ranges;
mod rows;
mod scratch;
mod segment;
mod selection;
mod span;

pub(crate) use bevys_threads::BevysBatch;
pub(crate) use calls::{QueryCalls, SiteRef};
pub(crate) use division::{Division, Owners, Parts};
pub(crate) use fetch::RowLookup;
pub use fetch::Sweep;
pub use matched::Matched;
pub(crate) use part::Part;
pub(crate) use plan::Plan;
pub(crate) use prefetch::Columns;
pub(crate) use rows::Missing;
pub use rows::Rows;
pub(crate) use scratch::Scratch;
pub(crate) use selection::Selection;
pub(crate) use span::SweepSpan;
