//! What a thread finds when it starts a parallel call: whether it is inside of one, and else, in a
//! tagged system, the mode, the pool and the placement.
//!
//! `world.rs` has the context of a world, made anew with the settings and the cores; `thread.rs`
//! what the system that runs on a thread was given of it, and what else holds of a thread for a
//! while.

mod thread;
mod world;

pub(crate) use thread::{
    Raised, SystemContext, SystemScope, enter, enter_nothing, in_bevys_batches, is_by_itself, is_inside_call,
    with_system,
};
pub(crate) use world::WorldContext;

use std::{
    ops::Range,
    sync::{Arc, Mutex, MutexGuard},
};

use crossbeam_utils::CachePadded;

use crate::{
    auto::{SiteRegistry, WakeUps},
    claims::ClaimBoard,
    placement::{Footprints, Placement},
    pool::{AffinityPool, worker_of_round},
    record::{Recorder, Span, SpanKind, SystemTiming, SystemTimings},
    settings::{AffinitySettings, SchedulerMode},
    sync::{lock, try_lock},
    topology::Topology,
};

/// Whose the rows of a world are: by placement, and chunk by chunk while they are swept.
pub(crate) struct Ownership {
    pub(crate) placement: Placement,
    /// For sweeps in which workers that are done help others.
    pub(crate) claims: ClaimBoard,
    /// For sweeps that do not go by owner.
    pub(crate) footprints: Footprints,
}

impl Ownership {
    fn new(workers: usize) -> Self {
        Self { placement: Placement::new(workers), claims: ClaimBoard::new(workers), footprints: Footprints::default() }
    }
}

/// All that the tagged systems of one world share, for as long as the settings and the cores stay
/// as they are.
pub(crate) struct Context {
    settings: AffinitySettings,
    pub(crate) pool: AffinityPool,
    /// Workers read it while the leader holds the lock: on cache lines of its own, and the lock on
    /// another.
    ownership: CachePadded<Mutex<CachePadded<Ownership>>>,
    /// The tagged systems that have run, of all contexts of the world.
    pub(crate) systems: Arc<SystemTimings>,
    pub(crate) recorder: Arc<Recorder>,
    /// The places that start parallel calls in mode `Auto`, of all contexts of the world.
    pub(crate) sites: Arc<SiteRegistry>,
    /// Which of their calls woke the workers. Written in each call on the gang: on cache lines of
    /// its own.
    pub(crate) wake_ups: CachePadded<WakeUps>,
}

impl Context {
    fn new(
        settings: &AffinitySettings,
        topology: Arc<Topology>,
        systems: Arc<SystemTimings>,
        recorder: Arc<Recorder>,
        sites: Arc<SiteRegistry>,
    ) -> Self {
        let pool = AffinityPool::recorded(settings, topology, recorder.clone());
        Self {
            settings: settings.clone(),
            systems,
            ownership: CachePadded::new(Mutex::new(CachePadded::new(Ownership::new(pool.workers())))),
            recorder,
            sites,
            wake_ups: CachePadded::default(),
            pool,
        }
    }

    /// The most rows that a closure is given in one go where rows come in slices, or change hands
    /// by fork/join.
    #[inline]
    pub(crate) fn most_rows_at_once(&self) -> usize {
        self.settings.chunk_rows.max(1)
    }

    /// Whose all rows are. A panic in a round leaves that consistent.
    pub(crate) fn ownership(&self) -> MutexGuard<'_, CachePadded<Ownership>> {
        lock(&self.ownership)
    }

    /// [`ownership`](Self::ownership), for who must not wait. A call has it locked while code of
    /// users runs, which may help Bevy's threads, and so come to any other system on the same
    /// thread.
    pub(crate) fn try_ownership(&self) -> Option<MutexGuard<'_, CachePadded<Ownership>>> {
        try_lock(&self.ownership)
    }

    /// Notes when a tagged system ran on this thread.
    #[inline]
    pub(crate) fn record_system(&self, system: &Arc<SystemTiming>, run: Range<u64>) {
        let worker = worker_of_round();
        if self.recorder.recording().is_on() {
            let number = worker.unwrap_or(0);
            let span = Span::of_caller(SpanKind::System, Some(system.number()), run.clone());
            self.recorder.write(|spans| spans.push(Span { worker: number, share_of: number, ..span }));
        }
        self.systems.note(worker, system, &run);
    }

    /// Counts a run of a tagged system on this thread, and its time, if that is not another one's.
    #[inline]
    pub(crate) fn count_system(&self, mode: SchedulerMode, nanoseconds: u64) {
        self.systems.count(worker_of_round(), mode, nanoseconds);
    }
}

/// [`most_rows_at_once`](Context::most_rows_at_once) of the tagged system that runs here, or the
/// default where none does: asked where a system gets its parameters, since workers that run
/// closures of its calls are in none.
#[inline]
pub(crate) fn longest_chunk() -> usize {
    with_system(|system| system.context.most_rows_at_once()).unwrap_or(AffinitySettings::DEFAULT_CHUNK_ROWS)
}
