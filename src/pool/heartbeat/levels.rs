//! Which joins others get to see: those of the outermost levels of a recursion. How many levels
//! that are is learned from how often published joins finish.

use std::time::Duration;

use super::{
    super::clock::{nanoseconds, now},
    alone::Alone,
    job_queue::OPEN,
};
use crate::sync::{AtomicUsize, Ordering};

/// Published joins that finish between two looks at how often they do.
const JOINS_PER_LOOK: u32 = 16;

/// To publish a join and to take it back costs 20 to 40 ns: a hundredth of this, which is how long
/// it should be on average from one to the next.
const WORTH_PUBLISHING: Duration = Duration::from_micros(4);

/// Where published joins finish this many times more seldom, one to three more levels are
/// published: each level has twice as many joins as the one above.
const SELDOM: u64 = 8;

/// Bytes of stack below a requested level that are published with it: frames of one level differ in
/// length.
const MARGIN: usize = 256;

/// This many joins published one inside the other, with none finished between, are a long chain
/// rather than a bushy tree: there the many short joins lie near the leaves, here every second half
/// may be long.
const LONG_DESCENT: u32 = 16;

/// The levels of a recursion on one worker, by the addresses of their frames: see
/// [`Scope`](super::Scope).
pub(super) struct Levels<'s> {
    limit: &'s AtomicUsize,
    /// Address in the frame of the outermost published join of the job that runs; nothing while
    /// there is none.
    outermost: Option<usize>,
    /// How many bytes below it the frames of published joins lie at most.
    depth: usize,
    /// How many published joins have finished since the last look at how often they do, and how
    /// deep their frames lay at most.
    finished: u32,
    deepest: usize,
    /// Of a scope without a seat: after how many of them one inside of another looks.
    next_look: u32,
    /// When that was, in nanoseconds of the pool's clock.
    looked: u64,
    /// How many joins were published since one finished.
    descent: u32,
    /// Publishes a join only if another worker found nothing to take, whatever its level.
    only_asked: bool,
}

/// An address in the caller's frame.
#[inline(always)]
pub(super) fn frame_address() -> usize {
    let here = 0_u8;
    (&raw const here).addr()
}

/// How many of the `levels` of a recursion that `took` this long to come to its first leaf are
/// to be published, if it has two branches everywhere: then joins near the leaves finish that much
/// more often.
fn levels_worth_publishing(took: u64, levels: u32) -> u32 {
    let of_level = took / u64::from(levels.max(1));
    let subtree = nanoseconds(WORTH_PUBLISHING) / of_level.max(1);
    levels.saturating_sub(subtree.checked_ilog2().map_or(0, |below| below + 2))
}

impl<'s> Levels<'s> {
    /// All joins are published up to this `limit`, which others may open. The last look was when
    /// the scope began, in nanoseconds of the pool's clock.
    pub(super) fn new(limit: &'s AtomicUsize, began: u64) -> Self {
        Self {
            limit,
            outermost: None,
            depth: usize::MAX,
            finished: 0,
            deepest: 0,
            next_look: 1,
            looked: began,
            descent: 0,
            only_asked: false,
        }
    }

    /// Whether joins of this frame are published.
    #[inline(always)]
    pub(super) fn are_published_at(&self, frame: usize) -> bool {
        frame >= self.limit.load(Ordering::Relaxed)
    }

    /// From now on a join is published only if another worker has asked for it.
    pub(super) fn publish_only_asked(&mut self) {
        self.only_asked = true;
    }

    /// Whether no join was published inside the first half that ends now.
    #[inline]
    pub(super) fn is_leaf(&self) -> bool {
        self.descent > 0
    }

    /// A job begins that has no joins around it. Returns which join was the outermost before.
    #[inline]
    pub(super) fn begin_apart(&mut self) -> Option<usize> {
        let before = self.outermost.take();
        self.set_limit();
        before
    }

    #[inline]
    pub(super) fn end_apart(&mut self, outermost: Option<usize>) {
        self.outermost = outermost;
        self.set_limit();
    }

