//! Where the workers of a pool stay: each pins itself before its next call when that has changed,
//! and what cannot be done is said once.

use std::sync::OnceLock;

use log::warn;

use super::WorkerIndex;
use crate::{
    once::Once,
    settings::Pinning,
    topology::{CoreId, PinError, Topology, pin_current_thread, pin_current_thread_to, unpin_current_thread},
};

/// Where the workers of a pool stay: they are pinned again when it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PinState {
    pub(super) pinning: Pinning,
    /// Of the cores: see [`Topology::version`].
    pub(super) version: u16,
}

impl PinState {
    pub(super) fn new(pinning: Pinning, topology: &Topology) -> Self {
        Self { pinning, version: topology.version }
    }
}

/// Where a worker stayed until now.
#[derive(Clone, Copy, Debug)]
pub(super) enum Before {
    /// It has just begun: it is free, unless the thread that started it was not.
    New,
    /// On this core, or on several, or on none in particular.
    PinnedTo(Option<CoreId>),
}

/// Pins the calling thread; the core that it is pinned to from now on, if it is.
pub(super) fn pin(index: WorkerIndex, pinning: Pinning, topology: &Topology, before: Before) -> Option<CoreId> {
    try_to_pin(index, pinning, topology, before).unwrap_or_else(|error| {
        let stays_on = match before {
            Before::PinnedTo(core) if error == PinError::Unsupported => core,
            _ => None,
        };
        if let Some(unpinned) = Unpinned::of(pinning, error, stays_on) {
            let _ = FIRST.set(unpinned);
        }
        stays_on
    })
}

/// Workers beyond the number of cores stay unpinned: they would share a core with another worker
/// while the system may know a free one.
///
/// That each has a core of its own is the default, so that nothing is said of it on systems where
/// it can never be.
fn try_to_pin(
    index: WorkerIndex,
    pinning: Pinning,
    topology: &Topology,
    before: Before,
) -> Result<Option<CoreId>, PinError> {
    let core = topology.cores.get(index.0).map(|core| core.id);
    match (pinning, core) {
        (Pinning::Core, Some(core)) => match pin_current_thread(core) {
            Err(PinError::Unsupported) => Ok(None),
            pinned => pinned.map(|()| Some(core)),
        },
        (Pinning::Core | Pinning::CacheDomain, None) if topology.cores.is_empty() => Err(PinError::Untold),
        (Pinning::CacheDomain, Some(core)) => pin_current_thread_to(&topology.sharing_cache(core)).map(|()| None),
        _ => match (unpin_current_thread(), before) {
            (Err(_), Before::New) => Ok(None),
            (unpinned, _) => unpinned.map(|()| None),
        },
    }
}

/// Why a worker is not pinned as the settings say.
#[derive(Debug, PartialEq)]
pub(super) enum Unpinned {
    /// It runs where the system puts it.
    Free(PinError),
    /// It is pinned to the core that it had before: the system cannot let it go.
    Stays,
}

impl Unpinned {
    /// After an error, with the core that the worker `stays_on`. `None` if it is as asked: free.
    fn of(pinning: Pinning, error: PinError, stays_on: Option<CoreId>) -> Option<Self> {
        match (pinning, stays_on) {
            (_, Some(_)) => Some(Self::Stays),
            (Pinning::Off, None) if error == PinError::Unsupported => None,
            (_, None) => Some(Self::Free(error)),
        }
    }

    /// The first one of the process.
    #[inline]
    pub(super) fn first() -> Option<&'static Self> {
        FIRST.get()
    }

    /// Says it once.
    #[cold]
    pub(super) fn warn(&self) {
        static WARNED: Once = Once::new();
        if !WARNED.first() {
            return;
        }
        match self {
            Self::Free(error) => warn!("bevy_affinity: workers run unpinned: {error}"),
            Self::Stays => warn!(
                "bevy_affinity: workers stay on the cores that they were pinned to, since this system cannot let them go: \
                 set `AffinitySettings::pinning` before the plugin is added"
            ),
        }
    }
}

/// Why the first worker that is not pinned as the settings say is not. Workers leave it here, for
/// threads that lead to say: a logger may panic, or wait for a lock that is held around the round.
static FIRST: OnceLock<Unpinned> = OnceLock::new();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_that_cannot_be_let_go_is_not_said_to_be_free() {
        let core = Some(CoreId(3));
        assert_eq!(Unpinned::of(Pinning::Off, PinError::Unsupported, core), Some(Unpinned::Stays));
        assert_eq!(Unpinned::of(Pinning::CacheDomain, PinError::Unsupported, core), Some(Unpinned::Stays));
    }

    #[test]
    fn a_free_worker_is_told_of_unless_it_is_to_be_free() {
        let free = |pinning, error: PinError| Unpinned::of(pinning, error.clone(), None) == Some(Unpinned::Free(error));
        assert!(!free(Pinning::Off, PinError::Unsupported));
        assert!(free(Pinning::CacheDomain, PinError::Unsupported));
        assert!(free(Pinning::Core, PinError::Untold));
        assert!(free(Pinning::Off, PinError::Refused(Vec::new())));
    }
}
