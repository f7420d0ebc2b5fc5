//! Places that no panic leaves: behind it other threads would use what is gone, or wait for ever.

use std::{
    any::Any,
    io::{self, Write},
    mem, process,
};
#[cfg(unix)]
use std::{fs::File, os::fd::AsFd};

use crate::sync::{Mutex, into_inner, lock, planted};

/// What a panicking closure leaves behind.
pub(crate) type Payload = Box<dyn Any + Send>;

/// Aborts the process when it is dropped, with a line on stderr that says why. Who gets to its end
/// [defuses](Self::defuse) it, so only unwinding drops it; until then it costs nothing.
///
/// # Invariant (no unwinding)
/// Control leaves what lies between `because` and `defuse` only by its end. What others borrow
/// meanwhile is safe by that, not by a belief that nothing in between panics.
#[must_use = "dropped at once it aborts at once"]
pub(crate) struct AbortOnUnwind(&'static str);

impl AbortOnUnwind {
    #[inline(always)]
    pub(crate) fn because(what: &'static str) -> Self {
        Self(what)
    }

    #[inline(always)]
    pub(crate) fn defuse(self) {
        mem::forget(self);
    }
}

impl Drop for AbortOnUnwind {
    #[cold]
    fn drop(&mut self) {
        // Not `eprintln!`, which panics if stderr is closed. In one write: other
        // threads may write there too.
        let line = format!("bevy_affinity: {}; aborting\n", self.0);
        let _ = write_to_stderr(line.as_bytes());
        process::abort();
    }
}

/// Past the lock of `io::stderr()`: a thread that waits for this one may hold it.
#[cfg(unix)]
fn write_to_stderr(line: &[u8]) -> io::Result<()> {
    File::from(io::stderr().as_fd().try_clone_to_owned()?).write_all(line)
}

#[cfg(not(unix))]
fn write_to_stderr(line: &[u8]) -> io::Result<()> {
    io::stderr().write_all(line)
}

/// Drops a payload that has no receiver. Its own code runs then, and may panic with a payload of
/// which the same holds.
pub(crate) fn drop_or_abort(payload: Payload) {
    let guard = AbortOnUnwind::because("the payload of a panic panicked while it was dropped");
    drop(payload);
    guard.defuse();
}

/// The payload of the first of several panics.
#[derive(Default)]
pub(crate) struct FirstPanic(Mutex<Option<Payload>>);

impl FirstPanic {
    /// Keeps the payload, or drops it if it is not the first: if that panics too the process
    /// aborts. Returns whether it was kept.
    pub(crate) fn keep(&self, payload: Payload) -> bool {
        let mut first = lock(&self.0);
        if first.is_none() || planted("last_panic_kept") {
            *first = Some(payload);
            return true;
        }
        drop(first);
        drop_or_abort(payload);
        false
    }

    pub(crate) fn take(&self) -> Option<Payload> {
        lock(&self.0).take()
    }

    pub(crate) fn into_payload(self) -> Option<Payload> {
        into_inner(self.0)
    }
}
