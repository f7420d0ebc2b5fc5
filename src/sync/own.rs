//! Numbers that one thread at a time writes and any may read, without order: a load and a store do,
//! which take less than an atomic addition. Where two write by misuse, as by two threads that lead
//! rounds in one world, some of it is lost.

use super::{AtomicU32, AtomicU64, Ordering};

#[derive(Debug, Default)]
pub(crate) struct OwnU64(AtomicU64);

impl OwnU64 {
    #[inline]
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// Sets it; returns what it was.
    #[inline]
    pub(crate) fn replace(&self, value: u64) -> u64 {
        let before = self.get();
        self.set(value);
        before
    }

    /// Adds to it; returns what it is now.
    #[inline]
    pub(crate) fn add(&self, amount: u64) -> u64 {
        let sum = self.get().saturating_add(amount);
        self.set(sum);
        sum
    }
}

#[derive(Debug, Default)]
pub(crate) struct OwnU32(AtomicU32);

impl OwnU32 {
    pub(crate) fn new(value: u32) -> Self {
        Self(AtomicU32::new(value))
    }

    #[inline]
    pub(crate) fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn set(&self, value: u32) {
        self.0.store(value, Ordering::Relaxed);
    }
}
