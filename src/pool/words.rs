//! The words that a round is spoken in: which round it is and for how many workers ([`Call`]), whom
//! it calls ([`Participants`]), and what each of them did in it ([`RoundStats`]).

use crate::sync::{AtomicU64, Ordering, planted};

/// The number of a round. 48 bits: at a round every 500 ns they last for four years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Epoch(u64);

impl Epoch {
    /// # Panics
    /// After the last one: to begin again would have rounds end before they were run. In a round
    /// that is being published this aborts.
    #[inline]
    pub(crate) fn successor(self) -> Self {
        assert!(self.0 < LAST_EPOCH, "this process has run as many rounds as it can: restart it");
        Self(self.0 + 1)
    }
}

/// An [`Epoch`] that threads share.
#[derive(Default)]
pub(crate) struct AtomicEpoch(AtomicU64);

impl AtomicEpoch {
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

/// The last round, and whether a thread leads. One word: who comes to lead cannot come by another
/// number than the last leader left.
#[derive(Default)]
pub(crate) struct Baton(AtomicU64);

/// The bit of the word that says that a thread leads.
const IS_LED: u64 = 1;

impl Baton {
    /// Takes the lead; returns the last round. Nothing if another thread leads, or did so just now.
    #[inline]
    pub(crate) fn take(&self, order: Ordering) -> Option<Epoch> {
        let word = self.0.load(Ordering::Relaxed) & !IS_LED;
        self.0.compare_exchange(word, word | IS_LED, order, Ordering::Relaxed).ok()?;
        Some(Epoch(word >> 1))
    }

    /// Gives the lead back, after the round `last`.
    #[inline]
    pub(crate) fn give_back(&self, last: Epoch, order: Ordering) {
        self.0.store(last.0 << 1, order);
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
#[derive(Default)]
pub(crate) struct AtomicCall(AtomicU64);

/// Bits of the word that hold the number of workers; the number that no round can have means
/// [`Call::Stop`].
const WORKER_BITS: u32 = 16;
const STOP: u64 = (1 << WORKER_BITS) - 1;

/// The last round whose number fits beside that of the workers, and so beside [`IS_LED`].
const LAST_EPOCH: u64 = u64::MAX >> WORKER_BITS;

/// The most workers a round can have.
pub(crate) const MAX_WORKERS: usize = STOP as usize - 1;

impl AtomicCall {
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

/// The workers that have something to do in a round, in one word: a bit for each number. Only they
/// are called, woken and waited for. To call a worker costs the leader about 100 ns if it is hot (a
/// cache line there and one back) and 5 us if it sleeps.
///
/// The leader always takes part: a round is run by its thread. Workers from [`LAST`](Self::LAST) on
/// share a bit: who calls one of them calls all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Participants(u64);

impl Participants {
    /// All workers, however many there are.
    pub(crate) const ALL: Self = Self(u64::MAX);
    /// The leader alone.
    pub(crate) const LEADER: Self = Self(1);
    /// The last worker that may have a bit to itself.
    const LAST: usize = u64::BITS as usize - 1;

    const fn bit(worker: usize) -> u64 {
        1 << if worker < Self::LAST { worker } else { Self::LAST }
    }

    /// Calls `worker` too.
    #[inline]
    pub(crate) fn add(&mut self, worker: usize) {
        self.0 |= Self::bit(worker);
    }

    /// Whether `worker` is called.
    #[inline]
    pub(crate) fn has(self, worker: usize) -> bool {
        self.0 & Self::bit(worker) != 0
    }
}

/// A [`Participants`] that threads share; none at first. Relaxed everywhere: it is ordered by
/// what is written after it, or one thread's alone.
#[derive(Debug, Default)]
pub(crate) struct AtomicParticipants(AtomicU64);

impl AtomicParticipants {
    #[inline]
    pub(crate) fn load(&self) -> Participants {
        Participants(self.0.load(Ordering::Relaxed))
    }

    #[inline]
    pub(crate) fn store(&self, participants: Participants) {
        self.0.store(participants.0, Ordering::Relaxed);
    }
}

/// How much of a core other processes have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    Partly,
    Mostly,
}

/// When a call of a round's closure ran, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallTimes {
    pub(crate) began: u64,
    pub(crate) ended: u64,
    /// For how long in between it had nothing to do.
    pub(crate) idle: u64,
}

impl CallTimes {
    /// For how long it had something to do.
    pub(crate) fn busy(self) -> u64 {
        self.ended.saturating_sub(self.began).saturating_sub(self.idle)
    }
}

/// What a worker looks up after a call, while spans are recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Looked {
    /// The number of the core that it ran on, if the system tells.
    pub(crate) core: Option<usize>,
    /// The rows that it has swept so far, and how many of them were others'.
    pub(crate) rows: u64,
    pub(crate) stolen: u64,
}

/// What a worker did in one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RoundStats {
    pub(crate) call: CallTimes,
    /// Nothing and zeros if it did not look.
    pub(crate) looked: Looked,
    /// Whether it found other processes to have its core.
    pub(crate) core_taken: Option<Taken>,
}

