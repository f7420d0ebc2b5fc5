//! Joins, and which of them others get to see.

use std::{
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    time::Duration,
};

use super::{
    super::{
        clock::{nanoseconds, now},
        handed::Handed,
        unwind::AbortOnUnwind,
    },
    alone::{Alone, share},
    job::{JobRef, PublishedJob, discard},
    job_queue::OPEN,
    session::Session,
};
use crate::sync::{AtomicUsize, MutexGuard, Ordering, deque::Worker as Deque, planted, try_lock};

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

/// The right to fork: handed to the closure of
/// [`AffinityPool::heartbeat`](crate::AffinityPool::heartbeat), and by each join to its closures.
///
/// # Which joins are published
/// To be taken by others a join has to be published, which costs 20 to 40 ns; one that is not is
/// two calls. The first joins of a recursion have the most in them, so published are those whose
/// frames lie no deeper in the stack than some bytes below the outermost one. How many is
/// learned: at the start all are published, then ever fewer levels until some microseconds lie
/// between two that finish; and when another worker finds nothing to take, the levels down to the
/// next join. So one comparison of the stack's address with a limit decides, and others ask for
/// jobs by opening the limit. Addresses are a measure of depth only: nothing but speed depends on
/// them. A long chain (`join(the rest of the chain, a long job)`) that follows many short
/// recursions in one session gives away its first levels only: open a session for it.
///
/// ```
/// use bevy_affinity::prelude::*;
///
/// fn sum(scope: &mut Scope, numbers: &[u64]) -> u64 {
///     match numbers {
///         [] => 0,
///         [number] => *number,
///         _ => {
///             let (left, right) = numbers.split_at(numbers.len() / 2);
///             let (left, right) = scope.join(|scope| sum(scope, left), |scope| sum(scope, right));
///             left + right
///         }
///     }
/// }
///
/// let pool = AffinityPool::new(&AffinitySettings::default());
/// let numbers: Vec<_> = (0..1000).collect();
/// assert_eq!(pool.heartbeat(|scope| sum(scope, &numbers)), 499_500);
/// ```
pub struct Scope<'s> {
    limit: &'s AtomicUsize,
    seat: Option<SessionSeat<'s>>,
    /// Of a scope without a seat: who comes if it takes long.
    alone: Option<Alone<'s>>,
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
    /// For how many nanoseconds this worker had no job, since it sat down.
    pub(super) idle: u64,
}

/// A worker's place in a session.
pub(super) struct SessionSeat<'s> {
    pub(super) session: &'s Session<'s>,
    pub(super) index: usize,
    deque: MutexGuard<'s, Deque<JobRef>>,
}

/// Runs `f` with a scope whose joins all run on this thread.
pub(crate) fn on_the_spot<R>(f: impl FnOnce(&mut Scope) -> R) -> R {
    // No frame lies as high, so nothing is published.
    let limit = AtomicUsize::new(usize::MAX);
    f(&mut Scope::new(&limit, None))
}

