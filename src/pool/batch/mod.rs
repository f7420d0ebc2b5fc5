//! Many small calls made by one serial closure and run by the workers while it goes on: the
//! asynchronous external calls of the language Dew, as a library. `../README.md` has the protocol;
//! `tests/loom/batches.rs` checks these very files.
//!
//! `keys.rs` says which calls go together, `inbox.rs` has where they arrive, `exchange.rs` brings
//! them there and to those who run them; here is what the caller sees of it.

mod exchange;
mod inbox;
mod keys;
#[cfg(all(test, not(affinity_loom)))]
mod tests;

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    thread,
};

use super::unwind::{AbortOnUnwind, FirstPanic, drop_or_abort};
use crate::sync::{Mutex, into_inner};
use exchange::drop_each;
pub(crate) use exchange::{BatchExchange, RunCalls};
use inbox::Batch;
use keys::Keys;

/// The most calls that travel together. Handing a batch over costs 100 to 300 ns, so about 3 ns a
/// call.
const FULL_BATCH: usize = 64;

/// A worker that has nothing left is sent what has come without waiting for a full batch. Whether
/// it has, a cache line away, is asked once in this many calls.
const EARLY_BATCH: usize = 8;

impl<A> BatchExchange<A> {
    /// Runs the caller on this thread, and ends the exchange. `takes_part` says of each worker but
    /// the leader whether it comes. When the caller flushes, and at the end, this thread runs the
    /// calls with keys of its own, and all where no worker comes. Calls that the caller had not
    /// sent when it panicked are dropped.
    ///
    /// Returns what the caller did, with the inbox of each call in the order of calls.
    ///
    /// # Errors
    /// The payload of the caller's panic.
    pub(crate) fn lead<R>(
        &self,
        takes_part: impl Fn(usize) -> bool,
        run: RunCalls<A>,
        caller: impl FnOnce(&mut BatchedCalls<A>) -> R,
    ) -> thread::Result<(R, Vec<u16>)> {
        let guard = AbortOnUnwind::because("a panic would leave workers that wait for calls");
        self.begin(takes_part);
        let pending = (0..self.inboxes()).map(|_| Vec::new()).collect();
        let mut calls = BatchedCalls { exchange: self, run, keys: self.keys(), pending, inboxes: Vec::new() };
        let result = catch_unwind(AssertUnwindSafe(|| {
            let result = caller(&mut calls);
            calls.flush();
            result
        }));
        // Also what was sent before the caller panicked.
        self.run_strays(run);
        drop_each(calls.pending.into_iter().flatten(), drop_or_abort);
        self.end();
        guard.defuse();
        result.map(|result| (result, calls.inboxes))
    }
}

/// Sends calls to the workers: handed to the closure of
/// [`AffinityPool::batched`](crate::AffinityPool::batched).
///
/// ```
/// use std::sync::mpsc;
/// use bevy_affinity::prelude::*;
///
/// let pool = AffinityPool::new(&AffinitySettings::default());
/// let (answers, _) = pool.batched(
///     |(number, answer): (u64, mpsc::Sender<u64>)| _ = answer.send(number * number),
///     |calls| {
///         let (sender, answers) = mpsc::channel();
///         (0..10).for_each(|number| _ = calls.call(number, (number, sender.clone())));
///         drop(sender);
///         // What is waited for has to be sent first.
///         calls.flush();
///         answers.iter().sum::<u64>()
///     },
/// );
/// assert_eq!(answers, 285);
/// ```
///
/// # What the caller may wait for
/// The effects of calls that were [flushed](Self::flush): they run, at the latest when the system
/// lets the worker run that they were sent to. But not for
/// - calls that were not: they may lie here until the caller returns;
/// - the effect of a call that panicked, and of those after it: they are dropped. A channel whose
///   sender is in the argument says so, as above, and so does [`is_closed`](Self::is_closed).
///
/// And nothing may wait for the caller: not a call, which may run on the caller's thread while it
/// flushes; nor, hence, may the caller hold a lock that calls take, while it flushes.
pub struct BatchedCalls<'e, A> {
    exchange: &'e BatchExchange<A>,
    /// Runs the calls that are this thread's.
    run: RunCalls<'e, A>,
    keys: Keys,
    /// For each inbox what has not been sent yet.
    pending: Box<[Batch<A>]>,
    /// Of each call.
    inboxes: Vec<u16>,
}

