//! Time stamps that fit an atomic.

/// Nanoseconds since the first call in this process; always 0 where there is no clock without a browser.
#[cfg(not(target_arch = "wasm32"))]
#[inline]
pub(crate) fn now() -> u64 {
    use std::{sync::OnceLock, time::Instant};
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

#[cfg(target_arch = "wasm32")]
pub(crate) fn now() -> u64 {
    0
}
