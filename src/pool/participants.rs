//! Whom a round calls.

use crate::sync::{AtomicU64, Ordering};

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

/// A [`Participants`] that threads share, or none. Relaxed everywhere: it is ordered by what is
/// written after it, or one thread's alone.
#[derive(Debug, Default)]
pub(crate) struct AtomicParticipants(AtomicU64);

impl AtomicParticipants {
    #[inline]
    pub(crate) fn load(&self) -> Option<Participants> {
        Some(Participants(self.0.load(Ordering::Relaxed))).filter(|participants| participants.has(0))
    }

    #[inline]
    pub(crate) fn store(&self, participants: Option<Participants>) {
        self.0.store(participants.map_or(0, |participants| participants.0), Ordering::Relaxed);
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
