//! Faults that are planted on purpose, to show that the models find them: `tests/loom/MUTANTS.md`
//! lists each with the model that fails by it, and `.ci/mutants` runs them. A fault has a name, and
//! is there if the environment says so; outside of loom none is, and none of this is left in the
//! machine code.

#[cfg(affinity_loom)]
use std::sync::OnceLock;

use super::{Ordering, fence};

/// Whether the fault is planted.
#[cfg(not(affinity_loom))]
#[inline(always)]
pub(crate) const fn planted(_fault: &str) -> bool {
    false
}

#[cfg(affinity_loom)]
pub(crate) fn planted(fault: &str) -> bool {
    static PLANTED: OnceLock<Option<String>> = OnceLock::new();
    PLANTED.get_or_init(|| std::env::var("AFFINITY_MUTANT").ok()).as_deref() == Some(fault)
}

/// The order that an access needs; none where the fault is planted.
#[inline(always)]
pub(crate) fn needed(order: Ordering, fault: &str) -> Ordering {
    if planted(fault) { Ordering::Relaxed } else { order }
}

/// The sequentially consistent fence of a sleep handshake; none where the fault is planted.
#[inline(always)]
pub(crate) fn handshake_fence(fault: &str) {
    if !planted(fault) {
        fence(Ordering::SeqCst);
    }
}
