//! Many small calls made by one serial closure and run by the workers while it goes on: the asynchronous external calls of the language Dew,
//! as a library. `README.md` beside this file has the protocol; `tests/loom_batch.rs` checks this very file.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
    time::Duration,
};

use crossbeam_utils::CachePadded;

use super::{clock::now, parker::Parker, spin::spin_until};
use crate::sync::{AtomicBool, AtomicUsize, Mutex, Ordering, fence, lock};

/// The most calls that travel together. Handing a batch over costs 100 to 300 ns, so about 3 ns a call.
const FULL_BATCH: usize = 64;

/// A worker that has nothing left is sent this many without waiting for a full batch.
const EARLY_BATCH: usize = 8;

/// The number of a call, and what it is called with.
type Numbered<A> = (usize, A);

/// Where the calls of one worker arrive.
struct Inbox<A> {
    batches: Mutex<VecDeque<Vec<Numbered<A>>>>,
    /// How many batches lie here; written under the lock, and a hint without it.
    waiting: AtomicUsize,
    /// Where the worker sleeps when it has no call.
    bench: Parker,
}

impl<A> Inbox<A> {
    fn new() -> Self {
        Self { batches: Mutex::new(VecDeque::new()), waiting: AtomicUsize::new(0), bench: Parker::new() }
    }

    fn put(&self, batch: Vec<Numbered<A>>) {
        let mut batches = lock(&self.batches);
        batches.push_back(batch);
        self.waiting.store(batches.len(), Ordering::Relaxed);
        drop(batches);
        // The sleep handshake of `Parker`: a batch that waits is the condition.
        fence(Ordering::SeqCst);
        self.bench.unpark_after_fence();
    }

    fn take(&self) -> Option<Vec<Numbered<A>>> {
        let mut batches = lock(&self.batches);
        let batch = batches.pop_front();
        self.waiting.store(batches.len(), Ordering::Relaxed);
        batch
    }
}

/// What came to a worker.
enum News<A> {
    Batch(Vec<Numbered<A>>),
    /// The caller has returned, and all its calls have been taken.
    Over,
}

/// One call of [`AffinityPool::batched`](super::AffinityPool::batched): an inbox for each worker but the leader, who makes the calls. Alone, the
/// leader has one too and empties it at the end.
pub(crate) struct Exchange<A> {
    inboxes: Box<[CachePadded<Inbox<A>>]>,
    /// No more calls come.
    over: AtomicBool,
    /// How long a worker without a call looks for one before it sleeps.
    spin: Duration,
}

impl<A> Exchange<A> {
    pub(crate) fn new(workers: usize, spin: Duration) -> Self {
        let inboxes = (0..(workers - 1).max(1)).map(|_| CachePadded::new(Inbox::new())).collect();
        Self { inboxes, over: AtomicBool::new(false), spin }
    }

    pub(crate) fn inboxes(&self) -> usize {
        self.inboxes.len()
    }

    /// Runs the caller on this thread, and ends the exchange. Calls that it had not sent when it panicked are dropped.
    ///
    /// # Errors
    /// The payload of the caller's panic.
    pub(crate) fn lead<R>(&self, caller: impl FnOnce(&mut BatchedCalls<A>) -> R) -> thread::Result<R> {
        let pending = self.inboxes.iter().map(|_| Vec::new()).collect();
        let mut calls = BatchedCalls { exchange: self, pending, made: 0 };
        let result = catch_unwind(AssertUnwindSafe(|| caller(&mut calls)));
        if result.is_ok() {
            calls.flush();
        }
        self.end();
        result
    }

    fn end(&self) {
        self.over.store(true, Ordering::Release);
        // The sleep handshake of `Parker`: the end is the condition.
        fence(Ordering::SeqCst);
        self.inboxes.iter().for_each(|inbox| inbox.bench.unpark_after_fence());
    }

