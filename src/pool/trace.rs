//! `tracing` spans of rounds, for Tracy and other subscribers; none without the feature `trace`.

use super::Worker;

#[cfg(not(feature = "trace"))]
#[inline(always)]
pub(super) fn in_spans<F: Fn(Worker) -> u64 + Sync>(f: F) -> F {
    f
}

/// `f` with a span around each call, inside the span that the calling thread is in now and named by
/// the tagged system that runs on it.
#[cfg(feature = "trace")]
pub(super) fn in_spans(f: impl Fn(Worker) -> u64 + Sync) -> impl Fn(Worker) -> u64 + Sync {
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    use tracing::{Span, info_span};

    let (system, name) = (Span::current(), crate::record::running_name());
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
