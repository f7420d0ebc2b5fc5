//! Recursions that are known to be short: they begin on one thread, and others come if this one
//! turns out to be long.
//!
//! Joins that a session would publish finish every some microseconds, and now and then one of them
//! looks at the clock (`scope.rs`). Here they are two calls, until such a look finds that it takes
//! long: from then on the second half of each is shared, in a session of its own, unless that turns
//! out to be too short.

use super::{Scope, job_queue::OPEN};
use crate::sync::AtomicUsize;

/// Those who come where a recursion takes long.
pub(crate) trait Others: Sync {
    /// Whether it takes long, if it is not over `now` (in nanoseconds of the pool's clock).
    fn are_wanted(&self, now: u64) -> bool;

    /// Calls `f` on this thread, with a scope whose joins others share in.
    fn call(&self, f: &mut (dyn FnMut(&mut Scope) + Send));
}

/// What a scope has that begins on one thread.
#[derive(Clone, Copy)]
pub(super) struct Alone<'s> {
    others: &'s dyn Others,
    /// A look has found joins inside of others.
    is_deep: bool,
    is_long: bool,
}

/// Runs `f`, which `began` in the pool's time, on this thread, unless it takes so long that `others`
/// are wanted.
pub(crate) fn alone<R>(others: &dyn Others, began: u64, f: impl FnOnce(&mut Scope) -> R) -> R {
    let limit = AtomicUsize::new(OPEN);
    f(&mut Scope::alone(&limit, Alone { others, is_deep: false, is_long: false }, began))
}

impl Alone<'_> {
    /// Looks whether it takes long, after a join that was the last of so many `levels`. Returns
    /// whether a look before this one has found joins inside of others.
    pub(super) fn look(&mut self, now: u64, levels: u32) -> bool {
        self.is_long = self.is_long || self.others.are_wanted(now);
        let was_deep = self.is_deep;
        self.is_deep = was_deep || levels > 1;
        was_deep
    }

    pub(super) fn is_long(&self) -> bool {
        self.is_long
    }

    /// As long as the next look does not find that it takes long.
    pub(super) fn looks_again(self) -> Self {
        Self { is_long: false, ..self }
    }

    /// What `f` returns, which others share in.
    pub(super) fn share<R: Send>(self, f: impl FnOnce(&mut Scope) -> R + Send) -> R {
        let (mut f, mut result) = (Some(f), None);
        self.others.call(&mut |scope| result = f.take().map(|f| f(scope)));
        result.expect("others call a closure once, or panic")
    }
}
