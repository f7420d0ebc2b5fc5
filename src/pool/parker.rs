//! Sleeping without lost wake-ups: one thread waits for a condition, any other may make it true and
//! wake it.

use std::time::Duration;

use crate::sync::{AtomicBool, Condvar, Mutex, Ordering, handshake_fence, lock, planted, wait};

/// The place where one thread sleeps until a condition holds.
///
/// # Invariant (no lost wake-up)
/// The sleeper stores `asleep` and clears `called`, then a `SeqCst` fence, then reads the
/// condition. A waker writes the condition, then a `SeqCst` fence, then reads `asleep` and
/// `called`. The two fences are totally ordered, so at least one side sees the other's writes:
/// either the sleeper sees the condition and does not sleep, or the waker sees `asleep`, passes
/// through the lock (which the sleeper holds from its last look at the condition until it waits)
/// and notifies. A waker that sees `called` may leave it at that: who set it did so under the lock,
/// after the sleeper cleared it and began to wait, and notifies it.
///
/// Each wait is preceded by its own store, clearing and fence, so this holds wait by wait. It says
/// nothing of a look at the condition right after a wait: a waker may have left it at `called`
/// because of an earlier one. Hence [`park`](Self::park) starts over, and who gets `None` from
/// [`park_for`](Self::park_for) has to.
#[derive(Default)]
pub(crate) struct Parker {
    asleep: AtomicBool,
    /// A waker was here since the sleeper last looked: a system call for each round that a thread
    /// takes to wake up would be too many.
    called: AtomicBool,
    lock: Mutex<()>,
    woken: Condvar,
}

impl Parker {
    /// Blocks until `ready()` returns a value. Only one thread may park here at a time.
    #[cold]
    pub(crate) fn park<T>(&self, mut ready: impl FnMut() -> Option<T>) -> T {
        let mut guard = lock(&self.lock);
        self.asleep.store(true, Ordering::Relaxed);
        let value = loop {
            self.called.store(planted("called_not_cleared") && self.called.load(Ordering::Relaxed), Ordering::Relaxed);
            handshake_fence("park_fence");
            if let Some(value) = ready() {
                break value;
            }
            guard = wait(&self.woken, guard);
        };
        drop(guard);
        self.asleep.store(false, Ordering::Relaxed);
        value
    }

    /// Blocks until `ready()` returns a value, until it is woken, or for about `time`, whichever
    /// comes first. `None` may be out of date: to be called in a loop. Only one thread may park
    /// here at a time.
    #[cold]
    pub(crate) fn park_for<T>(&self, time: Duration, mut ready: impl FnMut() -> Option<T>) -> Option<T> {
        let guard = lock(&self.lock);
        self.asleep.store(true, Ordering::Relaxed);
        self.called.store(false, Ordering::Relaxed);
        handshake_fence("park_for_fence");
        let value = ready().or_else(|| {
            drop(self.woken.wait_timeout(guard, time));
            ready()
        });
        self.asleep.store(false, Ordering::Relaxed);
        value
    }

    /// Wakes the sleeper, if there is one; returns whether there was. To be called after the
    /// condition was made true *and* a `SeqCst` fence: the fence is the caller's, so that waking
    /// many sleepers costs one.
    #[inline]
    pub(crate) fn unpark_after_fence(&self) -> bool {
        let wakes = self.is_to_be_woken();
        if wakes {
            self.notify();
        }
        wakes
    }

    /// Whether a thread announced here that it is about to sleep, or sleeps.
    #[inline]
    pub(crate) fn is_asleep(&self) -> bool {
        self.asleep.load(Ordering::Relaxed)
    }

    /// Whether a thread sleeps that no waker was here for.
    #[inline]
    pub(crate) fn is_to_be_woken(&self) -> bool {
        self.is_asleep() && !self.called.load(Ordering::Relaxed)
    }

    #[cold]
    fn notify(&self) {
        // Passing through the lock orders this notification after the sleeper's last look at the
        // condition.
        let guard = (!planted("notify_without_lock")).then(|| lock(&self.lock));
        self.called.store(true, Ordering::Relaxed);
        drop(guard);
        self.woken.notify_one();
    }
}
