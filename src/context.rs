//! What a thread finds when it starts a parallel call: whether it is inside of one, and else, in a
//! tagged system, the mode, the pool and the placement.

use std::{
    cell::{Cell, RefCell},
    mem::ManuallyDrop,
    ops::Range,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicUsize, Ordering},
    },
};

use bevy_ecs::prelude::Resource;
use crossbeam_utils::CachePadded;

use crate::{
    auto::SiteRegistry,
    claims::ClaimBoard,
    placement::{Footprints, Placement},
    pool::{AffinityPool, in_round, worker_of_round},
    record::{Recorder, Running, Span, SpanKind, SystemTiming, SystemTimings},
    settings::{AffinitySettings, SchedulerMode},
    sync::{lock, try_lock},
    topology::Topology,
};

/// Whose the rows of a world are: by placement, and chunk by chunk while they are swept.
pub(crate) struct Ownership {
    pub(crate) placement: Placement,
    /// For sweeps in which workers that are done help others.
    pub(crate) board: ClaimBoard,
    /// For sweeps that do not go by owner.
    pub(crate) footprints: Footprints,
}

impl Ownership {
    fn new(workers: usize) -> Self {
        Self { placement: Placement::new(workers), board: ClaimBoard::new(workers), footprints: Footprints::default() }
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
            pool,
        }
    }

    /// The most rows that a closure is given in one go where rows come in slices, or change hands
    /// by fork/join.
    pub(crate) fn longest_piece(&self) -> usize {
        self.settings.chunk_rows.max(1)
    }

    /// Whose all rows are. A panic in a round leaves that consistent, so poison is ignored.
    pub(crate) fn ownership(&self) -> MutexGuard<'_, CachePadded<Ownership>> {
        lock(&self.ownership)
    }

    /// [`ownership`](Self::ownership), for who must not wait. A call has it locked while code of
    /// users runs, which may help Bevy's threads, and so come to any other system on the same
    /// thread.
    pub(crate) fn try_ownership(&self) -> Option<MutexGuard<'_, CachePadded<Ownership>>> {
        try_lock(&self.ownership)
    }

    /// Notes a run of a tagged system on this thread.
    pub(crate) fn record_system(&self, system: &Arc<SystemTiming>, run: Range<u64>) {
        let worker = worker_of_round();
        if self.recorder.recording().is_on() {
            let number = worker.unwrap_or(0);
            let span = Span::of_caller(SpanKind::System, Some(system.number()), run.clone());
            self.recorder.write(|spans| spans.push(Span { worker: number, share_of: number, ..span }));
        }
        self.systems.note(worker, system, run);
    }

    /// Notes a run that was not timed, and is taken to have been this long.
    pub(crate) fn count_system(&self, nanoseconds: u64) {
        self.systems.count(worker_of_round(), nanoseconds);
    }
}

/// The context of one world, made anew whenever the settings or the cores differ from those it was
/// made with.
#[derive(Resource)]
pub(crate) struct WorldContext {
    context: Mutex<Arc<Context>>,
    /// Where the context is: a system that holds one finds out without the lock whether it is still
    /// the one, on a line that is seldom written. Only ever compared, so all accesses are relaxed.
    address: AtomicUsize,
}

impl WorldContext {
    pub(crate) fn new(settings: &AffinitySettings, topology: Arc<Topology>) -> Self {
        let context = Arc::new(Context::new(settings, topology, Arc::default(), Arc::default(), Arc::default()));
        Self { address: AtomicUsize::new(Arc::as_ptr(&context).addr()), context: Mutex::new(context) }
    }

    /// Whether `known` is the context for `settings`; where there are none the last ones hold.
    fn is(&self, known: &Arc<Context>, settings: Option<&AffinitySettings>) -> bool {
        Arc::as_ptr(known).addr() == self.address.load(Ordering::Relaxed)
            && settings.is_none_or(|settings| known.settings == *settings)
    }

    /// The context for `settings`; the old one lives on until the calls that use it are over.
    pub(crate) fn for_settings(&self, settings: &AffinitySettings) -> Arc<Context> {
        self.follow(settings, None)
    }

    /// The context for `settings` on the cores of `topology`.
    pub(crate) fn for_cores(&self, settings: &AffinitySettings, topology: &Arc<Topology>) -> Arc<Context> {
        self.follow(settings, Some(topology))
    }

    fn follow(&self, settings: &AffinitySettings, topology: Option<&Arc<Topology>>) -> Arc<Context> {
        let mut context = self.lock();
        if context.settings != *settings
            || topology.is_some_and(|topology| context.pool.is_outdated(settings, topology))
        {
            let topology = topology.unwrap_or(context.pool.topology()).clone();
            let (systems, recorder, sites) = (context.systems.clone(), context.recorder.clone(), context.sites.clone());
            *context = Arc::new(Context::new(settings, topology, systems, recorder, sites));
            self.address.store(Arc::as_ptr(&context).addr(), Ordering::Relaxed);
        }
        context.clone()
    }

