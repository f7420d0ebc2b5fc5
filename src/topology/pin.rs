//! Keeping the calling thread on chosen cores.
//!
//! A thread inherits the cores of the thread that starts it, so a pinned thread must not start
//! others that are meant to be free.

use std::error::Error;
use std::fmt;

use super::{CoreId, Topology};

/// Why a thread was not pinned. It runs where it could run before.
///
/// ```
/// use std::thread;
///
/// use bevy_affinity::topology::{PinError, Topology, pin_current_thread};
///
/// let pin = || match Topology::get().cores.last() {
///     Some(core) => pin_current_thread(core.id),
///     None => Err(PinError::Untold),
/// };
/// match thread::spawn(pin).join().unwrap() {
///     Ok(()) => println!("pinned"),
///     Err(PinError::Unsupported) => println!("not on this system"),
///     Err(error) => println!("not this time: {error}"),
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PinError {
    /// The core is not among those that this process may use.
    NotOurs(CoreId),
    /// The system knows the cores but said no: containers may forbid pinning, and a core may have
    /// been taken away since the program started.
    Refused(Vec<CoreId>),
    /// The system offers no way to keep a thread to a core, or to several.
    Unsupported,
    /// The system does not tell which cores this process may use.
    Untold,
}

impl fmt::Display for PinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOurs(core) => {
                write!(f, "this process may not use core {core}")
            }
            Self::Refused(cores) => {
                let cores: Vec<_> = cores.iter().map(CoreId::to_string).collect();
                let cores = cores.join(", ");
                write!(f, "the system refused to keep a thread on core {cores}")
            }
            Self::Unsupported => {
                write!(f, "this system cannot keep a thread to a set of cores")
            }
            Self::Untold => {
                write!(f, "the system does not tell which cores this process may use")
            }
        }
    }
}

impl Error for PinError {}

/// Keeps the calling thread on `core`.
///
/// ```
/// use std::thread;
///
/// use bevy_affinity::topology::{Topology, current_core, pin_current_thread};
///
/// if let Some(core) = Topology::get().cores.last().map(|core| core.id) {
///     let pinned = thread::spawn(move || {
///         if pin_current_thread(core).is_ok() {
///             assert!(current_core().is_none_or(|here| here == core));
///         }
///     });
///     pinned.join().unwrap();
/// }
/// ```
///
/// # Errors
///
/// If the core is not ours, if the system refuses, and always on macOS, where a thread can but hint
/// at those it shares data with, which Apple's own processors ignore. The thread then stays as it
/// was.
pub fn pin_current_thread(core: CoreId) -> Result<(), PinError> {
    check_ours(&[core])?;
    if cfg!(target_os = "macos") {
        return Err(PinError::Unsupported);
    }
    let pinned = core_affinity::set_for_current(core_affinity::CoreId { id: core.index() });
    pinned.then_some(()).ok_or_else(|| PinError::Refused(vec![core]))
}

/// Keeps the calling thread to `cores`, among which the system may move it.
///
/// # Errors
///
/// If a core is not ours, if the system refuses, and always on systems other than Linux and
/// Android; the thread then stays as it was.
pub fn pin_current_thread_to(cores: &[CoreId]) -> Result<(), PinError> {
    check_ours(cores)?;
    set_mask(cores)
}

/// Lets the calling thread run on every core that this process may use.
///
/// ```
/// use std::thread;
///
/// use bevy_affinity::topology::{PinError, Topology, pin_current_thread, unpin_current_thread};
///
/// let first = Topology::get().cores.first().map(|core| core.id);
/// let thread = thread::spawn(move || {
///     pin_current_thread(first.ok_or(PinError::Untold)?)?;
///     // Here it stays on that core; threads that it starts would, too.
///     unpin_current_thread()
/// });
/// if let Err(error) = thread.join().unwrap() {
///     println!("not pinned, or not let go: {error}");
/// }
/// ```
///
/// # Errors
///
/// As [`pin_current_thread_to`]. A new thread, started by one that is not pinned, is free on every
/// system.
pub fn unpin_current_thread() -> Result<(), PinError> {
    let cores: Vec<_> = Topology::get().cores.iter().map(|core| core.id).collect();
    // Some sandboxes end a program that sets a mask, and let it ask for one.
    if has_mask(&cores) { Ok(()) } else { set_mask(&cores) }
}

