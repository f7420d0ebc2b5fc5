//! The lock-step protocol: one leader and its gang run one job each, then meet. See `README.md`
//! beside this file for the states, the orderings and a proof sketch; `tests/loom/rounds.rs` checks
//! this very file, and that it finds the faults that are `planted`, which are in no other build.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use crossbeam_utils::CachePadded;

use super::{
    clock::nanoseconds,
    parker::Parker,
    round_job::RoundJob,
    spin::spin_until,
    unwind::{AbortOnUnwind, FirstPanic, Payload},
    words::{AtomicCall, AtomicEpoch, AtomicParticipants, Baton, Call, Epoch, LastRoundStats, Participants},
};
use crate::sync::{AtomicBool, AtomicU64, CellAccess, Ordering, UnsafeCell, handshake_fence, needed, planted};

/// How long the leader waits for a worker that is awake but has not started, before it runs that
/// worker's index itself. Some ten cache-line transfers: a hot worker starts within one or two, a
/// preempted one not for milliseconds.
const START_GRACE: Duration = Duration::from_micros(5);

/// How long the leader spins for workers that have started before it blocks. Beyond two wake-ups
/// spinning gains nothing.
const ARRIVAL_SPIN: Duration = Duration::from_micros(100);

/// What leader and workers share: the call, the job behind it, and the leader's place to sleep.
///
/// # Invariant (job)
/// [`Order::job`] is written only by the thread that holds the [`Lead`], between two rounds. It is
/// read only by a thread that claimed a seat of the round in [`Order::call`]. A round ends only
/// when each seat that a worker claimed has arrived, and every seat is claimed exactly once, by its
/// worker or by the leader (which has those that are not called before the round begins); so no
/// read outlives the round, and the erased lifetime of the job is never exceeded. Nor does the
/// leader leave the round by unwinding: [`AbortOnUnwind`] is held from before the job is written
/// until the round has ended.
#[derive(Default)]
pub(crate) struct Board {
    order: CachePadded<Order>,
    /// Only leaders look here, so that taking the lead is no cache miss. To read the last round
    /// from [`Order`] would be one where a processor leaves a line to who reads it: workers have.
    baton: CachePadded<Baton>,
    leader: Parker,
    panicked: AtomicBool,
    panic: FirstPanic,
    /// Rounds so far that called a worker out of its sleep. Relaxed: a count.
    wake_ups: AtomicU64,
}

/// What the leader writes in every round. One cache line: a worker that sees the call has the rest
/// too.
#[derive(Default)]
struct Order {
    call: AtomicCall,
    job: UnsafeCell<Option<RoundJob<'static>>>,
    /// Whom the round calls. A hint that spares the others a claim, which could not succeed: a
    /// worker that is late may see that of the next round.
    participants: AtomicParticipants,
    /// How long a worker that was called stays hot after the round, in nanoseconds; others no
    /// longer.
    spin: AtomicU64,
}

/// More than that would be one cache miss more for each worker in each round.
#[cfg(not(affinity_loom))]
const _: () = assert!(size_of::<Order>() <= 64);

impl Order {
    /// Acquire: pairs with the leader's release, so that the job is visible to who claims a seat.
    #[inline]
    fn call(&self) -> (Epoch, Call) {
        self.call.load(needed(Ordering::Acquire, "call_load"))
    }

    /// Whether `call`, which was just read, is for the worker `index`.
    #[inline]
    fn is_for(&self, index: usize, call: Call) -> bool {
        match call {
            Call::Round { workers } => index < usize::from(workers) && self.participants.load().has(index),
            Call::Stop => true,
        }
    }

    /// How long workers of the last round stay hot. Relaxed: a hint; one that is late may see that
    /// of the next round.
    #[inline]
    fn spin(&self) -> Duration {
        Duration::from_nanos(self.spin.load(Ordering::Relaxed))
    }
}

