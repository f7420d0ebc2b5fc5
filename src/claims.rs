//! Who sweeps which chunk of a worker's share: the worker takes chunks from the front, others that
//! are done take them from the far end. [`ClaimBoard::steal`] says of which share.

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicBool, AtomicU64, Ordering, planted};

/// The number of a call that is cut into chunks: it keeps claims of different calls apart. A call
/// of two rounds has one, as the rows of its second round are not cut. What was claimed in another
/// call counts for nothing, so no worker has to clear another one's claims: that would be a cache
/// line moved in each call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallNumber(u32);

/// Calls are cut into at most twice this many chunks, shares too: either end counts to one more at
/// most, far from what 16 bits hold.
pub(crate) const MAX_CHUNKS: u32 = 1 << 14;

/// A theft begins only where at least this many chunks are left: less is the ordinary difference
/// between two cores, and rows that stay are worth more.
pub(crate) const FEWEST_LEFT: u32 = 2;

/// And only where at least one part in this many of the share is left, for the same reason.
const LEAST_PART_LEFT: u32 = 10;

/// A share with this many chunks is only stolen from where this many are left.
fn fewest_left(chunks: u32) -> u32 {
    FEWEST_LEFT.max(chunks / LEAST_PART_LEFT)
}

/// Which chunks of one share are taken, in one word.
///
/// # Invariant (claims)
/// In one call, of a share of `n` chunks, at most twice [`MAX_CHUNKS`], each number from 0 to
/// `n - 1` is returned at most once by [`take_front`](Self::take_front) and
/// [`take_back`](Self::take_back) together: the word counts how many were taken from each end, each
/// call adds to it in one atomic step, and none returns a number that the other end has reached.
/// Claims of one call are over before those of the next begin: [`ClaimBoard::begin`] needs the
/// board for itself.
///
/// Relaxed: being one read-modify-write makes a claim unique. What is claimed was published with
/// the round, and what was done with it is published by the arrival of who did it.
pub(crate) struct Claims(AtomicU64);

/// How many chunks were claimed from each end of a share, as a [`Claims`] word says it: the bits
/// are the call's number (32), front (16), back (16).
#[derive(Clone, Copy)]
struct Ends {
    front: u32,
    back: u32,
}

impl Ends {
    fn of(word: u64, call: CallNumber) -> Self {
        if (word >> 32) as u32 == call.0 || planted("number_not_compared") {
            Self { front: (word >> 16) as u16 as u32, back: word as u16 as u32 }
        } else {
            Self { front: 0, back: 0 }
        }
    }

    fn word(self, call: CallNumber) -> u64 {
        let call = if planted("number_not_written") { 0 } else { call.0 };
        u64::from(call) << 32 | u64::from(self.front) << 16 | u64::from(self.back)
    }
}

/// A chunk that the owner of a share took, if there is one more and it [is free](Self::is_free).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Front {
    /// Its number, from the front.
    pub(crate) chunk: u32,
    /// How many were taken from the far end.
    taken: u32,
}

impl Front {
    /// Whether no other worker has taken it, of as many as `chunks` says. The owner need not count
    /// as long as no other worker took any: it sees the end of its rows.
    #[inline]
    pub(crate) fn is_free(self, chunks: impl FnOnce() -> u32) -> bool {
        self.taken == 0 || self.chunk + self.taken < chunks()
    }
}

/// A chunk that another worker took of a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Back {
    /// Its number, from the front.
    pub(crate) chunk: u32,
    /// How many were taken from the far end before.
    pub(crate) taken: u32,
}

impl Claims {
    fn new() -> Self {
        // No call has the number 0.
        Self(AtomicU64::new(0))
    }

