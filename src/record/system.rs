//! The tagged systems of a world: how often they ran, how long they took, and which of them runs.

use std::{
    cell::RefCell,
    mem::ManuallyDrop,
    ops::Range,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// How often a tagged system ran and how long it took. Written by the thread that runs the system, read by the diagnostics.
pub(crate) struct SystemTiming {
    pub(crate) name: Arc<str>,
    /// Its place among the [`SystemTimings`] of its world.
    index: OnceLock<usize>,
    calls: AtomicU64,
    total: AtomicU64,
    longest: AtomicU64,
    /// The last durations, in nanoseconds, in a ring.
    recent: [AtomicU64; RECENT_CALLS],
}

/// About two seconds of a system that runs once a frame: enough for a 95th percentile.
const RECENT_CALLS: usize = 128;

/// What the last calls of a system say.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Recent {
    pub(crate) mean: Duration,
    /// The duration that 95 of 100 calls did not exceed.
    pub(crate) p95: Duration,
}

impl SystemTiming {
    pub(crate) fn new(name: String) -> Self {
        Self {
            name: name.into(),
            index: OnceLock::new(),
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

    /// Its place among the systems of its world, once it has run there.
    pub(crate) fn index(&self) -> Option<usize> {
        self.index.get().copied()
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

    /// What the last calls say. Sorts them, which takes a microsecond or so.
    pub(crate) fn recent(&self) -> Recent {
        let mut recent = [0; RECENT_CALLS];
        recent.iter_mut().zip(&self.recent).for_each(|(copy, nanoseconds)| *copy = nanoseconds.load(Ordering::Relaxed));
        let known = (self.calls() as usize).min(RECENT_CALLS);
        if known == 0 {
            return Recent::default();
        }
        let recent = &mut recent[..known];
        recent.sort_unstable();
        let mean = recent.iter().sum::<u64>() / known as u64;
        let p95 = recent[(known * 95).div_ceil(100) - 1];
        Recent { mean: Duration::from_nanos(mean), p95: Duration::from_nanos(p95) }
    }
}

/// The tagged systems of a world, in the order of their first run.
#[derive(Default)]
pub(crate) struct SystemTimings {
    list: Mutex<Vec<Arc<SystemTiming>>>,
    /// When the first of them began since [`take_extent`](Self::take_extent), 0 if none did, and when the last one ended.
    began: AtomicU64,
    ended: AtomicU64,
}

impl SystemTimings {
    /// Lists the system that runs on this thread, if it is not listed yet.
    pub(crate) fn list_running(&self) {
        RUNNING.with_borrow(|running| match &**running {
            Some(system) if system.index.get().is_none() => {
                let mut list = self.all();
                let _ = system.index.set(list.len());
                list.push(system.clone());
            }
            _ => {}
        });
    }

    pub(crate) fn all(&self) -> MutexGuard<'_, Vec<Arc<SystemTiming>>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a system ran. Systems of a world run one after another, so plain loads and stores do.
    pub(crate) fn extend(&self, run: Range<u64>) {
        if self.began.load(Ordering::Relaxed) == 0 {
            self.began.store(run.start, Ordering::Relaxed);
        }
        self.ended.store(run.end, Ordering::Relaxed);
    }

    /// From the first begin to the last end since the last call; `None` if no system ran.
    pub(crate) fn take_extent(&self) -> Option<Range<u64>> {
        let began = self.began.swap(0, Ordering::Relaxed);
        (began > 0).then(|| began..self.ended.load(Ordering::Relaxed))
    }
}

thread_local! {
    /// The tagged system that runs on this thread; none when the thread ends. Not dropped by the thread: so it is there to the last, for a round in the destructor of
    /// another thread-local.
    static RUNNING: RefCell<ManuallyDrop<Option<Arc<SystemTiming>>>> = const { RefCell::new(ManuallyDrop::new(None)) };
}

fn replace_running(system: Option<Arc<SystemTiming>>) -> Option<Arc<SystemTiming>> {
    ManuallyDrop::into_inner(RUNNING.replace(ManuallyDrop::new(system)))
}

/// Makes a system the one that runs on this thread; restores the one before when it is dropped, also by a panic.
pub(crate) struct Running(Option<Arc<SystemTiming>>);

impl Running {
    pub(crate) fn enter(system: Arc<SystemTiming>) -> Self {
        Self(replace_running(Some(system)))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(replace_running(self.0.take()));
    }
}

/// The place of the tagged system that runs on this thread, if one does, among those of its world.
pub(crate) fn running_index() -> Option<usize> {
    RUNNING.with_borrow(|running| running.as_ref().and_then(|system| system.index()))
}

/// The name of the tagged system that runs on this thread, if one does.
#[cfg(feature = "trace")]
pub(crate) fn running_name() -> Option<Arc<str>> {
    RUNNING.with_borrow(|running| running.as_ref().map(|system| system.name.clone()))
}