/// An address in the caller's frame.
#[inline(always)]
fn frame_address() -> usize {
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

impl<'s> Scope<'s> {
    fn new(limit: &'s AtomicUsize, seat: Option<SessionSeat<'s>>) -> Self {
        Self {
            limit,
            seat,
            alone: None,
            outermost: None,
            depth: usize::MAX,
            finished: 0,
            next_look: 1,
            deepest: 0,
            looked: 0,
            descent: 0,
            only_asked: false,
            idle: 0,
        }
    }

    /// A scope without a seat, whose joins others share in if it takes long. It `began` in the
    /// pool's time.
    pub(super) fn alone(limit: &'s AtomicUsize, alone: Alone<'s>, began: u64) -> Self {
        Self { alone: Some(alone), looked: began, ..Self::new(limit, None) }
    }

    /// The scope of a worker in a session; `None` if a thread sits at the queue, which cannot be of
    /// this session.
    pub(super) fn seated(session: &'s Session<'s>, index: usize) -> Option<Self> {
        let queue = session.queue(index);
        let deque = try_lock(&queue.deque)?;
        queue.open();
        let seat = SessionSeat { session, index, deque };
        Some(Self { looked: now(), ..Self::new(&queue.limit, Some(seat)) })
    }

    /// Runs both closures and returns what they return. `a` runs on this thread; `b` runs after it,
    /// or on another worker at the same time if one has nothing else to do. While it waits for
    /// another worker, this one takes jobs from that one only, so the stack holds no more joins
    /// than it would serially. `a` must not wait for `b`: see
    /// [`AffinityPool::heartbeat`](crate::AffinityPool::heartbeat).
    ///
    /// ```
    /// # use bevy_affinity::prelude::*;
    /// fn sum(scope: &mut Scope, numbers: &[u64]) -> u64 {
    ///     match numbers {
    ///         [] => 0,
    ///         [number] => *number,
    ///         _ => {
    ///             let (left, right) = numbers.split_at(numbers.len() / 2);
    ///             let (a, b) = scope.join(|s| sum(s, left), |s| sum(s, right));
    ///             a + b
    ///         }
    ///     }
    /// }
    ///
    /// let pool = AffinityPool::new(&AffinitySettings::default());
    /// assert_eq!(pool.heartbeat(|scope| sum(scope, &[3, 5, 8, 13])), 29);
    /// ```
    ///
    /// # Panics
    /// If a closure panics. Both have finished or were never started then; if both panic the
    /// payload is that of `a`.
    ///
    /// # Aborts
    /// If `a` panics, what is left of `b` (the closure that did not run, its result, or its
    /// payload) is dropped. If that panics too the process aborts, as for any panic in a drop while
    /// unwinding; with a line on stderr if `b` could have been taken by another worker.
    #[inline]
    pub fn join<A, B: Send>(
        &mut self,
        a: impl FnOnce(&mut Scope) -> A,
        b: impl FnOnce(&mut Scope) -> B + Send,
    ) -> (A, B) {
        if self.is_to_publish() {
            return self.join_published(a, b);
        }
        let a = a(self);
        (a, b(self))
    }

    /// Calls `f` with each index of the range, in order unless other workers take part: then the
    /// far half of what is left goes to them, again and again.
    ///
    /// ```
    /// # use bevy_affinity::prelude::*;
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let pool = AffinityPool::new(&AffinitySettings::default());
    /// let sum = AtomicUsize::new(0);
    /// pool.heartbeat(|scope| scope.for_each(0..10, |_, index| _ = sum.fetch_add(index, Ordering::Relaxed)));
    /// assert_eq!(sum.into_inner(), 45);
    /// ```
    ///
    /// # Panics
    /// If a call panics: later indices of the same part of `range` are left out, and the payload is
    /// that of the smallest index that panicked.
    pub fn for_each(&mut self, range: Range<usize>, f: impl Fn(&mut Scope, usize) + Sync) {
        self.sweep(range, &f);
    }

    fn sweep<F: Fn(&mut Scope, usize) + Sync>(&mut self, range: Range<usize>, f: &F) {
        let Range { start, end } = range;
        for index in start..end {
            if self.is_to_publish() && end - index > 1 {
                let middle = index + (end - index) / 2;
                self.join_published(|s| s.sweep(index..middle, f), |s| s.sweep(middle..end, f));
                return;
            }
            f(self, index);
        }
    }

    /// From now on a join is published only if another worker has asked for it: for walks that
    /// would not be divided but for that, since dividing them costs more than a join.
    pub(crate) fn publish_only_asked(&mut self) {
        self.only_asked = true;
    }

    /// Whether the next join of the caller's function would be published: if not, a loop can do
    /// without one.
    #[inline(always)]
    pub(crate) fn is_to_publish(&self) -> bool {
        frame_address() >= self.limit.load(Ordering::Relaxed)
    }

    #[cold]
    #[inline(never)]
    fn join_published<A, B: Send>(
        &mut self,
        a: impl FnOnce(&mut Scope) -> A,
        b: impl FnOnce(&mut Scope) -> B + Send,
    ) -> (A, B) {
        let Some(seat) = &self.seat else { return self.join_alone(a, b) };
        let half = Handed::new(b);
        // A panic of it is kept for this join.
        let start = |scope: &mut Scope| _ = half.run(|b| (catch_unwind(AssertUnwindSafe(|| b(scope))), 0));
        let job = PublishedJob::new(&start, seat.index);
        // Until the job is back or done nothing unwinds from here: 'frame' on `PublishedJob`.
        let guard = AbortOnUnwind::because("a panic would leave a join whose second half others may run");
        let frame = frame_address();
        let outermost = self.publish(&job, frame);
        let a = catch_unwind(AssertUnwindSafe(|| a(self)));
        let is_back = self.retract(frame, outermost);
        let leaves_early = planted("join_leaves_early") && a.is_err();
        if !is_back && !leaves_early {
            self.wait_for(&job);
        }
        guard.defuse();
        match a {
            Ok(a) => (a, if is_back { half.into_closure()(self) } else { half.into_result() }),
            Err(payload) => {
                discard(half);
                resume_unwind(payload)
            }
        }
    }

    /// Runs both closures on this thread; the second with others, if it was found to take long.
    fn join_alone<A, B: Send>(
        &mut self,
        a: impl FnOnce(&mut Scope) -> A,
        b: impl FnOnce(&mut Scope) -> B + Send,
    ) -> (A, B) {
        let frame = frame_address();
        let outermost = self.begin_first_half(frame);
        let a = catch_unwind(AssertUnwindSafe(|| a(self)));
        self.end_first_half(frame, outermost);
        let a = a.unwrap_or_else(|payload| resume_unwind(payload));
        if let Some(others) = self.alone.as_mut().and_then(Alone::others_for_second_half) {
            let (b, work) = share(others, b);
            self.with_alone(|alone| alone.note_shared(work));
            return (a, b);
        }
        self.with_alone(|alone| alone.inside += 1);
        let b = catch_unwind(AssertUnwindSafe(|| b(self)));
        self.with_alone(|alone| alone.inside -= 1);
        (a, b.unwrap_or_else(|payload| resume_unwind(payload)))
    }

    fn with_alone(&mut self, change: impl FnOnce(&mut Alone<'s>)) {
        if let Some(alone) = &mut self.alone {
            change(alone);
        }
    }

    /// Lays the job out for others; returns which join was the outermost before.
    fn publish(&mut self, job: &PublishedJob, frame: usize) -> Option<usize> {
        self.heed_request(frame);
        if let Some(seat) = &self.seat {
            seat.deque.push(JobRef::new(job));
            seat.session.queue(seat.index).count_published();
        }
        self.begin_first_half(frame)
    }

    /// Takes the newest job back; false if another worker was faster. A thief takes the
    /// oldest, so if there is a job left it is the one of the innermost join.
    fn retract(&mut self, frame: usize, outermost: Option<usize>) -> bool {
        let mut is_back = false;
        if let Some(seat) = &self.seat {
            is_back = seat.deque.pop().is_some();
            let is_leaf = self.descent > 0;
            if is_leaf && !is_back {
                seat.session.note_halves_met();
            }
        }
        self.end_first_half(frame, outermost);
        is_back
    }

    /// Returns which join was the outermost before.
    fn begin_first_half(&mut self, frame: usize) -> Option<usize> {
        self.descent += 1;
        if self.descent >= LONG_DESCENT {
            self.depth = usize::MAX;
        }
        let before = self.outermost;
        self.outermost = before.or(Some(frame));
        self.set_limit();
        before
    }

    fn end_first_half(&mut self, frame: usize, outermost: Option<usize>) {
        let levels = std::mem::take(&mut self.descent);
        self.deepest = self.deepest.max(self.depth_of(frame));
        self.finished += 1;
        if self.is_to_look(frame, outermost.is_none()) {
            self.look(levels);
        }
        self.outermost = outermost;
        self.set_limit();
    }

    /// Publishes the joins of this frame's level too from now on, if another worker found nothing
    /// to take.
    fn heed_request(&mut self, frame: usize) {
        if self.ends_at() != OPEN && self.limit.load(Ordering::Relaxed) == OPEN {
            self.depth = self.depth.max(self.depth_of(frame).saturating_add(MARGIN));
        }
    }

    /// Whether a join whose first half ends, in this frame, looks at the clock.
    fn is_to_look(&self, frame: usize, is_outermost: bool) -> bool {
        match &self.alone {
            None => self.finished == JOINS_PER_LOOK,
            Some(alone) if is_outermost => alone.looks(),
            // Those further in began before the first look.
            Some(_) => self.finished >= self.next_look && self.depth_of(frame) <= self.depth,
        }
    }

    /// Looks at the clock, after a join that was the last of these `levels`.
    fn look(&mut self, levels: u32) {
        let now = now();
        let took = now.saturating_sub(std::mem::replace(&mut self.looked, now));
        let deepest = std::mem::take(&mut self.deepest);
        let finished = std::mem::take(&mut self.finished);
        match &mut self.alone {
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

    /// Runs `job` as one that has no joins around it.
    pub(super) fn run_apart<R>(&mut self, job: impl FnOnce(&mut Self) -> R) -> R {
        let outermost = self.outermost.take();
        self.set_limit();
        let result = job(self);
        self.outermost = outermost;
        self.set_limit();
        result
    }

    /// The index of the worker that this scope belongs to; the leader's where everything runs on
    /// the spot. For the models.
    #[cfg(affinity_loom)]
    pub(crate) fn worker(&self) -> usize {
        self.seat().map_or(0, |(_, index)| index)
    }

    pub(super) fn seat(&self) -> Option<(&'s Session<'s>, usize)> {
        self.seat.as_ref().map(|seat| (seat.session, seat.index))
    }
}

impl std::fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scope").field("worker", &self.seat().map(|(_, index)| index)).finish_non_exhaustive()
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