    /// Takes the next chunk from the front.
    #[inline]
    pub(crate) fn take_front(&self, call: CallNumber) -> Front {
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            let ends = Ends::of(word, call);
            let next = Ends { front: ends.front + 1, ..ends }.word(call);
            match self.exchange(word, next) {
                Ok(_) => return Front { chunk: ends.front, taken: ends.back },
                Err(now) => word = now,
            }
        }
    }

    /// Takes the last free chunk of a share of `chunks`, if at least `fewest` are left and fewer
    /// than `most` were taken from this end.
    pub(crate) fn take_back(&self, call: CallNumber, chunks: u32, fewest: u32, most: u32) -> Option<Back> {
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            let ends = Ends::of(word, call);
            let front = if planted("front_forgotten") { 0 } else { ends.front };
            let left = chunks.saturating_sub(front + ends.back) + u32::from(planted("off_by_one"));
            if left < fewest.max(1) || ends.back >= most && !planted("limit_not_kept") {
                return None;
            }
            let next = Ends { back: ends.back + 1, ..ends }.word(call);
            match self.exchange(word, next) {
                Ok(_) => return Some(Back { chunk: chunks - 1 - ends.back, taken: ends.back }),
                Err(now) => word = now,
            }
        }
    }

    /// One step of a claim.
    #[inline]
    fn exchange(&self, word: u64, next: u64) -> Result<u64, u64> {
        if planted("claim_not_atomic") {
            self.0.store(next, Ordering::Relaxed);
            return Ok(word);
        }
        let outcome = self.0.compare_exchange_weak(word, next, Ordering::Relaxed, Ordering::Relaxed);
        if planted("claim_after_failure") { Ok(word) } else { outcome }
    }

    /// How many of `chunks` chunks are free; 0 if `most` were taken from the far end, so that no
    /// more can be.
    pub(crate) fn left(&self, call: CallNumber, chunks: u32, most: u32) -> u32 {
        let ends = Ends::of(self.0.load(Ordering::Relaxed), call);
        if ends.back < most { chunks.saturating_sub(ends.front + ends.back) } else { 0 }
    }
}

/// The claims of all workers.
pub(crate) struct ClaimBoard {
    shares: Box<[ShareBook]>,
    call: u32,
    /// Whether any chunk changed hands since [`forget_thefts`](Self::forget_thefts).
    stolen: CachePadded<AtomicBool>,
}

struct ShareBook {
    /// The owner writes it with each claim ..
    claims: CachePadded<Claims>,
    /// .. and the leader reads what is here after rounds with thefts.
    thefts: CachePadded<Thefts>,
}

#[derive(Default)]
struct Thefts {
    /// For how long others swept chunks of this share, in nanoseconds.
    was_helped: AtomicU64,
    /// For how long the worker swept chunks of others' shares, in nanoseconds.
    has_helped: AtomicU64,
}

impl ShareBook {
    fn new() -> Self {
        Self { claims: CachePadded::new(Claims::new()), thefts: CachePadded::default() }
    }
}

