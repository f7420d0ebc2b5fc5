//! What others hold of the second half of a join.

use std::ptr::NonNull;

use super::{
    super::{handed::Handed, unwind::AbortOnUnwind},
    Scope,
};
use crate::sync::{AtomicBool, AtomicUsize, Ordering, needed};

/// How a job is started, whatever its closure and its result are.
type Start<'a> = &'a (dyn Fn(&mut Scope) + Sync + 'a);

/// A [`Start`] without its lifetime: a pointer, because it dangles once the join has returned.
type ErasedStart = *const (dyn Fn(&mut Scope) + Sync + 'static);

/// No worker has this index.
const NOBODY: usize = usize::MAX;

/// A published second half, in the frame of its join.
///
/// # Invariant (frame)
/// A join that has published a job keeps its frame, neither returning nor unwinding (it holds an
/// [`AbortOnUnwind`]), until it has popped the one [`JobRef`] from its own deque or has seen
/// `done`. A worker that got hold of the `JobRef` runs the job once, and storing `done` is the last
/// it does with it.
pub(super) struct PublishedJob {
    start: ErasedStart,
    /// The worker whose join this is.
    owner: usize,
    /// The worker that took it from the owner's deque, or [`NOBODY`].
    taker: AtomicUsize,
    done: AtomicBool,
}

impl PublishedJob {
    pub(super) fn new(start: Start<'_>, owner: usize) -> Self {
        // SAFETY: only the lifetime changes; 'frame' on `PublishedJob` keeps every use within the
        // borrow.
        let start = unsafe { std::mem::transmute::<Start<'_>, ErasedStart>(start) };
        Self { start, owner, taker: AtomicUsize::new(NOBODY), done: AtomicBool::new(false) }
    }

    /// Acquire: pairs with the release in [`JobRef::run`], so that the owner sees what the job
    /// wrote.
    #[inline]
    pub(super) fn is_done(&self) -> bool {
        self.done.load(needed(Ordering::Acquire, "done_load"))
    }

    /// Who runs it, once that one has said so.
    #[inline]
    pub(super) fn taker(&self) -> Option<usize> {
        Some(self.taker.load(Ordering::Relaxed)).filter(|&taker| taker != NOBODY)
    }
}

/// The right to run a published job: there is one for each, and it cannot be copied.
pub(super) struct JobRef(NonNull<PublishedJob>);

// SAFETY: what it leads to is there for as long as it is used ('frame' on `PublishedJob`), and may
// be used from any thread: the start function is `Sync`, the rest is atomic or never written.
unsafe impl Send for JobRef {}

impl JobRef {
    /// # Safety
    /// It is the only one of its job, and the join that publishes it keeps to 'frame' on
    /// [`PublishedJob`].
    pub(super) unsafe fn new(job: &PublishedJob) -> Self {
        Self(NonNull::from(job))
    }

    /// Runs the job on the worker `taker`, and returns its owner, who may be waiting for it.
    pub(super) fn run(self, scope: &mut Scope, taker: usize) -> usize {
        // SAFETY: 'frame' on `PublishedJob`: the job is not done, and this is its one `JobRef`.
        let job = unsafe { self.0.as_ref() };
        let owner = job.owner;
        // Relaxed: a hint for the owner, who checks what it finds there.
        job.taker.store(taker, Ordering::Relaxed);
        // SAFETY: 'frame' on `PublishedJob`: what the pointer leads to lives as long as the frame.
        let start = unsafe { &*job.start };
        start(scope);
        job.done.store(true, needed(Ordering::Release, "done_store"));
        owner
    }
}

/// Drops the second half of a join whose first one panicked: a closure that did not run, a result
/// or a second payload without a receiver. If that panics too the process aborts, as for any panic
/// in a drop while unwinding.
pub(super) fn discard<F, R>(half: Handed<F, R>) {
    let guard = AbortOnUnwind::because("what a join left behind when it panicked panicked while it was dropped");
    drop(half);
    guard.defuse();
}
