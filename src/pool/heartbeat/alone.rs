//! Recursions that are known to be short: they begin on one thread, and others come if this one
//! turns out to be long.
//!
//! Joins that a session would publish are two calls here (`scope.rs`), and some of them look at the
//! clock when their first half is over: the outermost ones, and those near them, of which the first
//! leaf tells how many levels that are. From the moment on that a look finds that it takes long,
//! the second halves of these joins are shared, in a session each.

use super::{Scope, job_queue::OPEN};
use crate::sync::AtomicUsize;

/// Those who come where a recursion takes long.
pub(crate) trait Others: Sync {
    /// Whether it takes long, if it is not over `now` (in nanoseconds of the pool's clock).
    fn are_wanted(&self, now: u64) -> bool;

    /// Calls `f` on this thread, with a scope whose joins others share in. Returns for how many
    /// nanoseconds all together were busy in it.
    fn call(&self, f: &mut (dyn FnMut(&mut Scope) + Send)) -> u64;
}

/// Sessions with less work are too short, in nanoseconds: another one follows only after some
/// joins.
const SHORT_SESSION: u64 = 4_000;

/// The most joins after that.
const LONGEST_PAUSE: u32 = 64;

/// What a scope has that begins on one thread.
pub(super) struct Alone<'s> {
    others: &'s dyn Others,
    /// A look has found joins inside of others.
    is_deep: bool,
    is_long: bool,
    /// How many second halves this thread is in.
    pub(super) inside: u32,
    /// Second halves that are not shared before the next one, and after the next session that is
    /// too short.
    pause: u32,
    next_pause: u32,
}

/// Runs `f`, which `began` in the pool's time, on this thread, unless it takes so long that
/// `others` are wanted.
pub(crate) fn alone<R>(others: &dyn Others, began: u64, f: impl FnOnce(&mut Scope) -> R) -> R {
    let limit = AtomicUsize::new(OPEN);
    let alone = Alone { others, is_deep: false, is_long: false, inside: 0, pause: 0, next_pause: 1 };
    f(&mut Scope::alone(&limit, alone, began))
}

impl<'s> Alone<'s> {
    /// Whether an outermost join looks. A balanced recursion has half of its work before the first
    /// one, and a quarter before the second, which is in the second half of that; a chain has as
    /// much before each.
    pub(super) fn looks(&self) -> bool {
        !self.is_long && (self.inside == 0 || self.inside == 3 || self.inside % 16 == 15)
    }

    /// Looks whether it takes long, after a join that was the last of these `levels`. Returns
    /// whether it is the first one inside of others.
    pub(super) fn look(&mut self, now: u64, levels: u32) -> bool {
        self.is_long = self.is_long || self.others.are_wanted(now);
        let was_deep = self.is_deep;
        self.is_deep = was_deep || levels > 1;
        self.is_deep && !was_deep
    }

    /// Those who share in the second half that comes now, if any do.
    pub(super) fn others_for_second_half(&mut self) -> Option<&'s dyn Others> {
        if !self.is_long || self.pause > 0 {
            self.pause = self.pause.saturating_sub(1);
            return None;
        }
        Some(self.others)
    }

    /// Notes how much work there was in a second half that was shared: of many short joins one
    /// after another not each is worth a session.
    pub(super) fn note_shared(&mut self, work: u64) {
        if work < SHORT_SESSION {
            self.pause = self.next_pause;
            self.next_pause = (2 * self.next_pause).min(LONGEST_PAUSE);
        } else {
            self.next_pause = 1;
        }
    }
}

/// What `f` returns, which `others` share in, and for how many nanoseconds all were busy in it.
pub(super) fn share<R: Send>(others: &dyn Others, f: impl FnOnce(&mut Scope) -> R + Send) -> (R, u64) {
    let (mut f, mut result) = (Some(f), None);
    let work = others.call(&mut |scope| result = f.take().map(|f| f(scope)));
    (result.expect("others call a closure once, or panic"), work)
}
