//! The threads behind every pool: one gang per process, shared, grown when a pool asks for more,
//! joined when the last is gone.

use std::{
    cell::Cell,
    io,
    num::NonZeroU16,
    sync::{Arc, Mutex, OnceLock, Weak},
    thread::{self, JoinHandle},
};

use crossbeam_utils::CachePadded;
use log::warn;

use super::{
    AffinityPool, WorkerIndex,
    clock::now,
    eviction::{Eviction, WorkerEviction},
    pinning::{Before, PinState, Unpinned, pin},
    round::{Board, Seat, work},
    unwind::AbortOnUnwind,
};
use crate::{
    settings::Pinning,
    sync::{get_mut, lock},
    topology::{CoreId, ThreadNumber, Topology, current_core, current_thread},
};

/// Stack of a worker thread, in bytes. Recursion that fits the main thread's stack (8 MiB on Linux)
/// must not overflow because another worker took a part of it; pages that are not used cost
/// nothing.
const WORKER_STACK: usize = if cfg!(target_pointer_width = "64") { 64 << 20 } else { 8 << 20 };

/// After a thread could not be started the next one is tried this many nanoseconds later: a pool
/// made anew in every frame does not try in every frame.
const NEXT_TRY: u64 = 10_000_000_000;

/// A seat, shared by the gang, its thread and the pools.
pub(super) type SharedSeat = Arc<GangSeat>;

/// A seat, and what the leader keeps in mind of who sits there.
#[derive(Default)]
pub(super) struct GangSeat {
    /// Its side of the protocol of rounds.
    pub(super) round: CachePadded<Seat>,
    pub(super) eviction: CachePadded<WorkerEviction>,
    /// Of the worker; written once, when its thread begins.
    pub(super) thread: OnceLock<ThreadNumber>,
}

/// The worker threads of this process.
pub(super) struct Gang {
    pub(super) board: Arc<CachePadded<Board>>,
    pub(super) eviction: Eviction,
    members: Mutex<Members>,
}

/// The threads, by worker index without the leader.
#[derive(Default)]
struct Members {
    list: Vec<Member>,
    /// When the system last refused to start a thread.
    refused: Option<u64>,
}

struct Member {
    seat: SharedSeat,
    thread: JoinHandle<()>,
}

/// What a thread of the gang knows of itself. Eight bytes: each round notes and restores it on the
/// leader, and workers look here before each call.
#[derive(Clone, Copy)]
pub(super) struct Identity {
    index: u16,
    /// One more than the number of the core it is pinned to, if it is.
    core: Option<NonZeroU16>,
    /// What it was last pinned by; nothing on the leader and on new threads.
    pin_state: Option<PinState>,
}

const _: () = assert!(size_of::<Option<Identity>>() == 8 && AffinityPool::MAX_WORKERS <= u16::MAX as usize);

impl Identity {
    /// Of a thread that was not pinned yet.
    const fn new(index: WorkerIndex) -> Self {
        Self { index: index.0 as u16, core: None, pin_state: None }
    }

    #[inline]
    pub(super) fn index(self) -> WorkerIndex {
        WorkerIndex(self.index.into())
    }

    /// The core it is pinned to, if it is.
    #[inline]
    pub(super) fn core(self) -> Option<CoreId> {
        self.core.map(|core| CoreId(usize::from(core.get()) - 1))
    }

    /// Pinned as `pin_state` says: to `core`, if to one.
    fn pinned(self, pin_state: PinState, core: Option<CoreId>) -> Self {
        // No system has as many cores as to leave one out here.
        let core = core.and_then(|core| NonZeroU16::new(u16::try_from(core.0 + 1).ok()?));
        Self { pin_state: Some(pin_state), core, ..self }
    }
}

thread_local! {
    /// Set while this thread is a worker: always on the gang's threads, during a round on the
    /// leader.
    static IDENTITY: Cell<Option<Identity>> = const { Cell::new(None) };
}

/// Who this thread is, if it is a worker now.
#[inline]
pub(super) fn identity() -> Option<Identity> {
    IDENTITY.get()
}

/// Whether the calling thread is inside a round.
#[inline]
pub(crate) fn in_round() -> bool {
    identity().is_some()
}

/// Which worker the calling thread is, if it is inside a round.
#[inline]
pub(crate) fn worker_of_round() -> Option<usize> {
    identity().map(|me| me.index().0)
}

/// The core that the calling thread runs on: known without a call if it is pinned.
pub(crate) fn running_on() -> Option<CoreId> {
    identity().and_then(Identity::core).or_else(current_core)
}

/// Makes the calling thread worker 0 until it is dropped, unless it is a worker already.
pub(super) struct LeaderGuard {
    before: Option<Identity>,
}

impl LeaderGuard {
    #[inline]
    pub(super) fn enter() -> Self {
        const LEADER: Identity = Identity::new(WorkerIndex::LEADER);
        let before = IDENTITY.get();
        IDENTITY.set(Some(before.unwrap_or(LEADER)));
        Self { before }
    }
}

