//! Fork/join on the gang's workers: joins run on as if they were serial, and only idle workers make
//! them share. `../README.md` has the protocol and its invariants; `tests/loom/heartbeat.rs` checks
//! these very files.
//!
//! `scope.rs` has the joins, `levels.rs` says which of them others may see, `job.rs` what others
//! see of a join, `job_queue.rs` where they see it, `idle.rs` what workers do that have nothing to
//! do, `session.rs` the beginning and the end. `alone.rs` has joins that begin on one thread.

mod alone;
mod idle;
mod job;
mod job_queue;
mod levels;
mod scope;
mod session;

pub(crate) use alone::{Others, alone};
pub(crate) use job_queue::JobQueue;
pub use scope::Scope;
pub(crate) use scope::on_the_spot;
pub(crate) use session::Session;
