//! Recursions that are known to be short: they begin on one thread, and others come if this one
//! turns out to be long.

use super::{Scope, job_queue::OPEN};
use crate::sync::{AtomicUsize, Ordering};

/// How many joins look whether a recursion on one thread takes long, when their first half is over:
/// the outermost, then those in its second half. Then the half that is left goes to all. To look
/// takes as long as ten to thirty joins.
const LOOKS: u32 = 2;

/// Those who come where a recursion takes long.
pub(crate) trait Others: Sync {
    /// Whether it takes long by now.
    fn are_wanted(&self) -> bool;

    /// Calls `f` on this thread, with a scope whose joins others share in.
    fn call(&self, f: &mut (dyn FnMut(&mut Scope) + Send));
}

/// What a scope has that begins on one thread.
#[derive(Clone, Copy)]
pub(super) struct Alone<'s> {
    others: &'s dyn Others,
    /// How many more joins look.
    looks: u32,
}

/// Runs `f` on this thread, unless it takes so long that `others` are wanted.
pub(crate) fn alone<R>(others: &dyn Others, f: impl FnOnce(&mut Scope) -> R) -> R {
    let limit = AtomicUsize::new(OPEN);
    let mut scope = Scope::new(&limit, None);
    scope.alone = Some(Alone { others, looks: LOOKS });
    f(&mut scope)
}

impl Scope<'_> {
    /// [`join`](Self::join), for a scope without a seat.
    pub(super) fn join_alone<A, B: Send>(
        &mut self,
        a: impl FnOnce(&mut Scope) -> A,
        b: impl FnOnce(&mut Scope) -> B + Send,
    ) -> (A, B) {
        // No frame lies as high: inside of the first half no join looks.
        self.limit.store(usize::MAX, Ordering::Relaxed);
        let a = a(self);
        let Some(Alone { others, looks }) = &mut self.alone else { return (a, b(self)) };
        if others.are_wanted() {
            return (a, shared(*others, b));
        }
        *looks -= 1;
        if *looks > 0 {
            self.limit.store(OPEN, Ordering::Relaxed);
        }
        (a, b(self))
    }
}

/// What `f` returns, which `others` share in.
fn shared<R: Send>(others: &dyn Others, f: impl FnOnce(&mut Scope) -> R + Send) -> R {
    let (mut f, mut result) = (Some(f), None);
    others.call(&mut |scope| result = f.take().map(|f| f(scope)));
    result.expect("others call a closure once, or panic")
}