impl ClaimBoard {
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            shares: (0..workers).map(|_| ShareBook::new()).collect(),
            call: 0,
            stolen: CachePadded::new(AtomicBool::new(false)),
        }
    }

    /// The number of a new call, of which nothing is taken.
    pub(crate) fn begin(&mut self) -> CallNumber {
        self.call = if planted("number_not_changed") { 1 } else { self.call.wrapping_add(1) };
        if self.call == 0 {
            // Numbers come again: what was claimed in their calls is forgotten first.
            self.shares.iter_mut().for_each(|share| *share.claims = Claims::new());
            self.call = 1;
        }
        CallNumber(self.call)
    }

    /// The claims on the share of `worker`.
    #[inline]
    pub(crate) fn claims_of(&self, worker: usize) -> &Claims {
        &self.shares[worker].claims
    }

    /// Takes a chunk from the one of `owners` who has most left, if that is more than it should be;
    /// returns who that is, too. `chunks_of` says how many chunks a share has, of which at most
    /// `most` are taken.
    pub(crate) fn steal(
        &self,
        call: CallNumber,
        owners: impl Iterator<Item = usize> + Clone,
        chunks_of: impl Fn(usize) -> u32,
        most: u32,
    ) -> Option<(usize, Back)> {
        loop {
            let with_left = owners.clone().filter_map(|owner| {
                let chunks = chunks_of(owner);
                let left = self.claims_of(owner).left(call, chunks, most);
                (left >= fewest_left(chunks)).then_some((owner, chunks, left))
            });
            let (owner, chunks, _) = with_left.max_by_key(|&(_, _, left)| left)?;
            // Another thief may have been faster.
            if let Some(back) = self.claims_of(owner).take_back(call, chunks, fewest_left(chunks), most) {
                return Some((owner, back));
            }
        }
    }

    /// Notes that `thief` swept rows of `owner` for `nanoseconds`. Relaxed: read after the
    /// round.
    pub(crate) fn note_theft(&self, owner: usize, thief: usize, nanoseconds: u64) {
        self.shares[owner].thefts.was_helped.fetch_add(nanoseconds, Ordering::Relaxed);
        self.shares[thief].thefts.has_helped.fetch_add(nanoseconds, Ordering::Relaxed);
        self.stolen.store(true, Ordering::Relaxed);
    }

    /// Whether there were thefts since [`forget_thefts`](Self::forget_thefts).
    fn any_theft(&self) -> bool {
        self.stolen.load(Ordering::Relaxed)
    }

    /// What the share of `worker` took in the round that just ended, in which it was busy for this
    /// many nanoseconds: without the chunks that it took from others, and with those that others
    /// took.
    pub(crate) fn cost_of_share(&self, worker: usize, busy: u64) -> u64 {
        let (was_helped, has_helped) = if self.any_theft() { self.thefts(worker) } else { (0, 0) };
        busy.saturating_add(was_helped).saturating_sub(has_helped)
    }

    /// For how long others swept the share of `worker`, and for how long it swept others'.
    fn thefts(&self, worker: usize) -> (u64, u64) {
        let thefts = &self.shares[worker].thefts;
        (thefts.was_helped.load(Ordering::Relaxed), thefts.has_helped.load(Ordering::Relaxed))
    }

    /// To be called between rounds.
    pub(crate) fn forget_thefts(&mut self) {
        if self.any_theft() {
            self.stolen.store(false, Ordering::Relaxed);
            self.shares.iter_mut().for_each(|share| *share.thefts = Thefts::default());
        }
    }
}

impl std::fmt::Debug for ClaimBoard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClaimBoard").field("workers", &self.shares.len()).field("call", &self.call).finish()
    }
}

#[cfg(all(test, not(affinity_loom)))]
mod tests {
    use super::*;

    #[test]
    fn owner_and_thief_meet() {
        let mut board = ClaimBoard::new(1);
        for _ in 0..2 {
            let call = board.begin();
            let claims = board.claims_of(0);
            assert_eq!(claims.take_front(call), Front { chunk: 0, taken: 0 });
            assert_eq!(claims.take_back(call, 4, 3, 4), Some(Back { chunk: 3, taken: 0 }));
            assert_eq!(claims.take_back(call, 4, 3, 4), None);
            assert_eq!(claims.take_back(call, 4, 1, 1), None);
            assert_eq!(claims.left(call, 4, 4), 2);
            assert_eq!(claims.take_back(call, 4, 1, 4), Some(Back { chunk: 2, taken: 1 }));
            assert!(claims.take_front(call).is_free(|| 4));
            assert_eq!(claims.take_back(call, 4, 1, 4), None);
            // The owner learns from the counts that this one is gone.
            let gone = claims.take_front(call);
            assert_eq!((gone, gone.is_free(|| 4)), (Front { chunk: 2, taken: 2 }, false));
        }
    }

