//! Sleeping without lost wake-ups: one thread waits for a condition, any other may make it true and wake it.

use crate::sync::{AtomicBool, Condvar, Mutex, Ordering, fence, lock};

/// The place where one thread sleeps until a condition holds.
///
/// # Invariant (no lost wake-up)
/// The sleeper stores `asleep`, then a `SeqCst` fence, then reads the condition. A waker writes the condition, then a
/// `SeqCst` fence, then reads `asleep`. The two fences are totally ordered, so at least one side sees the other's write:
/// either the sleeper sees the condition and does not sleep, or the waker sees `asleep`, passes through the lock (which
/// the sleeper holds from its last look at the condition until it waits) and notifies.
pub(crate) struct Parker {
    asleep: AtomicBool,
    lock: Mutex<()>,
    woken: Condvar,
}

impl Parker {
    pub(crate) fn new() -> Self {
        Self { asleep: AtomicBool::new(false), lock: Mutex::new(()), woken: Condvar::new() }
    }

    /// Blocks until `ready()` returns a value. Only one thread may park here at a time.
    #[cold]
    pub(crate) fn park<T>(&self, mut ready: impl FnMut() -> Option<T>) -> T {
        self.asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let mut guard = lock(&self.lock);
        let value = loop {
            if let Some(value) = ready() {
                break value;
            }
            guard = self.woken.wait(guard).unwrap_or_else(|poisoned| poisoned.into_inner());
        };
        drop(guard);
        self.asleep.store(false, Ordering::Relaxed);
        value
    }

    /// Wakes the sleeper, if there is one. To be called after the condition was made true *and* a `SeqCst` fence: the fence is
    /// the caller's, so that waking many sleepers costs one.
    #[inline]
    pub(crate) fn unpark_after_fence(&self) {
        if self.is_asleep() {
            self.notify();
        }
    }

    /// Whether a thread announced here that it is about to sleep, or sleeps.
    #[inline]
    pub(crate) fn is_asleep(&self) -> bool {
        self.asleep.load(Ordering::Relaxed)
    }

    #[cold]
    fn notify(&self) {
        // Passing through the lock orders this notification after the sleeper's last look at the condition.
        drop(lock(&self.lock));
        self.woken.notify_one();
    }
}
