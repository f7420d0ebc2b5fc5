//! The inbox of one worker, and who runs what lies in it.

use std::collections::VecDeque;

use super::{
    super::{clock::now, parker::Parker},
    FULL_BATCH,
};
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Mutex, Ordering, lock, planted};

/// For how long calls wait for a worker that has not begun before another one takes them over, in
/// nanoseconds. To wake up takes a twentieth of that. Under loom, where no time passes, they do not
/// wait.
pub(super) const PATIENCE: u64 = if cfg!(affinity_loom) { 0 } else { 1_000_000 };

/// Calls that travel together: what each is called with.
pub(super) type Batch<A> = Vec<A>;

/// The most bytes that a new batch takes at once.
const FIRST_BYTES: usize = 4096;

/// A batch with room for all its calls, if they are small: to grow one takes five steps.
fn new_batch<A>() -> Batch<A> {
    Vec::with_capacity((FIRST_BYTES / size_of::<A>().max(1)).clamp(1, FULL_BATCH))
}

/// Who runs the calls of an inbox.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Holder {
    /// Its worker has not begun, and no other has taken over.
    Nobody,
    /// The worker that sleeps on the bench of this inbox when it has no call.
    Worker(usize),
    /// The caller, when it flushes.
    Caller,
}

/// Where the calls of one worker arrive.
pub(super) struct Inbox<A> {
    queue: Mutex<Queue<A>>,
    /// How many batches lie here; written under the lock, and a hint without it.
    waiting: AtomicUsize,
    /// One of its calls has panicked; written under the lock.
    closed: AtomicBool,
    /// From when on other workers may take over what lies here, in nanoseconds of the pool's clock.
    /// Written by the caller.
    pub(super) overdue: AtomicU64,
    /// Where the worker sleeps when it has no call.
    pub(super) bench: Parker,
}

/// # Invariant (holder)
/// Who becomes the holder stays it, and only the holder takes batches from the queue. So all calls
/// of a key run on one thread, one after another, in the order in which they were made.
struct Queue<A> {
    batches: VecDeque<Batch<A>>,
    /// Batches that were run, to be filled again: memory that one thread allocates and another
    /// frees has both wait for the allocator's lock.
    empty: Vec<Batch<A>>,
    holder: Holder,
}

impl<A> Inbox<A> {
    pub(super) fn new() -> Self {
        Self {
            queue: Mutex::new(Queue { batches: VecDeque::new(), empty: Vec::new(), holder: Holder::Nobody }),
            waiting: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            overdue: AtomicU64::new(u64::MAX),
            bench: Parker::default(),
        }
    }

    /// Whether no batch lies here, as far as one can tell without the lock.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) == 0
    }

    /// Whether calls are dropped because one has panicked.
    #[inline]
    pub(super) fn is_closed(&self) -> bool {
        // Acquire: pairs with `close`.
        self.closed.load(Ordering::Acquire)
    }

    pub(super) fn is_callers(&self) -> bool {
        lock(&self.queue).holder == Holder::Caller
    }

    /// Lays a batch here, and counts the inbox among the `strays` if it had none and has no holder.
    /// Returns an empty batch to go on with.
    ///
    /// # Errors
    /// The batch, if the inbox is closed.
    pub(super) fn push(&self, batch: Batch<A>, strays: &AtomicUsize) -> Result<(Holder, Batch<A>), Batch<A>> {
        let mut queue = lock(&self.queue);
        // Relaxed: written under this lock.
        if self.closed.load(Ordering::Relaxed) && !planted("closed_lets_in") {
            return Err(batch);
        }
        if queue.holder == Holder::Nobody && queue.batches.is_empty() {
            self.overdue.fetch_min(now() + PATIENCE, Ordering::Relaxed);
            strays.fetch_add(1, Ordering::Relaxed);
        }
        queue.batches.push_back(batch);
        self.waiting.store(queue.batches.len(), Ordering::Relaxed);
        Ok((queue.holder, queue.empty.pop().unwrap_or_else(new_batch)))
    }

    /// Makes `holder` the one who runs the calls, if none is; then it is none of the `strays` any
    /// more.
    pub(super) fn hold(&self, holder: Holder, strays: &AtomicUsize) -> bool {
        let mut queue = lock(&self.queue);
        let is_free = queue.holder == Holder::Nobody || planted("two_holders");
        if is_free {
            queue.holder = holder;
            if !queue.batches.is_empty() {
                strays.fetch_sub(1, Ordering::Relaxed);
            }
        }
        is_free
    }

    pub(super) fn take(&self) -> Option<Batch<A>> {
        let mut queue = lock(&self.queue);
        let batch = queue.batches.pop_front();
        self.waiting.store(queue.batches.len(), Ordering::Relaxed);
        batch
    }

    /// To be called with a batch that was run.
    pub(super) fn give_back(&self, empty: Batch<A>) {
        lock(&self.queue).empty.push(empty);
    }

    /// Lets nothing in any more; returns what lay here.
    pub(super) fn close(&self) -> VecDeque<Batch<A>> {
        let mut queue = lock(&self.queue);
        self.waiting.store(0, Ordering::Relaxed);
        // Release: who sees it sees what the call did that panicked.
        self.closed.store(true, Ordering::Release);
        if planted("close_keeps_calls") {
            return VecDeque::new();
        }
        std::mem::take(&mut queue.batches)
    }
}