/// What a worker did in the last round that called it; nothing if the leader ran its index.
/// Relaxed: ordered by the arrival that follows.
#[derive(Default)]
pub(crate) struct LastRoundStats {
    began: AtomicU64,
    ended: AtomicU64,
    idle: AtomicU64,
    /// Plus one; 0 if there is none.
    core: AtomicU64,
    rows: AtomicU64,
    stolen: AtomicU64,
    /// Plus one; 0 if there is none.
    core_taken: AtomicU64,
}

impl LastRoundStats {
    pub(super) fn set(&self, RoundStats { call, looked, core_taken }: RoundStats) {
        self.began.store(call.began, Ordering::Relaxed);
        self.ended.store(call.ended, Ordering::Relaxed);
        self.idle.store(call.idle, Ordering::Relaxed);
        self.core.store(looked.core.map_or(0, |core| core as u64 + 1), Ordering::Relaxed);
        self.rows.store(looked.rows, Ordering::Relaxed);
        self.stolen.store(looked.stolen, Ordering::Relaxed);
        self.core_taken.store(core_taken.map_or(0, |taken| taken as u64 + 1), Ordering::Relaxed);
    }

    /// The leader ran the index: the worker noted nothing.
    pub(super) fn clear(&self) {
        self.ended.store(0, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> Option<RoundStats> {
        let read = |value: &AtomicU64| value.load(Ordering::Relaxed);
        let [began, ended, idle] = [&self.began, &self.ended, &self.idle].map(read);
        let [core, rows, stolen] = [&self.core, &self.rows, &self.stolen].map(read);
        let core = core.checked_sub(1).map(|core| core as usize);
        let core_taken = match read(&self.core_taken) {
            0 => None,
            taken if taken == 1 + Taken::Partly as u64 => Some(Taken::Partly),
            _ => Some(Taken::Mostly),
        };
        (ended > 0).then_some(RoundStats {
            call: CallTimes { began, ended, idle },
            looked: Looked { core, rows, stolen },
            core_taken,
        })
    }
}

#[cfg(all(test, not(affinity_loom)))]
mod tests {
    use super::*;

    #[test]
    fn those_who_were_added_are_participants() {
        let mut participants = Participants::LEADER;
        participants.add(3);
        assert_eq!((0..6).filter(|&worker| participants.has(worker)).collect::<Vec<_>>(), [0, 3]);
        assert!([0, 1, 62, 63, 64, 65_000].into_iter().all(|worker| Participants::ALL.has(worker)));
    }

    #[test]
    fn workers_beyond_the_last_bit_are_called_together() {
        let mut participants = Participants::LEADER;
        participants.add(200);
        assert!(!participants.has(62) && [63, 64, 200, 65_000].into_iter().all(|worker| participants.has(worker)));
        (0..63).for_each(|worker| participants.add(worker));
        assert_eq!(participants, Participants::ALL);
    }
}