    #[test]
    fn no_more_than_allowed_are_taken_from_the_far_end() {
        let mut board = ClaimBoard::new(1);
        let call = board.begin();
        let claims = board.claims_of(0);
        assert_eq!(claims.take_back(call, 9, 0, 2), Some(Back { chunk: 8, taken: 0 }));
        assert_eq!(claims.left(call, 9, 2), 8);
        assert_eq!(claims.take_back(call, 9, 0, 2), Some(Back { chunk: 7, taken: 1 }));
        // What is left cannot be taken: who looks for a share to take from does not come back to
        // this one.
        assert_eq!((claims.left(call, 9, 2), claims.take_back(call, 9, 0, 2)), (0, None));
        assert_eq!(claims.left(call, 9, 9), 7);
    }

    #[test]
    fn nothing_is_taken_where_nothing_is_left() {
        let mut board = ClaimBoard::new(1);
        let call = board.begin();
        let claims = board.claims_of(0);
        for fewest in [0, 1] {
            assert_eq!(claims.take_back(call, 0, fewest, u32::MAX), None);
        }
        // An owner may take one past the end, which it sees too late.
        (0..3).for_each(|_| _ = claims.take_front(call));
        assert_eq!((claims.left(call, 2, u32::MAX), claims.take_back(call, 2, 0, u32::MAX)), (0, None));
    }

    #[test]
    fn counts_of_the_longest_share_stay_apart() {
        let mut board = ClaimBoard::new(1);
        let call = board.begin();
        let claims = board.claims_of(0);
        (0..MAX_CHUNKS).for_each(|chunk| assert_eq!(claims.take_front(call), Front { chunk, taken: 0 }));
        for taken in 0..MAX_CHUNKS {
            let back = Back { chunk: 2 * MAX_CHUNKS - 1 - taken, taken };
            assert_eq!(claims.take_back(call, 2 * MAX_CHUNKS, 1, u32::MAX), Some(back));
        }
        assert_eq!(claims.take_back(call, 2 * MAX_CHUNKS, 1, u32::MAX), None);
        assert_eq!(claims.take_front(call), Front { chunk: MAX_CHUNKS, taken: MAX_CHUNKS });
    }

    #[test]
    fn thieves_go_where_most_is_left_until_that_is_little() {
        let mut board = ClaimBoard::new(3);
        let (call, chunks) = (board.begin(), [3, 4, 40]);
        let steal = |most| board.steal(call, 0..3, |owner| chunks[owner], most).map(|(owner, _)| owner);
        let stolen: Vec<_> = std::iter::from_fn(|| steal(u32::MAX)).collect();
        // Of the third share one part in ten is left to its owner, of the others one chunk.
        assert_eq!([0, 1, 2].map(|owner| stolen.iter().filter(|&&other| other == owner).count()), [2, 3, 37]);
        assert_eq!(stolen[..36], [2; 36]);
        let call = board.begin();
        assert_eq!(board.steal(call, 0..3, |_| 9, 0), None);
    }

    #[test]
    fn thefts_are_known_until_they_are_forgotten() {
        let mut board = ClaimBoard::new(3);
        assert!(!board.any_theft());
        board.note_theft(0, 2, 10);
        board.note_theft(0, 1, 5);
        board.note_theft(1, 2, 1);
        assert!(board.any_theft());
        assert_eq!([0, 1, 2].map(|worker| board.thefts(worker)), [(15, 0), (1, 5), (0, 11)]);
        board.forget_thefts();
        assert!(!board.any_theft());
        assert_eq!([0, 1, 2].map(|worker| board.thefts(worker)), [(0, 0); 3]);
    }

    #[test]
    fn old_numbers_are_forgotten_before_they_come_again() {
        let mut board = ClaimBoard::new(1);
        let first = board.begin();
        board.claims_of(0).take_front(first);
        board.call = u32::MAX;
        let again = board.begin();
        assert_eq!(again, first);
        assert_eq!(board.claims_of(0).left(again, 3, 3), 3);
    }
}