impl<A> BatchedCalls<'_, A> {
    /// Has the function called with `argument` by a worker, some time before
    /// [`batched`](crate::AffinityPool::batched) returns. Calls with the same key are run by the
    /// same worker, one after another, in the order in which they were made. Returns the number of
    /// the call, which is the place of its answer.
    ///
    /// After a call has panicked, those whose keys share its queue and that have not begun are
    /// dropped, and so is `argument` if its key [is closed](Self::is_closed).
    ///
    /// ```
    /// # use bevy_affinity::prelude::*;
    /// let pool = AffinityPool::new(&AffinitySettings::default());
    /// let (places, squares) = pool.batched(
    ///     |number: u64| number * number,
    ///     // Even and odd numbers: two keys.
    ///     |calls| [7, 8, 9].map(|number| calls.call(number % 2, number)),
    /// );
    /// assert_eq!((places, squares), ([0, 1, 2], vec![49, 64, 81]));
    /// ```
    #[inline]
    pub fn call(&mut self, key: u64, argument: A) -> usize {
        let number = self.inboxes.len();
        let inbox = self.exchange.inbox_of(self.keys.group_of(key));
        self.inboxes.push(inbox as u16);
        let pending = &mut self.pending[inbox];
        pending.push(argument);
        let calls = pending.len();
        let is_early = || calls.is_multiple_of(EARLY_BATCH) && self.exchange.is_empty(inbox);
        if calls >= FULL_BATCH || is_early() || self.exchange.is_closed(inbox) {
            self.send(inbox);
        }
        number
    }

    /// Whether calls with this key are dropped without being run, because a call whose key shares
    /// their queue has panicked. There will be no answers then:
    /// [`batched`](crate::AffinityPool::batched) panics when the caller has returned, so it may as
    /// well return at once.
    ///
    /// ```
    /// use std::panic::{AssertUnwindSafe, catch_unwind};
    /// use bevy_affinity::prelude::*;
    ///
    /// let pool = AffinityPool::new(&AffinitySettings::default());
    /// let mut is_closed = false;
    /// let result = catch_unwind(AssertUnwindSafe(|| {
    ///     pool.batched(
    ///         |number: u64| assert!(number < 3, "no more than three"),
    ///         |calls| {
    ///             for number in 0.. {
    ///                 calls.call(7, number);
    ///                 calls.flush();
    ///                 is_closed = calls.is_closed(7);
    ///                 if is_closed {
    ///                     break;
    ///                 }
    ///             }
    ///         },
    ///     )
    /// }));
    /// assert!(is_closed && result.is_err());
    /// ```
    #[inline]
    pub fn is_closed(&self, key: u64) -> bool {
        self.exchange.is_closed(self.exchange.inbox_of(self.keys.look(key)))
    }

    /// Sends what waits for a batch to fill, and runs on this thread the calls made so far whose
    /// keys are this thread's and which no worker has taken over: for a caller that waits for
    /// answers, or will not make more calls for a while.
    ///
    /// One key in [`workers`](crate::AffinityPool::workers) is this thread's, and all where no
    /// worker takes part: with one worker, inside a round, while another thread leads one, and if
    /// every worker is left out because its core is taken. So a call must not wait for the caller,
    /// and the caller must not hold a lock now that a call takes.
    pub fn flush(&mut self) {
        (0..self.pending.len()).for_each(|inbox| self.send(inbox));
        self.exchange.run_callers(self.run);
    }

    fn send(&mut self, inbox: usize) {
        if self.pending[inbox].is_empty() {
            return;
        }
        let batch = std::mem::take(&mut self.pending[inbox]);
        match self.exchange.put(inbox, batch) {
            Ok(empty) => self.pending[inbox] = empty,
            Err(batch) => discard(batch),
        }
    }
}

/// Drops calls that will not be run.
///
/// # Panics
/// With the payload of the first drop that panicked, after all others.
#[cold]
fn discard<A>(batch: Batch<A>) {
    let panic = FirstPanic::default();
    drop_each(batch.into_iter(), |payload| _ = panic.keep(payload));
    if let Some(payload) = panic.into_payload() {
        resume_unwind(payload);
    }
}

impl<A> std::fmt::Debug for BatchedCalls<'_, A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BatchedCalls").field("made", &self.inboxes.len()).finish_non_exhaustive()
    }
}

/// What came of an exchange that is over: a call's panic goes before the caller's, which often
/// comes of it.
pub(crate) fn first_panic<A, R>(exchange: BatchExchange<A>, result: thread::Result<R>) -> thread::Result<R> {
    let Some(payload) = exchange.into_payload() else { return result };
    // What the caller returned may panic as it is dropped: a later panic, as any other.
    let dropped = result.and_then(|returned| catch_unwind(AssertUnwindSafe(|| drop(returned))));
    dropped.unwrap_or_else(drop_or_abort);
    Err(payload)
}

/// Puts the answers of each inbox, which are in the order of its calls, in the order of all calls.
pub(crate) fn in_order_of_calls<B>(answers: Box<[Mutex<Vec<B>>]>, inboxes: &[u16]) -> Vec<B> {
    if size_of::<B>() == 0 {
        // Answers that hold nothing are alike.
        return answers.into_iter().flat_map(into_inner).collect();
    }
    let mut answers: Box<[_]> = answers.into_iter().map(|answers| into_inner(answers).into_iter()).collect();
    inboxes.iter().filter_map(|&inbox| answers[usize::from(inbox)].next()).collect()
}
