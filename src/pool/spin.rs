//! Waiting that is bounded in time.

use std::time::Duration;
#[cfg(not(affinity_loom))]
use std::time::Instant;

/// Looks at the clock once in this many looks at the condition: a `PAUSE` is 10 to 40 ns, so about
/// once in a microsecond.
#[cfg(not(affinity_loom))]
const LOOKS_PER_CLOCK_READ: u32 = 32;

/// Looks at `ready` until it returns a value, for about `budget`.
#[cfg(not(affinity_loom))]
#[inline]
pub(crate) fn spin_until<T>(budget: Duration, mut ready: impl FnMut() -> Option<T>) -> Option<T> {
    if let Some(value) = ready() {
        return Some(value);
    }
    let mut start = None;
    loop {
        for _ in 0..LOOKS_PER_CLOCK_READ {
            crate::sync::spin_loop();
            if let Some(value) = ready() {
                return Some(value);
            }
        }
        if start.get_or_insert_with(Instant::now).elapsed() >= budget {
            return None;
        }
    }
}

/// Under loom one look: it explores the schedules itself, and a spin would be an endless branch. No
/// yield either, which would let the others run on and hide the schedules in which this thread
/// blocks.
#[cfg(affinity_loom)]
pub(crate) fn spin_until<T>(_: Duration, mut ready: impl FnMut() -> Option<T>) -> Option<T> {
    ready()
}