// SAFETY: 'job' on the type: the one field that is not `Sync`, the order's `job`, is never read
// while it is written.
unsafe impl Sync for Board {}
// SAFETY: what a job points to is `Sync` ('borrows' on `RoundJob`), so the thread that reads the
// pointers may be any.
unsafe impl Send for Board {}

/// One worker's side of the protocol, on cache lines that only it and the leader touch.
#[derive(Default)]
pub(crate) struct Seat {
    /// The last round in which the seat was claimed: by its worker, or by the leader, also where
    /// the worker is not called. On a line of its own: a leader that is waiting does not look here,
    /// so the worker claims without a cache miss.
    claimed: CachePadded<AtomicEpoch>,
    leaders: CachePadded<LeadersNotes>,
    /// The last round in which the worker's index was finished: an older one than the board's while
    /// it is not called.
    arrived: AtomicEpoch,
    /// Beside `arrived`, which the leader looks at anyway.
    pub(super) stats: LastRoundStats,
    parker: Parker,
}

/// What the leader alone writes of a seat.
#[derive(Default)]
struct LeadersNotes {
    /// The last round that the worker was left out of: the leader claimed its seat before it
    /// called. Written before the call.
    reserved: AtomicEpoch,
    /// The last round in which the leader ran the worker's index.
    taken: AtomicEpoch,
    /// Whether the worker is to sleep as soon as it has nothing to do. Relaxed: a hint, as the time
    /// to stay hot is.
    rests: AtomicBool,
}

/// The right to lead the gang: who holds it is the only leader, so rounds cannot overlap.
pub(crate) struct Lead<'a> {
    board: &'a Board,
    epoch: Epoch,
    /// The last round in which this thread ran the index of another worker.
    took_any: Cell<Epoch>,
}

impl Drop for Lead<'_> {
    #[inline]
    fn drop(&mut self) {
        self.board.baton.give_back(self.epoch, needed(Ordering::Release, "led_given_back"));
    }
}

impl Board {
    /// How many rounds so far called a worker out of its sleep.
    #[inline]
    pub(crate) fn wake_ups(&self) -> u64 {
        self.wake_ups.load(Ordering::Relaxed)
    }

    /// The lead, unless another thread holds it.
    #[inline]
    pub(crate) fn try_lead(&self) -> Option<Lead<'_>> {
        let epoch = self.baton.take(needed(Ordering::Acquire, "led_taken"))?;
        Some(Lead { board: self, epoch, took_any: Cell::default() })
    }

    /// The call that a new worker starts from: it answers later ones only.
    pub(crate) fn epoch(&self) -> Epoch {
        self.order.call.load(Ordering::Relaxed).0
    }

    fn keep_panic(&self, payload: Payload) {
        if self.panic.keep(payload) {
            // Relaxed: published by the arrival that follows.
            self.panicked.store(true, Ordering::Relaxed);
        }
    }

    #[inline]
    fn take_panic(&self) -> Option<Payload> {
        if !self.panicked.load(Ordering::Relaxed) {
            return None;
        }
        self.panicked.store(false, Ordering::Relaxed);
        self.panic.take()
    }

    #[inline]
    fn run_index(&self, job: &RoundJob<'_>, index: usize) {
        if planted("workers_panic_uncaught") && index > 0 {
            return job.call(index);
        }
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| job.call(index))) {
            self.keep_panic(payload);
        }
    }
}

impl Seat {
    /// Claims the seat of a worker that is to be left out of the round `epoch`. To be called by the
    /// leader before another thread knows of that round.
    fn reserve(&self, epoch: Epoch) {
        if planted("left_out_unclaimed") || self.claim(epoch) {
            self.leaders.reserved.store(epoch, Ordering::Relaxed);
        }
    }

