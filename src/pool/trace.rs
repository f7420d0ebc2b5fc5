//! `tracing` spans of rounds, for Tracy and other subscribers. Only there with the feature `trace`.

use tracing::{Span, info_span};

use super::Worker;
use crate::record::running_name;

/// `f` with a span around each call, inside the span that the calling thread is in now and named by
/// the tagged system that runs on it.
pub(super) fn in_spans(f: impl Fn(Worker) -> u64 + Sync) -> impl Fn(Worker) -> u64 + Sync {
    let (system, name) = (Span::current(), running_name());
    move |worker| {
        let name = name.as_deref().unwrap_or("outside of tagged systems");
        let _share = info_span!(parent: &system, "affine_share", system = name, worker = worker.index()).entered();
        f(worker)
    }
}
