//! Who visits an entity: the thread that claims it first, once in a call.

use crate::sync::{AtomicU32, Ordering, planted};

/// A word for each entity index: in which call the entity was last reserved as a root, and in which
/// it was last claimed.
///
/// # Invariant (claim)
/// Between two calls of [`begin`](Self::begin) at most one claim of each entity index succeeds,
/// however many threads claim; claims with [`Threads::One`] do not run beside others.
#[derive(Default)]
pub(super) struct NodeClaims {
    /// `2 * call` once reserved, `2 * call + 1` once claimed, less if neither has happened in this
    /// call.
    words: Vec<AtomicU32>,
    call: u32,
}

/// The most calls that the words can tell apart.
const LAST_CALL: u32 = u32::MAX / 2 - 1;

/// Who may claim at the same time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Threads {
    /// This thread alone: a claim is a load and a store.
    One,
    /// Others too: a claim is one locked instruction, which costs as much as the rest of a small
    /// visit.
    Many,
}

/// How a walk comes by an entity.
#[derive(Clone, Copy)]
pub(super) enum Rank {
    /// It was given to the call.
    Root,
    /// A node names it as its child.
    Child,
}

impl NodeClaims {
    /// Begins a call in a world of `indices` entity indices: nothing is claimed or reserved.
    pub(super) fn begin(&mut self, indices: u32) {
        if self.call == LAST_CALL {
            self.words.clear();
            self.call = 0;
        }
        self.call += 1;
        if self.words.len() < indices as usize {
            self.words.resize_with(indices as usize, || AtomicU32::new(0));
        }
    }

    /// Reserves an entity for a claim as [`Rank::Root`]; false if that has been done already.
    pub(super) fn reserve_root(&mut self, index: u32) -> bool {
        let reserved = self.reserved();
        let word = &self.words[index as usize];
        let is_first = word.load(Ordering::Relaxed) < reserved;
        if is_first {
            word.store(reserved, Ordering::Relaxed);
        }
        is_first
    }

    /// Claims an entity. A root that was not reserved goes to the first that comes by.
    ///
    /// Relaxed: that an entity has one winner follows from the claim being one read-modify-write.
    /// What the entity holds is passed between threads by the session that they walk in, before the
    /// first claim and after the last.
    #[inline]
    pub(super) fn claim(&self, index: u32, rank: Rank, threads: Threads) -> bool {
        let word = &self.words[index as usize];
        let claimed = self.reserved() + 1;
        let seen = word.load(Ordering::Relaxed);
        let is_free = match rank {
            Rank::Root => seen < claimed,
            Rank::Child => seen < self.reserved(),
        };
        if !is_free {
            return false;
        }
        match if planted("node_claimed_in_two_steps") { Threads::One } else { threads } {
            Threads::One => word.store(claimed, Ordering::Relaxed),
            // If the exchange fails, another thread has claimed: nothing else is written while
            // claims are made.
            Threads::Many => return word.compare_exchange(seen, claimed, Ordering::Relaxed, Ordering::Relaxed).is_ok(),
        }
        true
    }

    fn reserved(&self) -> u32 {
        2 * self.call
    }
}

#[cfg(all(test, not(affinity_loom)))]
mod tests {
    use super::{LAST_CALL, NodeClaims, Rank, Threads};

    #[test]
    fn an_entity_is_claimed_once_in_a_call() {
        let mut claims = NodeClaims::default();
        for threads in [Threads::One, Threads::Many] {
            claims.begin(2);
            assert!(claims.claim(0, Rank::Child, threads) && !claims.claim(0, Rank::Child, threads));
            assert!(claims.reserve_root(1) && !claims.reserve_root(1));
            assert!(!claims.claim(1, Rank::Child, threads));
            assert!(claims.claim(1, Rank::Root, threads) && !claims.claim(1, Rank::Root, threads));
        }
    }

    #[test]
    fn calls_can_be_counted_anew() {
        let mut claims = NodeClaims { call: LAST_CALL - 1, ..NodeClaims::default() };
        for _ in 0..3 {
            claims.begin(1);
            assert!(claims.claim(0, Rank::Child, Threads::Many) && !claims.claim(0, Rank::Child, Threads::Many));
        }
    }

    #[test]
    fn of_many_threads_one_wins() {
        let mut claims = NodeClaims::default();
        claims.begin(1000);
        let won = || (0..1000).filter(|&index| claims.claim(index, Rank::Child, Threads::Many)).count();
        let total: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(won)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(total, 1000);
    }
}
