//! Time stamps that fit an atomic.

use std::time::Duration;

/// Nanoseconds since the first call in this process; always 0 where there is no clock without a
/// browser.
#[cfg(not(target_arch = "wasm32"))]
#[inline]
pub(crate) fn now() -> u64 {
    use std::{sync::OnceLock, time::Instant};
    static START: OnceLock<Instant> = OnceLock::new();
    nanoseconds(START.get_or_init(Instant::now).elapsed())
}

#[cfg(target_arch = "wasm32")]
pub(crate) fn now() -> u64 {
    0
}

/// `duration` in nanoseconds. What does not fit (584 years) is as good as for ever.
#[inline]
pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(all(test, not(affinity_loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_longest_durations_are_not_short_ones() {
        assert_eq!([Duration::ZERO, Duration::from_micros(3)].map(nanoseconds), [0, 3_000]);
        assert_eq!([Duration::from_secs(u64::MAX / 1_000_000_000 + 1), Duration::MAX].map(nanoseconds), [u64::MAX; 2]);
    }
}
