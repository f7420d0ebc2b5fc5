//! What a query keeps of its parallel calls, and the place that starts one.

use std::{
    panic::Location,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use log::warn;

use super::{gang_call::Memory, scratch::Scratch};
use crate::{
    auto::{Owner, Site, SiteList},
    record::known_name,
};

/// What is kept of the parallel calls of one query parameter, from run to run of its system.
#[derive(Default)]
pub(crate) struct QueryCalls {
    sites: SiteList,
    /// Never contended: of the calls on the gang one runs at a time.
    memory: Mutex<Memory>,
    pub(crate) scratch: Scratch,
}

impl QueryCalls {
    /// Says whose they are.
    pub(crate) fn set_owner(&self, owner: Owner) {
        self.sites.set_owner(owner);
    }

    pub(super) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in a program that starts a parallel call of a query.
#[derive(Clone, Copy)]
pub(crate) struct SiteRef<'s> {
    pub(super) site: &'s Arc<Site>,
    pub(crate) calls: &'s QueryCalls,
}

impl<'s> SiteRef<'s> {
    /// The place that this is called from, through functions that track their caller.
    #[inline]
    #[track_caller]
    pub(crate) fn caller(calls: &'s QueryCalls) -> Self {
        Self::at(Location::caller(), calls)
    }

    #[inline]
    pub(crate) fn at(location: &'static Location<'static>, calls: &'s QueryCalls) -> Self {
        Self { site: calls.sites.at(location), calls }
    }

    /// Says once that what happens here happens because the system is not tagged.
    #[cold]
    pub(crate) fn warn_untagged(&self, what: &str) {
        if self.site.first_warning() {
            let (place, owner) = (self.site.location(), self.calls.sites.owner());
            let data = owner.map_or("unknown", |owner| owner.data);
            let system = owner.and_then(|owner| known_name(&owner.system));
            let system = system.map_or_else(String::new, |name| format!(" in system `{name}`"));
            warn!(
                "bevy_affinity: {what} at {place}{system} (its data is `{data}`) because its system is not \
                 tagged: add `.affine()` to the system and `AffinityParallelPlugin` to the app"
            );
        }
    }
}
