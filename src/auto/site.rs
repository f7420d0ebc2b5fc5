//! The places in a program that start parallel calls.

use std::{
    panic::Location,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use bevy_utils::prelude::DebugName;

use super::{Explanation, Model};
use crate::record::WeakList;

/// A place that starts parallel calls, and what is known of them.
#[derive(Debug)]
pub(crate) struct Site {
    location: &'static Location<'static>,
    /// The number of the tagged system that it is in.
    system: Option<usize>,
    model: Mutex<Model>,
}

impl Site {
    /// The model: never contended, as the system that starts calls here is one.
    pub(crate) fn model(&self) -> MutexGuard<'_, Model> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn location(&self) -> &'static Location<'static> {
        self.location
    }

    pub(crate) fn system(&self) -> Option<usize> {
        self.system
    }
}

/// The sites of one world, for those who want to know what was chosen there.
#[derive(Debug, Default)]
pub(crate) struct CallSites(Mutex<WeakList<Site>>);

impl CallSites {
    /// A new site at `location` in `system`.
    fn add(&self, location: &'static Location<'static>, system: Option<usize>) -> Arc<Site> {
        let site = Arc::new(Site { location, system, model: Mutex::default() });
        self.lock().push(&site);
        site
    }

    /// Calls `visit` with each site whose system still exists, in the order of their first calls.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(&Site, Explanation)) {
        self.lock().retain(|site| {
            let explanation = site.model().explain();
            visit(site, explanation);
            true
        });
    }

    fn lock(&self) -> MutexGuard<'_, WeakList<Site>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one query parameter knows of each place that starts calls through it. Such places only ever
/// come, so a list that grows at its end will do, without a lock: most have one element.
#[derive(Debug, Default)]
pub(crate) struct Sites<T> {
    first: OnceLock<Box<Link<T>>>,
    /// Whose they are, once their system is initialised.
    owner: OnceLock<Owner>,
}

/// What starts the calls of some sites.
#[derive(Debug)]
pub(crate) struct Owner {
    pub(crate) system: DebugName,
    /// The type of the query's data, as the compiler calls it.
    pub(crate) data: &'static str,
}

#[derive(Debug)]
struct Link<T> {
    location: &'static Location<'static>,
    value: T,
    next: OnceLock<Box<Self>>,
}

impl<T: Default> Sites<T> {
    /// Says whose they are.
    pub(crate) fn set_owner(&self, owner: Owner) {
        // A state may be initialised again, in the same system.
        _ = self.owner.set(owner);
    }

    pub(crate) fn owner(&self) -> Option<&Owner> {
        self.owner.get()
    }

    /// What is known of calls from `location`.
    #[inline]
    pub(crate) fn at(&self, location: &'static Location<'static>) -> &T {
        let new = || Box::new(Link { location, value: T::default(), next: OnceLock::new() });
        let mut link = self.first.get_or_init(new);
        // The compiler may keep one place several times: it is then known several times.
        while !std::ptr::eq(link.location, location) {
            link = link.next.get_or_init(new);
        }
        &link.value
    }
}

/// The site of a call, made when it is first needed: in mode `Auto` only.
#[derive(Debug, Default)]
pub(crate) struct LazySite(OnceLock<Arc<Site>>);

impl LazySite {
    #[inline]
    pub(crate) fn get(
        &self,
        sites: &CallSites,
        location: &'static Location<'static>,
        system: impl FnOnce() -> Option<usize>,
    ) -> &Site {
        self.0.get_or_init(|| sites.add(location, system()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn each_place_has_its_own_value() {
        let sites = Sites::<AtomicU32>::default();
        let (here, there) = (Location::caller(), Location::caller());
        for _ in 0..3 {
            sites.at(here).fetch_add(1, Ordering::Relaxed);
            sites.at(there).fetch_add(10, Ordering::Relaxed);
        }
        assert_eq!((sites.at(here).load(Ordering::Relaxed), sites.at(there).load(Ordering::Relaxed)), (3, 30));
    }

    #[test]
    fn sites_of_systems_that_are_gone_are_forgotten() {
        let sites = CallSites::default();
        let (kept, gone) = (LazySite::default(), LazySite::default());
        kept.get(&sites, Location::caller(), || Some(1));
        gone.get(&sites, Location::caller(), || Some(2));
        drop(gone);
        let mut systems = Vec::new();
        sites.for_each(|site, _| systems.push(site.system()));
        assert_eq!(systems, [Some(1)]);
    }
}