    /// Whether the leader claimed this seat before it called. Relaxed: written before `call`; a
    /// worker that is late may see a later round's, and only parks too soon or spins once too
    /// often.
    #[inline]
    fn is_reserved(&self, epoch: Epoch) -> bool {
        self.leaders.reserved.load(Ordering::Relaxed) == epoch
    }

    /// Has the worker sleep from now on as soon as it has nothing to do, or not any more. To be
    /// called by the leader.
    pub(crate) fn let_rest(&self, rests: bool) {
        self.leaders.rests.store(rests, Ordering::Relaxed);
    }

    /// Whether the worker is to sleep as soon as it has nothing to do.
    #[inline]
    pub(crate) fn rests(&self) -> bool {
        self.leaders.rests.load(Ordering::Relaxed)
    }

    /// Whether the worker is about to sleep, or sleeps.
    #[inline]
    pub(crate) fn is_asleep(&self) -> bool {
        self.parker.is_asleep()
    }

    /// Whether the worker sleeps, and was not called since.
    #[inline]
    pub(crate) fn is_to_be_woken(&self) -> bool {
        self.parker.is_to_be_woken()
    }

    /// True for the one thread that may run this seat's index in the round `epoch`.
    ///
    /// Relaxed: being one atomic read-modify-write makes the winner unique, and both contenders
    /// know the job already (the leader wrote it, the worker acquired [`Order::call`]). A worker
    /// that still looks at an older call loses, because the leader raised the value past it.
    #[inline]
    fn claim(&self, epoch: Epoch) -> bool {
        self.claimed.raise_to(epoch, Ordering::Relaxed)
    }

    /// Acquire: pairs with the worker's release, so that what the worker wrote in the round is
    /// visible after it.
    #[inline]
    fn has_arrived(&self, epoch: Epoch) -> bool {
        self.arrived.load(needed(Ordering::Acquire, "arrived_load")) >= epoch
    }
}

/// What a worker does: waits for calls, runs its index, arrives; until it is told to stop. It does
/// not unwind: a leader would wait for its arrival for ever.
pub(crate) fn work(board: &Board, seat: &Seat, index: usize, seen: Epoch) {
    let guard = AbortOnUnwind::because("a worker panicked outside of a round's closure");
    let mut seen = seen;
    let mut spin = Duration::ZERO;
    loop {
        let (epoch, call) = next_call(board, seat, index, seen, spin);
        seen = epoch;
        if call == Call::Stop {
            return guard.defuse();
        }
        if seat.claim(epoch) {
            run_claimed(board, index);
            arrive(board, seat, epoch);
        }
        // A worker that was called stays hot, also when it came too late: the next round may be
        // near. Not one that is left out, or rests.
        let is_to_sleep = seat.is_reserved(epoch) || seat.rests();
        spin = if is_to_sleep { Duration::ZERO } else { board.order.spin() };
    }
}

fn run_claimed(board: &Board, index: usize) {
    // SAFETY: 'job' on `Board`: this thread claimed a seat of the round, which does not end before
    // the seat has arrived; so the job may be called until then ('borrows' on `RoundJob`).
    let Some(job) = board.order.job.with(|job| unsafe { *job }) else { return };
    board.run_index(&job, index);
}

/// What the board says that a worker has not seen yet.
enum News {
    /// It is called.
    Called(Epoch, Call),
    /// Others are.
    OfOthers,
}

/// The next call for this worker. A call for other workers never lengthens this worker's spin, but
/// may shorten it: a smaller pool that asks for less never calls the rest to say so.
fn next_call(board: &Board, seat: &Seat, index: usize, seen: Epoch, spin: Duration) -> (Epoch, Call) {
    let (mut seen, mut spin) = (seen, spin);
    let mut news = || {
        let (epoch, call) = board.order.call();
        let is_new = epoch > seen;
        seen = epoch;
        is_new.then(|| if board.order.is_for(index, call) { News::Called(epoch, call) } else { News::OfOthers })
    };
    loop {
        let shortens = |heard: &News| matches!(heard, News::Called(..)) || board.order.spin() < spin;
        match spin_until(spin, || news().filter(shortens)) {
            Some(News::Called(epoch, call)) => return (epoch, call),
            Some(News::OfOthers) => spin = spin.min(board.order.spin()),
            None => break,
        }
    }
    seat.parker.park(|| match news() {
        Some(News::Called(epoch, call)) => Some((epoch, call)),
        _ => None,
    })
}

