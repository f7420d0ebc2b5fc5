//! The messages on their way: a lane for each pair of sender and owner, whose memory is kept from
//! call to call.

use std::{
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
    vec::Drain,
};

use crossbeam_utils::CachePadded;
use smallvec::SmallVec;

use crate::{sweep::Parts, sync::lock};

/// Letters that a lane has room for when it is first used, so that lanes of chunks that are seldom
/// stolen need few steps to grow: a kilobyte for small messages.
const FIRST_LETTERS: usize = 64;

/// The most bytes of that, for large messages.
const FIRST_BYTES: usize = 4096;

/// A lane is well used if letters fill one part in this many of its room.
const WELL_USED: usize = 8;

/// Calls in a row without good use after which a lane gives room back: half a second at 120 calls a
/// second.
const CALLS_TO_GIVE_BACK: u32 = 64;

/// Letters (what is sent, with where it goes) from the rows of one part to those of another, in the
/// order of the senders' rows.
pub(super) struct Lane<L> {
    letters: Vec<L>,
    /// For each storage of senders that sent something: its place in the order of storages, and
    /// that of its first letter.
    segments: Vec<(u32, usize)>,
    /// The last of these storages; [`NO_STORAGE`] if there is none.
    ordinal: u32,
    /// Calls since its room was well used.
    roomy: u32,
}

/// No place in the order of storages.
const NO_STORAGE: u32 = u32::MAX;

/// A [`Lane`] that is emptied.
struct Opened<'a, L> {
    /// Its place among those that are emptied together.
    number: usize,
    letters: Drain<'a, L>,
    segments: Drain<'a, (u32, usize)>,
    /// How many letters there were.
    end: usize,
}

/// When the letters from one storage are delivered: by its place in the order of storages, then by
/// the lane.
type Turn = (u32, usize);

impl<L> Opened<'_, L> {
    fn turn(&self) -> Option<Turn> {
        self.segments.as_slice().first().map(|&(ordinal, _)| (ordinal, self.number))
    }

    /// Takes up the next storage if its turn is before `until`; returns how many letters it has.
    fn next_before(&mut self, until: Turn) -> Option<usize> {
        self.turn().filter(|&turn| turn < until)?;
        let (_, first) = self.segments.next()?;
        Some(self.segments.as_slice().first().map_or(self.end, |&(_, next)| next) - first)
    }
}

impl<L> Default for Lane<L> {
    fn default() -> Self {
        Self { letters: Vec::new(), segments: Vec::new(), ordinal: NO_STORAGE, roomy: 0 }
    }
}

impl<L> Lane<L> {
    /// Nothing is counted for each letter: to write a number that was read just before takes as
    /// long as the rest.
    #[inline]
    pub(super) fn push(&mut self, ordinal: u32, letter: L) {
        if self.ordinal != ordinal {
            self.begin(ordinal);
        }
        self.letters.push(letter);
    }

    #[cold]
    fn begin(&mut self, ordinal: u32) {
        if self.letters.capacity() == 0 {
            self.letters.reserve(Self::first_letters());
            self.segments.reserve(FIRST_LETTERS);
        }
        self.ordinal = ordinal;
        self.segments.push((ordinal, self.letters.len()));
    }

    fn first_letters() -> usize {
        (FIRST_BYTES / size_of::<L>().max(1)).clamp(1, FIRST_LETTERS)
    }

    /// Gives back room that has not been used for long. To be called once in a call, when all has
    /// been sent.
    #[inline]
    fn give_back_unused(&mut self) {
        let room = self.letters.capacity();
        if room <= Self::first_letters() || self.letters.len() * WELL_USED >= room {
            self.roomy = 0;
            return;
        }
        self.roomy += 1;
        if self.roomy >= CALLS_TO_GIVE_BACK {
            self.letters.shrink_to(Self::first_letters().max(2 * self.letters.len()));
            // Never more than letters.
            self.segments.shrink_to(FIRST_LETTERS.max(2 * self.segments.len()));
            self.roomy = 0;
        }
    }

