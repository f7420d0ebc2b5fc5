//! What the system says now: affinity masks, sets of cores and CPU quotas may change while a
//! program runs.

use std::{
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use bevy_platform::time::Instant;
use log::info;

use super::{Core, CoreId, Topology, quota};
use crate::sync::lock;

/// How old a reading may be. One takes the thread that asks about 20 us, 50 us under a quota, which
/// is nothing once a second.
const LIFETIME: Duration = Duration::from_secs(1);

/// What may change, as the system tells it to the calling thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    /// The cores that the thread may use; empty where the system does not tell.
    pub(super) cores: Vec<CoreId>,
    /// How many threads are worth running at once.
    pub(super) available: usize,
}

impl Reading {
    /// Asks the system.
    pub(super) fn take() -> Self {
        let cores = core_affinity::get_core_ids().unwrap_or_default();
        let available = thread::available_parallelism().map_or(1, usize::from);
        Self {
            available: quota::worth_running(available, cores.len()),
            cores: cores.into_iter().map(|core| CoreId(core.id)).collect(),
        }
    }
}

/// The topology by the latest reading.
pub(super) struct Latest {
    reading: Reading,
    read_at: Instant,
    topology: Arc<Topology>,
}

impl Latest {
    fn new(reading: Reading, now: Instant, describe: impl FnOnce(&[CoreId]) -> Vec<Core>) -> Self {
        let topology = Topology { cores: describe(&reading.cores), available: reading.available, version: 0 };
        Self { reading, read_at: now, topology: Arc::new(topology) }
    }

    /// Takes in what `read` finds, if the last reading is too old by `now`.
    ///
    /// A quota alone leaves the cores as they are known, and their version: no thread has to be
    /// pinned again.
    fn follow(&mut self, now: Instant, read: impl FnOnce() -> Reading, describe: impl FnOnce(&[CoreId]) -> Vec<Core>) {
        if now.saturating_duration_since(self.read_at) < LIFETIME {
            return;
        }
        self.read_at = now;
        let reading = read();
        if reading == self.reading {
            return;
        }
        let (cores, version) = if reading.cores == self.reading.cores {
            (self.topology.cores.clone(), self.topology.version)
        } else {
            (describe(&reading.cores), self.topology.version.wrapping_add(1))
        };
        self.topology = Arc::new(Topology { cores, available: reading.available, version });
        self.reading = reading;
    }
}

/// Works on the latest reading of this process; takes the first one if there is none yet.
fn with_latest<R>(work: impl FnOnce(&mut Latest) -> R) -> R {
    static LATEST: Mutex<Option<Latest>> = Mutex::new(None);
    // Whatever panics, the last reading stays whole.
    let mut latest = lock(&LATEST);
    work(latest.get_or_insert_with(|| Latest::new(Reading::take(), Instant::now(), Topology::describe)))
}

impl Topology {
    /// The topology by the latest reading: the first one is taken by the first call in this
    /// process, later ones about once a second by the thread that runs an app with
    /// [`AffinityParallelPlugin`](crate::AffinityParallelPlugin).
    ///
    /// It is kept because a pinned thread, and every thread it starts, is told of its own core
    /// only. The first call must therefore come before the program pins a thread by other means;
    /// the functions of this module make it themselves.
    ///
    /// ```
    /// use bevy_affinity::topology::Topology;
    ///
    /// let topology = Topology::get();
    /// assert!(topology.parallelism() > 0);
    /// for core in &topology.cores {
    ///     let others = topology.sharing_cache(core.id).len() - 1;
    ///     println!("core {} shares a cache with {others} others", core.id);
    /// }
    /// ```
    pub fn get() -> Arc<Self> {
        with_latest(|latest| latest.topology.clone())
    }

    /// As [`get`](Self::get), from a new reading if the latest is older than a second. For the
    /// thread that leads the gang, never for a pinned worker: the system answers for the thread
    /// that asks.
    pub(crate) fn follow() -> Arc<Self> {
        let (before, after) = with_latest(|latest| {
            let before = latest.topology.clone();
            latest.follow(Instant::now(), Reading::take, Self::describe);
            (before, latest.topology.clone())
        });
        if !Arc::ptr_eq(&before, &after) {
            info!("bevy_affinity: this process may now use {after}; before: {before}");
        }
        after
    }
}

#[cfg(test)]
mod tests;