impl Drop for LeaderGuard {
    #[inline]
    fn drop(&mut self) {
        IDENTITY.set(self.before);
    }
}

impl Gang {
    /// The gang of this process, started by the first who asks.
    pub(super) fn shared() -> Arc<Self> {
        static GANG: Mutex<Weak<Gang>> = Mutex::new(Weak::new());
        let mut gang = lock(&GANG);
        gang.upgrade().unwrap_or_else(|| {
            let started =
                Arc::new(Self { board: Arc::default(), eviction: Eviction::default(), members: Mutex::default() });
            *gang = Arc::downgrade(&started);
            started
        })
    }

    /// The seats of workers 1 to `workers - 1`; fewer if threads cannot be started, with one
    /// warning.
    pub(super) fn seats(&self, workers: usize, pinning: Pinning, topology: &Arc<Topology>) -> Arc<[SharedSeat]> {
        let mut members = lock(&self.members);
        let refused = self.start_missing(&mut members, workers, pinning, topology);
        let seats: Arc<[_]> = members.list.iter().take(workers - 1).map(|member| member.seat.clone()).collect();
        drop(members);
        // Not under the lock: a logger may make a pool of its own.
        if let Some(error) = refused {
            let had = seats.len() + 1;
            warn!("bevy_affinity: cannot start worker {had} of {workers} ({error}); going on with {had}");
        }
        seats
    }

    /// The numbers of its threads, where the system tells.
    pub(super) fn threads(&self) -> Vec<ThreadNumber> {
        lock(&self.members).list.iter().filter_map(|member| member.seat.thread.get().copied()).collect()
    }

    /// Starts the threads that are missing, until one cannot be started. The first time that
    /// happens the error is returned.
    fn start_missing(
        &self,
        members: &mut Members,
        workers: usize,
        pinning: Pinning,
        topology: &Arc<Topology>,
    ) -> Option<io::Error> {
        if members.refused.is_some_and(|refused| now().saturating_sub(refused) < NEXT_TRY) {
            return None;
        }
        while members.list.len() + 1 < workers {
            match self.start_member(WorkerIndex(members.list.len() + 1), pinning, topology.clone()) {
                Ok(member) => members.list.push(member),
                Err(error) => return members.refused.replace(now()).is_none().then_some(error),
            }
        }
        None
    }

    fn start_member(&self, index: WorkerIndex, pinning: Pinning, topology: Arc<Topology>) -> io::Result<Member> {
        let seat = SharedSeat::default();
        let (board, own_seat) = (self.board.clone(), seat.clone());
        // Read here, so that no round is missed between this line and the thread's first look.
        let seen = board.epoch();
        let builder = thread::Builder::new().name(format!("affinity worker {}", index.0)).stack_size(WORKER_STACK);
        let thread = builder.spawn(move || {
            let guard = AbortOnUnwind::because("a worker panicked outside of a round's closure");
            IDENTITY.set(Some(Identity::new(index)));
            if let Some(thread) = current_thread() {
                // The first and only time.
                let _ = own_seat.thread.set(thread);
            }
            keep_pinned(PinState::new(pinning, &topology), &topology);
            drop(topology);
            work(&board, &own_seat.round, index.0, seen);
            guard.defuse();
        })?;
        Ok(Member { seat, thread })
    }
}

impl Drop for Gang {
    fn drop(&mut self) {
        let Members { list: members, .. } = std::mem::take(get_mut(&mut self.members));
        // Rounds borrow a pool, and pools own the gang: no thread leads any more.
        if let Some(mut lead) = self.board.try_lead() {
            lead.stop(members.iter().map(|member| &*member.seat.round));
        }
        for member in members {
            // A thread cannot join itself: a pool dropped on a worker leaves that thread to end by
            // itself.
            if member.thread.thread().id() != thread::current().id() {
                // A worker does not unwind; there is nothing to learn here.
                let _ = member.thread.join();
            }
        }
    }
}

/// Moves the calling worker thread to where `pin_state` wants it, on the cores of `topology`, if it
/// is not there yet. The leader is left alone.
#[inline]
pub(super) fn keep_pinned(pin_state: PinState, topology: &Topology) {
    if let Some(identity) = IDENTITY.get()
        && identity.pin_state != Some(pin_state)
        && identity.index() != WorkerIndex::LEADER
    {
        pin_again(identity, pin_state, topology);
    }
}

#[cold]
#[inline(never)]
fn pin_again(identity: Identity, pin_state: PinState, topology: &Topology) {
    let before = if identity.pin_state.is_none() { Before::New } else { Before::PinnedTo(identity.core()) };
    let core = pin(identity.index(), pin_state.pinning, topology, before);
    IDENTITY.set(Some(identity.pinned(pin_state, core)));
}

/// Says once why workers are not pinned as the settings say, but not inside of a round. To be
/// called outside of all locks: a logger may call the pool, and sweep.
#[inline]
pub(crate) fn warn_if_unpinned() {
    if let Some(unpinned) = Unpinned::first()
        && identity().is_none()
    {
        unpinned.warn();
    }
}