    fn open(&mut self, number: usize) -> Opened<'_, L> {
        self.ordinal = NO_STORAGE;
        let end = self.letters.len();
        Opened { number, letters: self.letters.drain(..), segments: self.segments.drain(..), end }
    }
}

/// All lanes of one call, by the part that sends, then the part that owns the receiver.
///
/// A lane is locked by its sender in the first phase and by its owner in the second: the locks are
/// never contended, and are there to say so safely.
pub(super) struct Mail<L> {
    parts: Parts,
    lanes: Box<[CachePadded<Mutex<Lane<L>>>]>,
    /// Whether any chunk was stolen: if none was, the lanes need not be looked at for that.
    stolen: AtomicBool,
    /// But for this many calls more, as these lanes give back their room too.
    calls_to_look: u32,
}

/// Lanes that one thread has for now: on the stack for as many workers as most machines have.
pub(super) type Locked<'a, L> = SmallVec<[MutexGuard<'a, Lane<L>>; 32]>;

/// Lanes to each owner: a sender's own, and one for each chunk that it may lose.
fn per_sender(parts: Parts) -> usize {
    1 + parts.most_stolen as usize
}

impl<L> Mail<L> {
    /// Empty mail between these parts.
    pub(super) fn new(parts: Parts) -> Self {
        let lanes = parts.senders * per_sender(parts) * parts.owners;
        Self {
            parts,
            lanes: (0..lanes).map(|_| CachePadded::default()).collect(),
            stolen: AtomicBool::new(false),
            calls_to_look: 0,
        }
    }

    /// To be called before mail that was delivered is used again.
    pub(super) fn begin(&mut self) {
        // Written only where it changes: the workers read what stands around it.
        if *self.stolen.get_mut() {
            *self.stolen.get_mut() = false;
            self.calls_to_look = CALLS_TO_GIVE_BACK;
        } else if self.calls_to_look > 0 {
            self.calls_to_look -= 1;
        }
    }

    /// The lanes of the rows of `sender`, or of those of the chunk of it that was stolen after so
    /// many others, to each owner.
    pub(super) fn lanes_of(&self, sender: usize, stolen: Option<u32>) -> Locked<'_, L> {
        if stolen.is_some() {
            // Relaxed: read after the round, which orders it.
            self.stolen.store(true, Ordering::Relaxed);
        }
        let owners = self.parts.owners;
        // The sender's own lanes, then those of the chunks it lost, in the order of rows.
        let place = stolen.map_or(0, |taken| (self.parts.most_stolen - taken) as usize);
        let first = (sender * per_sender(self.parts) + place) * owners;
        // A panic while a lane was locked ended its call, and its mail is dropped whole.
        self.lanes[first..first + owners].iter().map(|lane| lock(lane)).collect()
    }

    /// Hands over the letters to rows of `owner`: by the sender's storage, then (runs ascend with
    /// parts) by its row. If there are many, `look_ahead` may give a function that is shown each
    /// some letters before its turn.
    pub(super) fn drain_for<A: Fn(&L)>(
        &self,
        owner: usize,
        look_ahead: impl FnOnce() -> Option<A>,
        mut deliver: impl FnMut(L),
    ) {
        // Both lists are made where they stay: copying them would take longer than a few letters.
        let mut lanes = Locked::new();
        self.lock_full(owner, &mut lanes);
        let letters: usize = lanes.iter().map(|lane| lane.letters.len()).sum();
        let look_ahead = if letters >= MANY { look_ahead() } else { None };
        let mut opened = SmallVec::<[_; 32]>::new();
        for (number, lane) in lanes.iter_mut().enumerate() {
            opened.push(lane.open(number));
        }
        while let Some((next, until)) = next_two(&opened) {
            let lane = &mut opened[next.1];
            while let Some(count) = lane.next_before(until) {
                for left in (1..=count).rev().step_by(BLOCK) {
                    if let Some(look) = &look_ahead {
                        lane.letters.as_slice().iter().skip(BLOCK).take(BLOCK).for_each(look);
                    }
                    // One place that delivers, so that it is inlined: a letter that is copied part
                    // by part for a call is read back only when all that was written before is in
                    // the cache.
                    for letter in lane.letters.by_ref().take(left.min(BLOCK)) {
                        deliver(letter);
                    }
                }
            }
        }
    }

    /// Locks the lanes to `owner` that have letters. Has each that it looks at give back room that
    /// it has not used for long.
    #[inline]
    fn lock_full<'a>(&'a self, owner: usize, full: &mut Locked<'a, L>) {
        let looks_at_all = self.stolen.load(Ordering::Relaxed) || self.calls_to_look > 0;
        let step = if looks_at_all { 1 } else { per_sender(self.parts) };
        for lane in self.lanes.iter().skip(owner).step_by(self.parts.owners).step_by(step) {
            let mut lane = lock(lane);
            lane.give_back_unused();
            if !lane.letters.is_empty() {
                full.push(lane);
            }
        }
    }
}