    pub(crate) fn current(&self) -> Arc<Context> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Arc<Context>> {
        lock(&self.context)
    }
}

/// What the running tagged system was given.
pub(crate) struct SystemContext {
    pub(crate) mode: SchedulerMode,
    pub(crate) context: Arc<Context>,
}

thread_local! {
    /// Set while a tagged system runs on this thread, and nothing when the thread ends. Not dropped
    /// by the thread: so it is there to the last, for an app that runs in the destructor of another
    /// thread-local.
    static SYSTEM: RefCell<ManuallyDrop<Option<SystemContext>>> = const { RefCell::new(ManuallyDrop::new(None)) };
}

/// Reads what the tagged system that runs on this thread was given, if one does. `read` calls no
/// code of users.
#[inline]
pub(crate) fn with_system<R>(read: impl FnOnce(&SystemContext) -> R) -> Option<R> {
    SYSTEM.with_borrow(|entered| entered.as_ref().map(read))
}

/// Makes `entered` the context of this thread, and returns what was.
fn replace_system(entered: Option<SystemContext>) -> Option<SystemContext> {
    ManuallyDrop::into_inner(SYSTEM.replace(ManuallyDrop::new(entered)))
}

/// Makes the context of `world` that of this thread, which has the one of the last run of its
/// system: where that is the same its counter of references, which all workers share, stays as it
/// is.
pub(crate) fn enter(mode: SchedulerMode, world: &WorldContext, settings: Option<&AffinitySettings>) {
    let is_known = SYSTEM.with_borrow_mut(|entered| match &mut **entered {
        Some(entered) if world.is(&entered.context, settings) => {
            entered.mode = mode;
            true
        }
        _ => false,
    });
    if !is_known {
        let context = settings.map_or_else(|| world.current(), |settings| world.for_settings(settings));
        drop(replace_system(Some(SystemContext { mode, context })));
    }
}

/// Makes nothing the context of this thread: the world has none.
pub(crate) fn enter_nothing() {
    drop(replace_system(None));
}

/// Restores the context that this thread had when the scope was opened, also when the system
/// panics.
pub(crate) struct SystemScope {
    /// Until it is restored.
    before: Option<Option<SystemContext>>,
    _running: Running,
}

impl SystemScope {
    /// To be opened around a run of `system`, with what it was given in its last run.
    #[inline]
    pub(crate) fn open(system: &SystemTiming, given: Option<SystemContext>) -> Self {
        Self { before: Some(replace_system(given)), _running: Running::enter(system) }
    }

    /// Ends the scope; returns what the system was given.
    #[inline]
    pub(crate) fn close(mut self) -> Option<SystemContext> {
        self.before.take().and_then(replace_system)
    }
}

impl Drop for SystemScope {
    fn drop(&mut self) {
        if let Some(before) = self.before.take() {
            drop(replace_system(before));
        }
    }
}

thread_local! {
    /// Set while rows of a parallel call are visited on this thread for Bevy's own `par_iter`.
    static IN_BEVYS_BATCH: Cell<bool> = const { Cell::new(false) };
}

/// Held while a thread visits rows for Bevy's `par_iter`: parallel calls inside run on the spot, as
/// they do inside a round.
pub(crate) struct BevysBatch {
    outer: bool,
}

impl BevysBatch {
    pub(crate) fn open() -> Self {
        Self { outer: IN_BEVYS_BATCH.replace(true) }
    }

    /// Whether this thread is inside one.
    #[inline]
    fn is_open() -> bool {
        IN_BEVYS_BATCH.get()
    }
}

impl Drop for BevysBatch {
    fn drop(&mut self) {
        IN_BEVYS_BATCH.set(self.outer);
    }
}

thread_local! {
    /// Set while the sweeps of tagged systems on this thread are to stay on it.
    static BY_ITSELF: Cell<bool> = const { Cell::new(false) };
}

/// Held while a tagged system runs whose sweeps were found to take less on one thread.
pub(crate) struct ByItself {
    outer: bool,
}

impl ByItself {
    pub(crate) fn begin() -> Self {
        Self { outer: BY_ITSELF.replace(true) }
    }

    /// Whether sweeps stay on this thread.
    #[inline]
    pub(crate) fn is_on() -> bool {
        BY_ITSELF.get()
    }
}

impl Drop for ByItself {
    fn drop(&mut self) {
        BY_ITSELF.set(self.outer);
    }
}

/// Whether this thread is inside a parallel call, the gang's or Bevy's.
#[inline]
pub(crate) fn is_inside_call() -> bool {
    in_round() || BevysBatch::is_open()
}

#[cfg(test)]
mod tests;
