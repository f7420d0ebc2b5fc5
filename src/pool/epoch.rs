//! What a leader publishes in one atomic word: which round it is and how many workers it is for.

use crate::sync::{AtomicU64, Ordering, planted};

/// The number of a round. 48 bits: a round every 500 ns wraps after four years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Epoch(u64);

impl Epoch {
    pub(crate) fn successor(self) -> Self {
        Self(self.0 + 1)
    }
}

/// An [`Epoch`] that threads share.
pub(crate) struct AtomicEpoch(AtomicU64);

impl AtomicEpoch {
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    #[inline]
    pub(crate) fn load(&self, order: Ordering) -> Epoch {
        Epoch(self.0.load(order))
    }

    #[inline]
    pub(crate) fn store(&self, epoch: Epoch, order: Ordering) {
        self.0.store(epoch.0, order);
    }

    /// Raises the value to `epoch`; true for the one caller that did so.
    #[inline]
    pub(crate) fn raise_to(&self, epoch: Epoch, order: Ordering) -> bool {
        if planted("claim_in_two_steps") {
            let before = self.load(order);
            self.store(epoch.max(before), order);
            return before < epoch;
        }
        self.0.fetch_max(epoch.0, order) < epoch.0
    }
}

/// What the leader asks of the gang.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// Workers below this number take part in the round.
    Round { workers: u16 },
    /// All threads end.
    Stop,
}

/// An [`Epoch`] and its [`Call`] in one word, so that a worker that is not called never has to look
/// at the job.
pub(crate) struct AtomicCall(AtomicU64);

/// Bits of the word that hold the number of workers; the number that no round can have means
/// [`Call::Stop`].
const WORKER_BITS: u32 = 16;
const STOP: u64 = (1 << WORKER_BITS) - 1;

/// The most workers a round can have.
pub(crate) const MAX_WORKERS: usize = STOP as usize - 1;

impl AtomicCall {
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    #[inline]
    pub(crate) fn load(&self, order: Ordering) -> (Epoch, Call) {
        let word = self.0.load(order);
        let call = match word & STOP {
            STOP => Call::Stop,
            workers => Call::Round { workers: workers as u16 },
        };
        (Epoch(word >> WORKER_BITS), call)
    }

    #[inline]
    pub(crate) fn store(&self, epoch: Epoch, call: Call, order: Ordering) {
        let low = match call {
            Call::Round { workers } => u64::from(workers),
            Call::Stop => STOP,
        };
        self.0.store(epoch.0 << WORKER_BITS | low, order);
    }
}
