//! The one switch between `std` and [loom](https://docs.rs/loom): everything a protocol of this
//! crate synchronises with comes from here, so that the code that ships is the code that is
//! model-checked.
//!
//! The package in `tests/loom` builds the second meaning, with `--cfg=affinity_loom`. The flag has
//! a name of its own because a bare `loom` would switch Bevy's dependencies too.

#[cfg(not(affinity_loom))]
pub(crate) use std::{
    cell::UnsafeCell,
    hint::spin_loop,
    sync::{
        Condvar, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
    },
    thread::yield_now,
};

#[cfg(affinity_loom)]
pub(crate) use loom::{
    hint::spin_loop,
    sync::{
        Condvar, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
    },
    thread::yield_now,
};

#[path = "sync/planted.rs"]
mod planted;
pub(crate) use planted::{handshake_fence, needed, planted};

#[path = "sync/own.rs"]
mod own;
pub(crate) use own::{OwnU32, OwnU64};

/// The deque that joins publish their jobs in.
#[cfg(not(affinity_loom))]
pub(crate) use crossbeam_deque as deque;

/// Loom cannot look into the real one: a queue behind a lock stands in.
#[cfg(affinity_loom)]
#[path = "sync/deque.rs"]
pub(crate) mod deque;

/// Loom's cell, with the accessors of the standard one, checks that no two threads touch it at a
/// time.
#[cfg(affinity_loom)]
#[derive(Debug, Default)]
pub(crate) struct UnsafeCell<T>(loom::cell::UnsafeCell<T>);

#[cfg(affinity_loom)]
impl<T> UnsafeCell<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(loom::cell::UnsafeCell::new(value))
    }
}

/// Reads and writes of a cell through closures: the shape that loom can watch.
pub(crate) trait CellAccess<T> {
    fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R;
    fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R;
}

impl<T> CellAccess<T> for UnsafeCell<T> {
    #[inline]
    fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        #[cfg(not(affinity_loom))]
        return read(self.get());
        #[cfg(affinity_loom)]
        return self.0.with(read);
    }

    #[inline]
    fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        #[cfg(not(affinity_loom))]
        return write(self.get());
        #[cfg(affinity_loom)]
        return self.0.with_mut(write);
    }
}

/// Locks, whether or not a thread panicked while it held the lock: what this crate guards stays
/// consistent at every step.
#[inline]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// What a lock guards, through the only reference to the lock; poison counts as little as in
/// [`lock`].
pub(crate) fn get_mut<T>(mutex: &mut Mutex<T>) -> &mut T {
    mutex.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Gives the lock back until another thread notifies `condvar`; poison counts as little as in
/// [`lock`].
pub(crate) fn wait<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condvar.wait(guard).unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// What a lock guarded; poison counts as little as in [`lock`].
pub(crate) fn into_inner<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Locks if the lock is free; poison counts as little as in [`lock`].
pub(crate) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    mutex.try_lock().map_or_else(not_held, Some)
}

fn not_held<T>(error: std::sync::TryLockError<MutexGuard<'_, T>>) -> Option<MutexGuard<'_, T>> {
    match error {
        std::sync::TryLockError::Poisoned(poisoned) => Some(poisoned.into_inner()),
        std::sync::TryLockError::WouldBlock => None,
    }
}
