//! How batches get from the caller to the workers, and who runs what lies in which inbox
//! (`inbox.rs`).

use std::{
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
    vec::Drain,
};

use crossbeam_utils::CachePadded;

use super::{
    super::{
        clock::now,
        spin::spin_until,
        unwind::{AbortOnUnwind, FirstPanic, Payload},
    },
    inbox::{Batch, Holder, Inbox, PATIENCE},
    keys::{Keys, part_of},
};
use crate::sync::{AtomicBool, AtomicUsize, Ordering, handshake_fence, needed, planted};

/// How many inboxes the keys of the caller's thread are spread over. The caller makes its calls
/// before it runs any, and each of these inboxes goes as a whole to who is idle first: a worker, or
/// the caller when it flushes. So the last to be done is late by this part of its calls at most.
const LOOSE: usize = if cfg!(affinity_loom) { 1 } else { 32 };

/// Runs calls of one inbox. Those that are left when it panics are its caller's.
pub(crate) type RunCalls<'a, A> = &'a (dyn Fn(usize, &mut Drain<'_, A>) + Sync + 'a);

/// What came to a worker.
enum News<A> {
    Batch(usize, Batch<A>),
    /// This inbox is the worker's from now on.
    Inbox(usize),
    /// Calls lie where no worker is: they are not overdue yet, and an idle worker has to look
    /// again.
    Strays,
    /// The caller has returned, and there is nothing left to take.
    Over,
}

/// One call of [`AffinityPool::batched`](crate::AffinityPool::batched): an inbox for each worker
/// but the leader, who makes the calls, and behind them [`LOOSE`] ones for the leader's own keys.
/// Alone, the leader has one.
pub(crate) struct BatchExchange<A> {
    inboxes: Box<[CachePadded<Inbox<A>>]>,
    /// Workers but the leader: the inboxes before the loose ones.
    followers: usize,
    /// No worker takes part. Written by the caller, before its first call.
    unattended: AtomicBool,
    /// No more calls come.
    over: AtomicBool,
    /// How many inboxes have calls and no holder: written under the locks of these inboxes.
    strays: AtomicUsize,
    /// An inbox was closed: a hint, on a line that is hardly ever written, for the caller.
    any_closed: AtomicBool,
    /// How long a worker without a call looks for one before it sleeps.
    spin: Duration,
    /// Of calls.
    panic: FirstPanic,
}

impl<A> BatchExchange<A> {
    pub(crate) fn new(workers: usize, spin: Duration) -> Self {
        let followers = workers - 1;
        let loose = if followers == 0 { 1 } else { LOOSE };
        Self {
            inboxes: (0..followers + loose).map(|_| CachePadded::new(Inbox::new())).collect(),
            followers,
            unattended: AtomicBool::new(false),
            over: AtomicBool::new(false),
            strays: AtomicUsize::new(0),
            any_closed: AtomicBool::new(false),
            spin,
            panic: FirstPanic::default(),
        }
    }

    pub(crate) fn inboxes(&self) -> usize {
        self.inboxes.len()
    }

    /// For the keys of this exchange.
    pub(super) fn keys(&self) -> Keys {
        Keys::new(self.followers + 1)
    }

    /// The inbox of a [group](Keys::group_of) of keys. Each thread has the same part of them.
    #[inline]
    pub(super) fn inbox_of(&self, group: u64) -> usize {
        let loose = self.inboxes() - self.followers;
        let part = part_of(group, (self.followers + 1) * loose);
        if part < loose { self.followers + part } else { part / loose - 1 }
    }

    /// The payload of the first call that panicked.
    pub(crate) fn into_payload(self) -> Option<Payload> {
        self.panic.into_payload()
    }

    /// To be called before the first call is sent: says of each inbox that is a worker's whether it
    /// takes part. If none does, everything is the caller's.
    pub(super) fn begin(&self, takes_part: impl Fn(usize) -> bool) {
        let is_attended = (0..self.followers).any(&takes_part);
        self.unattended.store(!is_attended, Ordering::Relaxed);
        for inbox in 0..self.inboxes() {
            if !is_attended {
                self.hold(inbox, Holder::Caller);
            } else if inbox >= self.followers || !takes_part(inbox) {
                self.inboxes[inbox].overdue.store(0, Ordering::Relaxed);
            }
        }
    }

    /// Tells the workers that no more calls come.
    pub(super) fn end(&self) {
        // Release: who sees the end sees all that was sent. (The fences of `put` would do.)
        self.over.store(true, Ordering::Release);
        // The sleep handshake of `Parker`: the end is the condition.
        handshake_fence("end_fence");
        if !planted("end_wakes_nobody") {
            self.wake_all();
        }
    }

    fn wake_all(&self) {
        self.inboxes.iter().for_each(|inbox| _ = inbox.bench.unpark_after_fence());
    }

    /// Whether calls to the inbox are dropped because one has panicked.
    #[inline]
    pub(super) fn is_closed(&self, inbox: usize) -> bool {
        self.any_closed.load(Ordering::Relaxed) && self.inboxes[inbox].is_closed()
    }

    /// Whether no batch lies in the inbox, as far as one can tell without its lock.
    #[inline]
    pub(super) fn is_empty(&self, inbox: usize) -> bool {
        self.inboxes[inbox].is_empty()
    }

    /// Sends a batch. Returns an empty one to go on with.
    ///
    /// # Errors
    /// The batch, if the inbox is closed.
    pub(super) fn put(&self, inbox: usize, batch: Batch<A>) -> Result<Batch<A>, Batch<A>> {
        let (holder, empty) = self.inboxes[inbox].push(batch, &self.strays)?;
        // The sleep handshake of `Parker`: a batch that waits is the condition, and so is a stray
        // one.
        handshake_fence("put_fence");
        match holder {
            Holder::Worker(bench) => _ = self.inboxes[bench].bench.unpark_after_fence(),
            Holder::Nobody if planted("strays_wake_nobody") => _ = self.inboxes[inbox].bench.unpark_after_fence(),
            Holder::Nobody => self.wake_all(),
            Holder::Caller => {}
        }
        Ok(empty)
    }

    /// Makes `holder` the one who runs the calls of the inbox, if none is.
    fn hold(&self, inbox: usize, holder: Holder) -> bool {
        self.inboxes[inbox].hold(holder, &self.strays)
    }

    /// Runs on the caller's thread what lies in the loose inboxes, but for those that a worker has
    /// taken over, and in all if no worker takes part. To be called by the caller.
    pub(super) fn run_callers(&self, run: RunCalls<A>) {
        let first = if self.unattended.load(Ordering::Relaxed) { 0 } else { self.followers };
        self.run_by_halves(first..self.inboxes(), run);
    }

    /// As [`run_callers`](Self::run_callers), and what waits for workers that have not begun: there
    /// is nothing else left for the caller to do.
    pub(super) fn run_strays(&self, run: RunCalls<A>) {
        self.run_by_halves(0..self.inboxes(), run);
    }

    /// Runs what lies in half of these inboxes, then in half of the others, and so on: inboxes that
    /// are run together go nearly in the order of calls, in which what calls work on mostly lies in
    /// memory; those that wait are left to workers that are idle.
    fn run_by_halves(&self, inboxes: Range<usize>, run: RunCalls<A>) {
        let mut left = inboxes;
        while !left.is_empty() {
            let middle = left.start + left.len().div_ceil(2);
            while (left.start..middle).filter(|&inbox| self.run_if_callers(inbox, run)).count() > 0 {}
            left.start = middle;
        }
    }

    /// Runs a batch of an inbox that is the caller's, or has no holder yet. Whether there was one.
    fn run_if_callers(&self, inbox: usize, run: RunCalls<A>) -> bool {
        let is_callers =
            || self.hold(inbox, Holder::Caller) || self.inboxes[inbox].is_callers() || planted("callers_unclaimed");
        if self.is_empty(inbox) || !is_callers() {
            return false;
        }
        let batch = self.inboxes[inbox].take();
        batch.map(|batch| self.run(inbox, batch, run)).is_some()
    }

    /// Runs a batch. A panic closes the inbox: what lies there is dropped at once, by this thread,
    /// and so is what comes.
    fn run(&self, inbox: usize, mut batch: Batch<A>, run: RunCalls<A>) {
        self.drain(inbox, batch.drain(..), run);
        self.inboxes[inbox].give_back(batch);
    }

    fn drain(&self, inbox: usize, mut calls: Drain<'_, A>, run: RunCalls<A>) {
        let outcome = catch_unwind(AssertUnwindSafe(|| run(inbox, &mut calls)));
        if let Err(payload) = outcome {
            // First the hint: who finds the inbox closed has it.
            self.any_closed.store(true, Ordering::Relaxed);
            let queued = self.inboxes[inbox].close();
            self.panic.keep(payload);
            drop_each(calls.chain(queued.into_iter().flatten()), |payload| _ = self.panic.keep(payload));
        }
    }

    /// Runs the calls that come to one inbox, and to those that it takes over, until there will be
    /// no more. Returns for how many nanoseconds there were none.
    pub(crate) fn follow(&self, index: usize, run: RunCalls<A>) -> u64 {
        // The calls of an inbox whose holder is gone would wait for ever.
        let guard = AbortOnUnwind::because("a worker panicked outside of the calls that it runs");
        let mut held = Vec::new();
        if self.hold(index, Holder::Worker(index)) {
            held.push(index);
        }
        let mut idle = 0;
        loop {
            let news = self.news(index, &held).unwrap_or_else(|| {
                let began = now();
                let news = self.wait(index, &held);
                idle += now().saturating_sub(began);
                news
            });
            match news {
                News::Batch(inbox, batch) => {
                    self.run(inbox, batch, run);
                    // In turns, so that none keeps the others waiting.
                    held.rotate_left(1);
                }
                News::Inbox(inbox) => held.push(inbox),
                News::Strays => {}
                News::Over => break,
            }
        }
        guard.defuse();
        idle
    }

    fn wait(&self, index: usize, held: &[usize]) -> News<A> {
        let bench = &self.inboxes[index].bench;
        let news = || self.news(index, held);
        if let Some(news) = spin_until(self.spin, news) {
            return news;
        }
        if self.has_strays() {
            return bench.park_for(Duration::from_nanos(PATIENCE), news).unwrap_or(News::Strays);
        }
        bench.park(|| news().or_else(|| self.has_strays().then_some(News::Strays)))
    }

    fn news(&self, index: usize, held: &[usize]) -> Option<News<A>> {
        // Acquire: who sees the end sees the last batches too.
        let over = self.over.load(needed(Ordering::Acquire, "over_load"));
        let take = |&inbox: &usize| {
            let batch = if self.is_empty(inbox) { None } else { self.inboxes[inbox].take() };
            batch.map(|batch| News::Batch(inbox, batch))
        };
        held.iter().find_map(take).or_else(|| self.take_over(index, over)).or(over.then_some(News::Over))
    }

    /// Calls lie where no worker is.
    #[inline]
    fn has_strays(&self) -> bool {
        self.strays.load(Ordering::Relaxed) > 0
    }

    /// Takes over an inbox whose worker is left out or late: no thread waits for a worker that may
    /// never come. At the end none is waited for at all.
    fn take_over(&self, index: usize, over: bool) -> Option<News<A>> {
        if !self.has_strays() || planted("strays_left") {
            return None;
        }
        let is_overdue = |inbox: &Inbox<A>| over || inbox.overdue.load(Ordering::Relaxed) <= now();
        let mut strays = (0..self.inboxes()).filter(|&inbox| !self.is_empty(inbox) && is_overdue(&self.inboxes[inbox]));
        strays.find(|&inbox| self.hold(inbox, Holder::Worker(index))).map(News::Inbox)
    }
}

/// Drops calls that will not be run, one by one: a drop that panics keeps none of the others from
/// being dropped.
pub(super) fn drop_each<A>(calls: impl Iterator<Item = A>, mut panicked: impl FnMut(Payload)) {
    for argument in calls {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(argument))) {
            panicked(payload);
        }
    }
}
