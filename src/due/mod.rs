//! Due rows: rows say when they want to be visited again, and calls visit only those whose time has
//! come. So cost follows activity: rows that sleep cost nothing.
//!
//! `component.rs` has the truth, each row's time, in its table: so it moves with its row, is saved
//! and loaded with it, and a sweep over all rows reads it in order. `hints.rs` has by entity index
//! when each may be due at the earliest, and the minima of that: where to look. `lower.rs` is how
//! threads bring such times forward. `find.rs` finds due rows with it, in what `store.rs` keeps
//! from call to call, and decides when to look at all rows instead; then hints are not kept up, and
//! cost nothing. `times.rs` is where the times stand in the tables. `visit.rs` visits due rows,
//! `par_iter.rs` and `scatter.rs` are what users call, with `agenda.rs`.

mod agenda;
mod component;
mod find;
mod hints;
mod lower;
mod par_iter;
mod scatter;
mod store;
mod times;
mod visit;

pub use agenda::Agenda;
pub use component::Due;
pub use par_iter::DueParIter;
