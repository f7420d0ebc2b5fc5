//! The one door to the operating system: which cores this process may use, what they share, and how
//! to keep a thread on them.
//!
//! The cores come from the affinity mask and never from counting `0..n`: under `taskset`, in a
//! container or in a cpuset, core 0 may not be ours.
//!
//! ```
//! use std::thread;
//!
//! use bevy_affinity::topology::{Topology, pin_current_thread};
//!
//! let topology = Topology::get();
//! println!("{topology}");
//! // The one that the last worker would take: a thread for audio may have it.
//! if let Some(core) = topology.cores.last().map(|core| core.id) {
//!     let audio = thread::spawn(move || match pin_current_thread(core) {
//!         Ok(()) => println!("on core {core}"),
//!         Err(error) => println!("anywhere: {error}"),
//!     });
//!     audio.join().unwrap();
//! }
//! ```

mod account;
mod children;
mod cpulist;
mod latest;
mod own_threads;
mod pin;
mod quota;
mod sysfs;
mod tasks;

pub(crate) use account::{SchedulerAccount, Waited};
pub(crate) use children::Children;
pub(crate) use own_threads::{OwnThreads, Witness};
pub use pin::{
    PinError, current_core, move_current_thread_to, pin_current_thread, pin_current_thread_to, unpin_current_thread,
};
pub(crate) use tasks::{ThreadNumber, current_thread, process_ran};
#[cfg(feature = "overlay")]
pub(crate) use tasks::{for_each_thread, is_main_thread, name_of_thread};

use std::fmt;
use std::path::Path;

/// A hardware thread, by the number the operating system gives it.
///
/// Not the index of a worker: worker 0 may well run on core 5.
///
/// ```
/// use bevy_affinity::topology::{CoreId, Topology};
///
/// let topology = Topology::get();
/// let lowest: Option<CoreId> = topology.cores.iter().map(|core| core.id).min();
/// if let Some(core) = lowest {
///     assert_eq!(core.to_string(), core.index().to_string());
///     assert!(topology.find(core).is_some());
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CoreId(pub(crate) usize);

impl CoreId {
    /// The number the operating system uses for this core.
    pub fn index(self) -> usize {
        self.0
    }
}

impl fmt::Display for CoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What is known of one core.
///
/// The numbers of physical cores and cache domains count from 0 over the cores in use; they only
/// serve to compare cores with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Core {
    /// The hardware thread.
    pub id: CoreId,
    /// 0 for the first usable hardware thread of a physical core, 1 and up for its SMT siblings.
    pub sibling_rank: usize,
    /// The physical core; hardware threads with the same number share its execution units.
    pub physical: usize,
    /// Cores with the same number share a last-level cache.
    pub cache_domain: usize,
    /// 0 for the fastest cores, 1 and up for slower (efficiency) cores.
    pub efficiency: usize,
    /// The socket.
    pub package: usize,
}

impl Core {
    /// Sorts cores into the order in which workers take them.
    ///
    /// SMT siblings come after everything else, because two threads on one physical core each get
    /// about half of it, which is less than an efficiency core gives.
    fn worker_order(&self) -> impl Ord + use<> {
        (self.sibling_rank, self.efficiency, self.package, self.cache_domain, self.physical, self.id)
    }
}

/// The cores that this process may use, as the thread that leads the gang was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// In the order in which workers should take them: physical cores before SMT siblings,
    /// performance before efficiency cores, and within that one cache domain is filled before the
    /// next.
    ///
    /// Empty where the system does not tell; nothing can be pinned then.
    pub cores: Vec<Core>,
    /// How many threads are worth running at once: a CPU quota may allow fewer than there are
    /// cores. Of a quota that is not a whole number of cores the rest counts if it makes a quarter
    /// more: 2 of one and a half, 10 of ten and a half.
    pub available: usize,
    /// Another number whenever the cores have changed: threads that were pinned before have to be
    /// pinned again.
    pub(crate) version: u16,
}

impl Topology {
    /// How many workers can run at once without sharing a core; at least 1.
    pub fn parallelism(&self) -> usize {
        match self.cores.len() {
            0 => self.available,
            cores => self.available.min(cores),
        }
    }

    /// The cores that share a last-level cache with `core`, itself included, in workers' order.
    ///
    /// Empty if `core` is none of ours.
    pub fn sharing_cache(&self, core: CoreId) -> Vec<CoreId> {
        let domain = self.find(core).map(|core| core.cache_domain);
        self.cores.iter().filter(|other| Some(other.cache_domain) == domain).map(|other| other.id).collect()
    }

    /// What is known of `id`; `None` if it is none of ours.
    pub fn find(&self, id: CoreId) -> Option<&Core> {
        self.cores.iter().find(|core| core.id == id)
    }

    /// Describes `allowed`, given in ascending order, in workers' order.
    fn describe(allowed: &[CoreId]) -> Vec<Core> {
        // Only Linux and Android have this folder. Without it all cores count as alike, which is
        // the best that can be said elsewhere.
        let mut cores = sysfs::describe(Path::new("/sys/devices"), allowed);
        cores.sort_by_key(Core::worker_order);
        cores
    }
}

impl fmt::Display for Topology {
    /// `cores 0, 2 (1 thread at a time)`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ids: Vec<_> = self.cores.iter().map(|core| core.id).collect();
        ids.sort();
        let ids: Vec<_> = ids.iter().map(CoreId::to_string).collect();
        match &*ids {
            [] => f.write_str("cores that the system does not tell")?,
            [id] => write!(f, "core {id}")?,
            ids => write!(f, "cores {}", ids.join(", "))?,
        }
        let threads = if self.available == 1 { "thread" } else { "threads" };
        write!(f, " ({} {threads} at a time)", self.available)
    }
}

#[cfg(test)]
mod tests;