    /// Runs the calls that come to one inbox, in the order in which they were made, until there will be no more. Returns for how many nanoseconds there were
    /// none.
    pub(crate) fn follow(&self, inbox: usize, mut function: impl FnMut(usize, A)) -> u64 {
        let inbox = &*self.inboxes[inbox];
        let news = || self.news(inbox);
        let mut idle = 0;
        loop {
            let began = now();
            let next = spin_until(self.spin, news).unwrap_or_else(|| inbox.bench.park(news));
            idle += now() - began;
            match next {
                News::Batch(batch) => batch.into_iter().for_each(|(number, call)| function(number, call)),
                News::Over => return idle,
            }
        }
    }

    fn news(&self, inbox: &Inbox<A>) -> Option<News<A>> {
        // Acquire: who sees the end sees the last batches too.
        let over = self.over.load(Ordering::Acquire);
        if !over && inbox.waiting.load(Ordering::Relaxed) == 0 {
            return None;
        }
        inbox.take().map(News::Batch).or(over.then_some(News::Over))
    }
}

/// Sends calls to the workers: handed to the closure of [`AffinityPool::batched`](crate::AffinityPool::batched).
pub struct BatchedCalls<'e, A> {
    exchange: &'e Exchange<A>,
    /// For each inbox what has not been sent yet.
    pending: Box<[Vec<Numbered<A>>]>,
    made: usize,
}

impl<A> BatchedCalls<'_, A> {
    /// Has the function called with `argument` by a worker, some time before [`batched`](crate::AffinityPool::batched) returns. Calls with the same key are run
    /// by the same worker, one after another, in the order in which they were made. Returns the number of the call, which is
    /// the place of its answer.
    #[inline]
    pub fn call(&mut self, key: u64, argument: A) -> usize {
        let number = self.made;
        self.made += 1;
        let inbox = inbox_of(key, self.pending.len());
        let pending = &mut self.pending[inbox];
        pending.push((number, argument));
        let calls = pending.len();
        let is_early = || calls >= EARLY_BATCH && self.exchange.inboxes[inbox].waiting.load(Ordering::Relaxed) == 0;
        if calls >= FULL_BATCH || is_early() {
            self.send(inbox);
        }
        number
    }

    /// Sends what waits for a batch to fill: for a caller that will not make more calls for a while.
    pub fn flush(&mut self) {
        (0..self.pending.len()).for_each(|inbox| self.send(inbox));
    }

    fn send(&mut self, inbox: usize) {
        if !self.pending[inbox].is_empty() {
            let batch = std::mem::replace(&mut self.pending[inbox], Vec::with_capacity(FULL_BATCH));
            self.exchange.inboxes[inbox].put(batch);
        }
    }
}

impl<A> std::fmt::Debug for BatchedCalls<'_, A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BatchedCalls").field("made", &self.made).finish_non_exhaustive()
    }
}

/// Spreads keys that follow one another, or differ in their upper bits only, evenly: by Fibonacci hashing.
fn inbox_of(key: u64, inboxes: usize) -> usize {
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    // The upper half of the product is well mixed.
    let mixed = key.wrapping_mul(GOLDEN) >> 32;
    ((mixed * inboxes as u64) >> 32) as usize
}

/// Merges what the workers answered. Every call has one answer.
pub(crate) fn in_order_of_calls<B>(answers: Box<[Mutex<Vec<Numbered<B>>>]>) -> Vec<B> {
    let answers = answers.into_vec().into_iter();
    let mut numbered: Vec<_> =
        answers.flat_map(|answers| answers.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner())).collect();
    // Each worker's are in order already: the sort merges runs.
    numbered.sort_by_key(|&(number, _)| number);
    numbered.into_iter().map(|(_, answer)| answer).collect()
}

#[cfg(test)]
mod tests {
    use super::inbox_of;

    #[test]
    fn keys_spread_evenly() {
        for inboxes in [1, 2, 3, 7, 15] {
            let mut hits = vec![0_usize; inboxes];
            let fair = 8192 / inboxes;
            // Numbers one after another, and numbers that differ in their upper halves only, as generations of entities do.
            (0..4096_u64).for_each(|key| hits[inbox_of(key, inboxes)] += 1);
            (0..4096_u64).for_each(|key| hits[inbox_of(key << 32, inboxes)] += 1);
            assert!(hits.iter().all(|&hits| hits.abs_diff(fair) < fair / 2), "{inboxes} inboxes: {hits:?}");
        }
    }
}