/// Moves the calling thread to `core`. Where the system may move it later stays as it was; if these
/// cores are taken from the process at that very moment, the thread may then run on all that are
/// left.
///
/// # Errors
///
/// If the thread may not run on the core, if the system refuses, and always on systems other than
/// Linux and Android; the thread then stays where it was.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn move_current_thread_to(core: CoreId) -> Result<(), PinError> {
    let allowed = rustix::thread::sched_getaffinity(None).map_err(|_| PinError::Refused(vec![core]))?;
    move_among(&allowed, core, |mask| rustix::thread::sched_setaffinity(None, mask).is_ok())
}

/// Keeps this thread to `core` and lets it go again: there is no call that only moves it.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn move_among(
    allowed: &rustix::thread::CpuSet,
    core: CoreId,
    mut set_mask: impl FnMut(&rustix::thread::CpuSet) -> bool,
) -> Result<(), PinError> {
    use rustix::thread::CpuSet;
    if core.index() >= CpuSet::MAX_CPU || !allowed.is_set(core.index()) {
        return Err(PinError::NotOurs(core));
    }
    let mut there = CpuSet::new();
    there.set(core.index());
    if !set_mask(&there) {
        return Err(PinError::Refused(vec![core]));
    }
    if set_mask(allowed) {
        return Ok(());
    }
    // None of them is ours any more. Of a mask of all cores the system takes those that are.
    let mut everywhere = CpuSet::new();
    (0..CpuSet::MAX_CPU).for_each(|core| everywhere.set(core));
    if set_mask(&everywhere) { Ok(()) } else { Err(PinError::Refused(vec![core])) }
}

/// Moves the calling thread to `core`, where a system can: this one cannot.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub fn move_current_thread_to(_core: CoreId) -> Result<(), PinError> {
    Err(PinError::Unsupported)
}

/// Refuses cores outside the affinity mask.
///
/// The mask holds no core that the system calls below cannot express, so they need no check of
/// their own. Asking for the topology also makes sure that it is read before the first thread is
/// pinned.
fn check_ours(cores: &[CoreId]) -> Result<(), PinError> {
    let topology = Topology::get();
    match cores.iter().find(|core| topology.find(**core).is_none()) {
        Some(foreign) => Err(PinError::NotOurs(*foreign)),
        None => Ok(()),
    }
}

/// Whether the calling thread may run on just these cores; false if the system does not tell.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn has_mask(cores: &[CoreId]) -> bool {
    let mask = rustix::thread::sched_getaffinity(None);
    mask.is_ok_and(|mask| mask.count() as usize == cores.len() && cores.iter().all(|core| mask.is_set(core.index())))
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn has_mask(_cores: &[CoreId]) -> bool {
    false
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn set_mask(cores: &[CoreId]) -> Result<(), PinError> {
    let mut set = rustix::thread::CpuSet::new();
    for core in cores {
        set.set(core.index());
    }
    // The kernel's reason is left out: a core that went offline and an empty set are both 'invalid
    // argument'.
    rustix::thread::sched_setaffinity(None, &set).map_err(|_| PinError::Refused(cores.to_vec()))
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn set_mask(_cores: &[CoreId]) -> Result<(), PinError> {
    Err(PinError::Unsupported)
}

/// The core that the calling thread is on, where the system tells. Unless it is pinned it may move
/// at once.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn current_core() -> Option<CoreId> {
    Some(CoreId(rustix::thread::sched_getcpu()))
}

/// The core that the calling thread is on, where the system tells. Unless it is pinned it may move
/// at once.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub fn current_core() -> Option<CoreId> {
    None
}

#[cfg(test)]
mod tests;