fn arrive(board: &Board, seat: &Seat, epoch: Epoch) {
    seat.arrived.store(epoch, needed(Ordering::Release, "arrived_store"));
    // The sleep handshake of `Parker`: the arrival is the condition.
    handshake_fence("arrive_fence");
    board.leader.unpark_after_fence();
}

/// The seats of the workers that are called, with their indices: the first of all seats is index 1.
fn called<'a>(
    seats: impl Iterator<Item = &'a Seat>,
    participants: Participants,
) -> impl Iterator<Item = (&'a Seat, usize)> {
    seats.zip(1..).filter(move |&(_, index)| participants.has(index) || planted("uncalled_awaited"))
}

impl Lead<'_> {
    /// Runs `job` once for index 0 and once for the index of each seat (the first seat is index 1)
    /// that `participants` has, and returns when all are done. Workers that were called stay hot
    /// for `spin` afterwards; those that are `left_out` are not woken, and this thread runs their
    /// indices.
    ///
    /// The job comes by reference: what was just written word by word, a copy would read in pairs,
    /// for which a processor waits some 5 ns.
    ///
    /// # Errors
    /// The payload of the first panic, after all others have finished.
    #[inline(always)]
    pub(crate) fn run<'a, S>(
        &mut self,
        seats: S,
        participants: Participants,
        left_out: impl Fn(usize) -> bool,
        spin: Duration,
        job: &RoundJob<'_>,
    ) -> Result<(), Payload>
    where
        S: ExactSizeIterator<Item = &'a Seat> + Clone,
    {
        let guard = AbortOnUnwind::because("a panic would leave a round that workers are still in");
        self.publish(seats.clone(), participants, left_out, spin, job);
        self.board.run_index(job, 0);
        if planted("leaders_panic_lost") {
            drop(self.board.take_panic());
        }
        self.take_over_sleepers(seats.clone(), participants, job);
        for (seat, index) in called(seats, participants).filter(|_| !planted("leader_leaves_early")) {
            self.finish_seat(seat, index, job);
        }
        let panic = self.board.take_panic();
        guard.defuse();
        panic.map_or(Ok(()), Err)
    }

    fn publish<'a, S>(
        &mut self,
        seats: S,
        participants: Participants,
        left_out: impl Fn(usize) -> bool,
        spin: Duration,
        job: &RoundJob<'_>,
    ) where
        S: ExactSizeIterator<Item = &'a Seat> + Clone,
    {
        let order = &self.board.order;
        self.epoch = self.epoch.successor();
        let workers = seats.len() as u16 + 1;
        self.claim_absent(seats.clone(), participants, left_out);
        // With nothing else between the stores from here to that of the call: workers that spin
        // fetch the line twice, after the first of them and after the last.

        // SAFETY: 'job' on `Board`: every use is within the borrows, also if something panics.
        let job = unsafe { job.erased() };
        // SAFETY: 'job' on `Board`: this thread holds the lead and the last round has ended.
        order.job.with_mut(|slot| unsafe { *slot = Some(job) });
        order.participants.store(participants);
        order.spin.store(nanoseconds(spin), Ordering::Relaxed);
        // Release: the job is visible to a thread that acquires the call.
        order.call.store(self.epoch, Call::Round { workers }, needed(Ordering::Release, "call_store"));
        // The sleep handshake of `Parker`, one fence for all sleepers: the call is the condition.
        handshake_fence("publish_fence");
        self.wake(seats, participants);
    }

    /// Claims the seats of those that are not to take part in a round that no other thread knows
    /// of yet.
    #[inline]
    fn claim_absent<'a>(
        &self,
        seats: impl Iterator<Item = &'a Seat>,
        participants: Participants,
        left_out: impl Fn(usize) -> bool,
    ) {
        for (seat, index) in seats.zip(1..) {
            if !participants.has(index) && !planted("uncalled_unclaimed") {
                seat.claim(self.epoch);
            } else if left_out(index) {
                seat.reserve(self.epoch);
            }
        }
    }

    /// Wakes those of the workers that are called that sleep. To be called behind a
    /// [`handshake_fence`].
    #[inline]
    fn wake<'a>(&self, seats: impl Iterator<Item = &'a Seat>, participants: Participants) {
        let to_wake = called(seats, participants)
            .filter(|(seat, _)| !self.has_reserved(seat) && !planted("publish_wakes_nobody"));
        let mut any_woken = false;
        for (seat, _) in to_wake {
            any_woken |= seat.parker.unpark_after_fence();
        }
        if any_woken {
            self.board.wake_ups.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether this thread claimed the seat before the last round began, to leave its worker out.
    #[inline]
    pub(crate) fn has_reserved(&self, seat: &Seat) -> bool {
        seat.is_reserved(self.epoch)
    }

    /// Whether this thread ran the seat's index in the last round: left out, asleep or late.
    #[inline]
    pub(crate) fn has_taken(&self, seat: &Seat) -> bool {
        seat.leaders.taken.load(Ordering::Relaxed) == self.epoch
    }

    /// Whether this thread ran any seat's index in the last round.
    #[inline]
    pub(crate) fn has_taken_any(&self) -> bool {
        self.took_any.get() == self.epoch
    }

    /// Runs the indices of workers that are left out, and of those that are still asleep: their
    /// wake-up is under way but takes longer than most rounds. Who is left out was settled before
    /// the call: one that is found to be away since then may still run its index.
    #[inline]
    fn take_over_sleepers<'a>(
        &self,
        seats: impl Iterator<Item = &'a Seat>,
        participants: Participants,
        job: &RoundJob<'_>,
    ) {
        for (seat, index) in called(seats, participants) {
            if self.has_reserved(seat)
                || seat.parker.is_asleep() && (planted("sleepers_unclaimed") || seat.claim(self.epoch))
            {
                self.run_taken(seat, index, job);
            }
        }
    }

    /// Waits for a worker that started; runs the index of one that did not.
    #[inline]
    fn finish_seat(&self, seat: &Seat, index: usize, job: &RoundJob<'_>) {
        let arrived = || seat.has_arrived(self.epoch).then_some(());
        if spin_until(START_GRACE, arrived).is_some() {
            return;
        }
        if seat.claim(self.epoch) {
            return self.run_taken(seat, index, job);
        }
        spin_until(ARRIVAL_SPIN, arrived).unwrap_or_else(|| self.board.leader.park(arrived));
    }

    fn run_taken(&self, seat: &Seat, index: usize, job: &RoundJob<'_>) {
        self.board.run_index(job, index);
        self.took_any.set(self.epoch);
        seat.stats.clear();
        seat.leaders.taken.store(self.epoch, Ordering::Relaxed);
        // Relaxed: only the leader itself reads this arrival, and the worker may not write one for
        // a round it lost.
        seat.arrived.store(self.epoch, Ordering::Relaxed);
    }

    /// Ends the threads of the gang; to be followed by joining them.
    pub(crate) fn stop<'a>(&mut self, seats: impl Iterator<Item = &'a Seat>) {
        self.epoch = self.epoch.successor();
        self.board.order.call.store(self.epoch, Call::Stop, Ordering::Release);
        handshake_fence("stop_fence");
        seats.for_each(|seat| _ = seat.parker.unpark_after_fence());
    }
}