    /// Returns which join was the outermost before.
    #[inline]
    pub(super) fn begin_first_half(&mut self, frame: usize) -> Option<usize> {
        self.descent += 1;
        if self.descent >= LONG_DESCENT {
            self.depth = usize::MAX;
        }
        let before = self.outermost;
        self.outermost = before.or(Some(frame));
        self.set_limit();
        before
    }

    /// `alone` is the scope's that has no seat.
    #[inline]
    pub(super) fn end_first_half(&mut self, frame: usize, outermost: Option<usize>, alone: Option<&mut Alone<'_>>) {
        let levels = std::mem::take(&mut self.descent);
        self.deepest = self.deepest.max(self.depth_of(frame));
        self.finished += 1;
        if self.is_to_look(frame, outermost.is_none(), alone.as_deref()) {
            self.look(levels, alone);
        }
        self.outermost = outermost;
        self.set_limit();
    }

    /// Publishes the joins of this frame's level too from now on, if another worker found nothing
    /// to take.
    #[inline]
    pub(super) fn heed_request(&mut self, frame: usize) {
        if self.ends_at() != OPEN && self.limit.load(Ordering::Relaxed) == OPEN {
            self.depth = self.depth.max(self.depth_of(frame).saturating_add(MARGIN));
        }
    }

    /// Whether a join whose first half ends, in this frame, looks at the clock.
    fn is_to_look(&self, frame: usize, is_outermost: bool, alone: Option<&Alone<'_>>) -> bool {
        match alone {
            None => self.finished == JOINS_PER_LOOK,
            Some(alone) if is_outermost => alone.looks(),
            // Those further in began before the first look.
            Some(_) => self.finished >= self.next_look && self.depth_of(frame) <= self.depth,
        }
    }

    /// Looks at the clock, after a join that was the last of these `levels`.
    fn look(&mut self, levels: u32, alone: Option<&mut Alone<'_>>) {
        let now = now();
        let took = now.saturating_sub(std::mem::replace(&mut self.looked, now));
        let deepest = std::mem::take(&mut self.deepest);
        let finished = std::mem::take(&mut self.finished);
        match alone {
            None => self.adapt(took, finished, deepest),
            Some(alone) => {
                if alone.look(now, levels) {
                    self.depth = deepest / levels as usize * levels_worth_publishing(took, levels) as usize;
                }
                let is_soon = took < nanoseconds(WORTH_PUBLISHING);
                self.next_look = if is_soon { (2 * self.next_look).min(JOINS_PER_LOOK) } else { 1 };
            }
        }
    }

    /// Where published joins finish too often fewer levels are published from now on, where they
    /// seldom do, more.
    fn adapt(&mut self, took: u64, finished: u32, deepest: usize) {
        let worth = nanoseconds(WORTH_PUBLISHING) * u64::from(finished);
        if took < worth {
            self.depth = self.depth.min(deepest) / 4 * 3;
        } else if took > SELDOM * worth {
            self.depth = self.depth.saturating_add(self.depth / 3).saturating_add(MARGIN);
        }
    }

    /// How many bytes a frame lies below that of the outermost join.
    fn depth_of(&self, frame: usize) -> usize {
        self.outermost.map_or(0, |outermost| outermost.saturating_sub(frame))
    }

    fn set_limit(&self) {
        self.limit.store(self.ends_at(), Ordering::Relaxed);
    }

    /// Where the limit is, unless others have opened it.
    fn ends_at(&self) -> usize {
        if self.only_asked {
            // No frame lies as high.
            return usize::MAX;
        }
        self.outermost.map_or(OPEN, |outermost| outermost.saturating_sub(self.depth))
    }
}

#[cfg(all(test, not(affinity_loom)))]
mod tests {
    use super::levels_worth_publishing;

    #[test]
    fn levels_near_tiny_leaves_are_not_published() {
        let published = |took, levels| levels_worth_publishing(took, levels);
        // A thousand nodes, two million, a chain of a thousand.
        assert_eq!([published(150, 10), published(300, 20), published(4_000, 1_000)], [0, 10, 989]);
        // Leaves that are long, and one that is nothing.
        assert_eq!([published(100_000, 6), published(0, 6), published(0, 0)], [6, 0, 0]);
    }
}
