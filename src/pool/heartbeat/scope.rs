//! Joins, and how others get to run their second halves.

use std::{
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
};

use super::{
    super::{clock::now, handed::Handed, unwind::AbortOnUnwind},
    alone::{Alone, share},
    job::{JobRef, PublishedJob, discard},
    levels::{Levels, frame_address},
    session::Session,
};
use crate::sync::{AtomicUsize, MutexGuard, deque::Worker as Deque, planted, try_lock};

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
    levels: Levels<'s>,
    seat: Option<SessionSeat<'s>>,
    /// Of a scope without a seat: who comes if it takes long.
    alone: Option<Alone<'s>>,
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
    f(&mut Scope::new(Levels::new(&limit, 0), None))
}

impl<'s> Scope<'s> {
    fn new(levels: Levels<'s>, seat: Option<SessionSeat<'s>>) -> Self {
        Self { levels, seat, alone: None, idle: 0 }
    }

    /// A scope without a seat, whose joins others share in if it takes long. It `began` in the
    /// pool's time.
    pub(super) fn alone(limit: &'s AtomicUsize, alone: Alone<'s>, began: u64) -> Self {
        Self { alone: Some(alone), ..Self::new(Levels::new(limit, began), None) }
    }

    /// The scope of a worker in a session; `None` if a thread sits at the queue, which cannot be of
    /// this session.
    pub(super) fn seated(session: &'s Session<'s>, index: usize) -> Option<Self> {
        let queue = session.queue(index);
        let deque = try_lock(&queue.deque)?;
        queue.open();
        let seat = SessionSeat { session, index, deque };
        Some(Self::new(Levels::new(&queue.limit, now()), Some(seat)))
    }

    /// Runs both closures and returns what they return. `a` runs on this thread; `b` runs after it,
    /// or on another worker at the same time if one has nothing else to do. While it waits for
    /// another worker, this one takes jobs from that one only, so the stack holds no more joins
    /// than it would serially (but where the system takes its core away between two steps). It may
    /// hold larger ones: a join that another worker may take `b` of takes some 240 bytes more, and
    /// in a recursion more than 16 joins deep that is each. `a` must not wait for `b`: see
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
        self.levels.publish_only_asked();
    }

    /// Whether the next join of the caller's function would be published: if not, a loop can do
    /// without one.
    #[inline(always)]
    pub(crate) fn is_to_publish(&self) -> bool {
        self.levels.are_published_at(frame_address())
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
        let outermost = self.levels.begin_first_half(frame);
        let a = catch_unwind(AssertUnwindSafe(|| a(self)));
        self.levels.end_first_half(frame, outermost, self.alone.as_mut());
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
        self.levels.heed_request(frame);
        if let Some(seat) = &self.seat {
            // SAFETY: 'frame' on `PublishedJob`: the join holds an `AbortOnUnwind`, and publishes
            // its job once.
            seat.deque.push(unsafe { JobRef::new(job) });
            seat.session.queue(seat.index).count_published();
        }
        self.levels.begin_first_half(frame)
    }

    /// Takes the newest job back; false if another worker was faster. A thief takes the
    /// oldest, so if there is a job left it is the one of the innermost join.
    fn retract(&mut self, frame: usize, outermost: Option<usize>) -> bool {
        let mut is_back = false;
        if let Some(seat) = &self.seat {
            is_back = seat.deque.pop().is_some();
            if self.levels.is_leaf() && !is_back {
                seat.session.note_halves_met();
            }
        }
        self.levels.end_first_half(frame, outermost, None);
        is_back
    }

    /// Runs `job` as one that has no joins around it.
    pub(super) fn run_apart<R>(&mut self, job: impl FnOnce(&mut Self) -> R) -> R {
        let outermost = self.levels.begin_apart();
        let result = job(self);
        self.levels.end_apart(outermost);
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