/// Letters that are shown ahead together, while those before them are delivered: each takes 20 to
/// 100 ns, and memory answers in 20 to 150.
const BLOCK: usize = 8;

/// Letters that are worth some 100 ns of preparation.
const MANY: usize = 64;

/// The turn that comes first, and the one up to which its lane may go on. Lanes of fork/join follow
/// each other: to look at all of them for each of a thousand storages would take longer than to
/// deliver a letter from each.
fn next_two<L>(lanes: &[Opened<'_, L>]) -> Option<(Turn, Turn)> {
    let never = (u32::MAX, usize::MAX);
    let (first, second) = lanes.iter().filter_map(Opened::turn).fold((never, never), |(first, second), turn| {
        if turn < first { (turn, first) } else { (first, second.min(turn)) }
    });
    (first < never).then_some((first, second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_give_back_what_they_knew_of_many_storages() {
        let mail = Mail::<u64>::new(Parts { senders: 1, owners: 1, most_stolen: 0 });
        let room_after = |storages: u32| {
            (0..storages).for_each(|storage| mail.lanes_of(0, None)[0].push(storage, 1));
            mail.drain_for(0, || None::<fn(&_)>, |_| {});
            mail.lanes_of(0, None)[0].segments.capacity()
        };
        assert!(room_after(10_000) >= 10_000);
        let after = (0..CALLS_TO_GIVE_BACK).fold(0, |_, _| room_after(1));
        assert_eq!(after, FIRST_LETTERS);
    }

    #[test]
    fn lanes_give_back_what_they_used_once() {
        let mail = Mail::<u64>::new(Parts { senders: 1, owners: 1, most_stolen: 0 });
        let room_after = |letters: u64| {
            (0..letters).for_each(|letter| mail.lanes_of(0, None)[0].push(0, letter));
            mail.drain_for(0, || None::<fn(&_)>, |_| {});
            mail.lanes_of(0, None)[0].letters.capacity()
        };
        let most = room_after(10_000);
        assert!((1..CALLS_TO_GIVE_BACK).all(|call| room_after(call.into()) == most), "it may be used again soon");
        assert_eq!(room_after(1), FIRST_LETTERS);
        let most = room_after(1_000);
        assert!((0..10 * CALLS_TO_GIVE_BACK).all(|_| room_after(900) == most), "nothing is allocated anew");
    }

    #[test]
    fn lanes_of_stolen_chunks_do_so_too() {
        let mut mail = Mail::<u64>::new(Parts { senders: 1, owners: 1, most_stolen: 1 });
        (0..10_000).for_each(|letter| mail.lanes_of(0, Some(0))[0].push(0, letter));
        for _ in 0..=CALLS_TO_GIVE_BACK {
            mail.drain_for(0, || None::<fn(&_)>, |_| {});
            mail.begin();
        }
        assert_eq!(mail.lanes_of(0, Some(0))[0].letters.capacity(), FIRST_LETTERS);
    }

    #[test]
    fn lanes_of_large_messages_begin_with_little_room() {
        let mail = Mail::<[u64; 256]>::new(Parts { senders: 1, owners: 1, most_stolen: 0 });
        mail.lanes_of(0, None)[0].push(0, [0; 256]);
        assert_eq!(mail.lanes_of(0, None)[0].letters.capacity(), 2);
    }
}
