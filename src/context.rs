//! What a tagged system finds when it starts a parallel call: the mode, the pool, the placement.

use std::{
    cell::RefCell,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bevy::prelude::Resource;
use crossbeam_utils::CachePadded;

use crate::{
    placement::Placement,
    pool::AffinityPool,
    settings::{AffinitySettings, SchedulerMode},
};

/// All that the tagged systems of one world share, for as long as the settings stay as they are.
pub(crate) struct Context {
    settings: AffinitySettings,
    pub(crate) pool: AffinityPool,
    /// Workers read it while the leader holds the lock: on cache lines of its own, and the lock on another.
    placement: CachePadded<Mutex<CachePadded<Placement>>>,
    /// The tagged systems that have run, of all contexts of the world.
    pub(crate) systems: Arc<SystemTimings>,
    /// By worker.
    pub(crate) affinity: Box<[CachePadded<SweptRows>]>,
}

/// How many rows a worker swept, and how many of them on the core that swept them last time.
#[derive(Default)]
pub(crate) struct SweptRows {
    all: AtomicU64,
    same_core: AtomicU64,
}

impl SweptRows {
    /// To be called by the thread that runs the worker's index, of which there is one at a time: plain loads and stores do.
    pub(crate) fn add(&self, all: u64, same_core: u64) {
        self.all.store(self.all.load(Ordering::Relaxed) + all, Ordering::Relaxed);
        self.same_core.store(self.same_core.load(Ordering::Relaxed) + same_core, Ordering::Relaxed);
    }

    /// All rows and those swept on the same core as last time.
    pub(crate) fn read(&self) -> (u64, u64) {
        (self.all.load(Ordering::Relaxed), self.same_core.load(Ordering::Relaxed))
    }
}

impl Context {
    fn new(settings: &AffinitySettings, systems: Arc<SystemTimings>) -> Self {
        let pool = AffinityPool::new(settings);
        Self {
            settings: settings.clone(),
            systems,
            placement: CachePadded::new(Mutex::new(CachePadded::new(Placement::new(pool.workers())))),
            affinity: (0..pool.workers()).map(|_| CachePadded::default()).collect(),
            pool,
        }
    }

    pub(crate) fn chunk_rows(&self) -> usize {
        self.settings.chunk_rows.max(1)
    }

    /// The owners of all rows. A panic in a round leaves them consistent, so poison is ignored.
    pub(crate) fn placement(&self) -> MutexGuard<'_, CachePadded<Placement>> {
        self.placement.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The context of one world, made anew whenever the settings differ from those it was made with.
#[derive(Resource)]
pub(crate) struct WorldContext(Mutex<Arc<Context>>);

impl WorldContext {
    pub(crate) fn new(settings: &AffinitySettings) -> Self {
        Self(Mutex::new(Arc::new(Context::new(settings, Arc::default()))))
    }

    /// The context for `settings`; the old one lives on until the calls that use it are over.
    pub(crate) fn for_settings(&self, settings: &AffinitySettings) -> Arc<Context> {
        let mut context = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if context.settings != *settings {
            *context = Arc::new(Context::new(settings, context.systems.clone()));
        }
        context.clone()
    }

    pub(crate) fn current(&self) -> Arc<Context> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// How often a tagged system ran and how long it took. Written by the thread that runs the system, read by the diagnostics.
pub(crate) struct SystemTiming {
    pub(crate) name: String,
    calls: AtomicU64,
    total: AtomicU64,
    longest: AtomicU64,
    /// The last durations, in nanoseconds, in a ring.
    recent: [AtomicU64; RECENT_CALLS],
}

/// About two seconds of a system that runs once a frame: enough for a 95th percentile.
const RECENT_CALLS: usize = 128;

impl SystemTiming {
    pub(crate) fn new(name: String) -> Self {
        Self {
            name,
            calls: AtomicU64::new(0),
            total: AtomicU64::new(0),
            longest: AtomicU64::new(0),
            recent: [const { AtomicU64::new(0) }; RECENT_CALLS],
        }
    }

    pub(crate) fn record(&self, nanoseconds: u64) {
        let calls = self.calls.load(Ordering::Relaxed);
        self.recent[calls as usize % RECENT_CALLS].store(nanoseconds, Ordering::Relaxed);
        self.total.store(self.total.load(Ordering::Relaxed) + nanoseconds, Ordering::Relaxed);
        self.longest.fetch_max(nanoseconds, Ordering::Relaxed);
        self.calls.store(calls + 1, Ordering::Relaxed);
    }

    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    pub(crate) fn total(&self) -> Duration {
        Duration::from_nanos(self.total.load(Ordering::Relaxed))
    }

    pub(crate) fn longest(&self) -> Duration {
        Duration::from_nanos(self.longest.load(Ordering::Relaxed))
    }

    /// The duration that 95 of 100 recent calls did not exceed.
    pub(crate) fn p95(&self) -> Duration {
        let known = (self.calls() as usize).min(RECENT_CALLS);
        let mut recent: Vec<_> = self.recent[..known].iter().map(|recent| recent.load(Ordering::Relaxed)).collect();
        recent.sort_unstable();
        Duration::from_nanos(recent.get((known * 95).div_ceil(100).saturating_sub(1)).copied().unwrap_or(0))
    }
}

/// The tagged systems of a world, in the order of their first run.
#[derive(Default)]
pub(crate) struct SystemTimings(Mutex<Vec<Arc<SystemTiming>>>);

impl SystemTimings {
    pub(crate) fn list(&self, system: Arc<SystemTiming>) {
        self.all().push(system);
    }

    pub(crate) fn all(&self) -> MutexGuard<'_, Vec<Arc<SystemTiming>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the running tagged system was given.
pub(crate) struct Entered {
    pub(crate) mode: SchedulerMode,
    pub(crate) context: Arc<Context>,
}

thread_local! {
    /// Set while a tagged system runs on this thread.
    static ENTERED: RefCell<Option<Entered>> = const { RefCell::new(None) };
}

/// Reads what the tagged system that runs on this thread was given, if one does. `read` calls no code of users.
#[inline]
pub(crate) fn with_entered<R>(read: impl FnOnce(Option<&Entered>) -> R) -> R {
    ENTERED.with_borrow(|entered| read(entered.as_ref()))
}

/// Makes `entered` the context of this thread.
pub(crate) fn enter(entered: Entered) {
    ENTERED.set(Some(entered));
}

/// Restores the context that this thread had when the scope was opened, also when the system panics.
pub(crate) struct SystemScope(Option<Entered>);

impl SystemScope {
    pub(crate) fn open() -> Self {
        Self(ENTERED.take())
    }
}

impl Drop for SystemScope {
    fn drop(&mut self) {
        ENTERED.set(self.0.take());
    }
}
