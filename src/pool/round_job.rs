//! What a round runs: a closure and what is done around it, by pointers of which the type is known
//! to one function only, so that it can wait where all workers find it.

use std::{marker::PhantomData, ptr::NonNull};

/// What is done around each call of a round's closure.
pub(crate) trait Wrap: Sync {
    /// Calls `closure` with the `index` of a worker. It returns for how many nanoseconds of the
    /// call it had nothing to do. `note` is the job's.
    fn call(&self, closure: &(impl Fn(usize) -> u64 + Sync), index: usize, note: u8);
}

/// What a round runs: a closure, inside of a wrap.
///
/// # Invariant (borrows)
/// `wrap` and `closure` were references of the types that `call` was made for, both `Sync`, that
/// live for `'a`; where that was forgotten ([`erased`](Self::erased)), for as long as the job may
/// be called.
#[derive(Clone, Copy)]
pub(crate) struct RoundJob<'a> {
    /// Made for the types of the other two: one jump, where two trait objects would be two, and two
    /// tables more to fetch after a pause.
    call: unsafe fn(NonNull<()>, NonNull<()>, usize, u8),
    /// Beside the closure, not inside: what no round writes stays in the workers' caches. A closure
    /// lies on the leader's stack, which is a cache line more for each worker in each round; one
    /// that holds nothing is not even looked at.
    wrap: NonNull<()>,
    closure: NonNull<()>,
    note: u8,
    borrows: PhantomData<&'a ()>,
}

/// # Safety
/// As 'borrows' on [`RoundJob`] says of a job that lives.
unsafe fn call<W: Wrap, F: Fn(usize) -> u64 + Sync>(wrap: NonNull<()>, closure: NonNull<()>, index: usize, note: u8) {
    // SAFETY: 'borrows' on `RoundJob`, as the caller says.
    let wrap = unsafe { wrap.cast::<W>().as_ref() };
    // SAFETY: as above.
    let closure = unsafe { closure.cast::<F>().as_ref() };
    wrap.call(closure, index, note);
}

impl<'a> RoundJob<'a> {
    pub(crate) fn new<W: Wrap, F: Fn(usize) -> u64 + Sync>(wrap: &'a W, closure: &'a F) -> Self {
        let (wrap, closure) = (NonNull::from(wrap).cast(), NonNull::from(closure).cast());
        Self { call: call::<W, F>, wrap, closure, note: 0, borrows: PhantomData }
    }

    /// Gives the wrap a `note`; 0 before.
    #[inline]
    pub(super) fn note(&mut self, note: u8) {
        self.note = note;
    }

    /// Calls the closure with the `index` of a worker.
    #[inline]
    pub(super) fn call(&self, index: usize) {
        // SAFETY: 'borrows' on the type.
        unsafe { (self.call)(self.wrap, self.closure, index, self.note) }
    }

    /// Forgets the lifetime.
    ///
    /// # Safety
    /// The job must not be called after the borrows have ended.
    #[inline]
    pub(super) unsafe fn erased(&self) -> RoundJob<'static> {
        let Self { call, wrap, closure, note, .. } = *self;
        RoundJob { call, wrap, closure, note, borrows: PhantomData }
    }
}
