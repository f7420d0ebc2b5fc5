//! `tracing` spans of rounds, for Tracy and other subscribers. Only there with the feature `trace`.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use tracing::{Span, info_span};

use super::Worker;
use crate::record::running_name;

/// `f` with a span around each call, inside the span that the calling thread is in now and named by
/// the tagged system that runs on it.
pub(super) fn in_spans(f: impl Fn(Worker) -> u64 + Sync) -> impl Fn(Worker) -> u64 + Sync {
    let (system, name) = (Span::current(), running_name());
    move |worker| {
        let name = name.as_deref().unwrap_or("outside of tagged systems");
        let begin = || info_span!(parent: &system, "affine_share", system = name, worker = worker.index()).entered();
        let share = catch_unwind(AssertUnwindSafe(begin));
        // Also where a subscriber panics: other workers may wait for what is done here.
        let idle = f(worker);
        share.map_or_else(|payload| resume_unwind(payload), drop);
        idle
    }
}
