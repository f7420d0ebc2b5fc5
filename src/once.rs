//! What is done once only, as a warning that would hold in every frame: once in the process or for
//! each place, or once for each key.

use std::{collections::BTreeSet, sync::Mutex};

use crate::sync::{AtomicBool, Ordering, lock};

/// Something that is done once.
#[derive(Debug)]
pub(crate) struct Once(AtomicBool);

impl Once {
    pub(crate) const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Whether it was done.
    pub(crate) fn is_done(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// True the first time that it is called, whichever thread calls it.
    pub(crate) fn first(&self) -> bool {
        // Read first: the line stays shared between threads that ask in every call.
        !self.is_done() && !self.0.swap(true, Ordering::Relaxed)
    }
}

/// Something that is done once for each key.
#[derive(Debug)]
pub(crate) struct OncePerKey<K>(Mutex<BTreeSet<K>>);

impl<K: Ord> OncePerKey<K> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(BTreeSet::new()))
    }

    /// True the first time that it is called with this key.
    pub(crate) fn first(&self, key: K) -> bool {
        lock(&self.0).insert(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_is_the_first() {
        let once = Once::new();
        assert_eq!([(); 3].map(|()| once.first()), [true, false, false]);
    }

    #[test]
    fn each_key_has_a_first_time() {
        let once = OncePerKey::new();
        assert_eq!([1, 2, 1, 2].map(|key| once.first(key)), [true, true, false, false]);
    }
}
