//! A place in a program that starts parallel calls of a query, and what is kept of them.

use std::{
    fmt,
    panic::Location,
    sync::{Arc, Mutex},
};

use super::{gang_call::Memory, scratch::Scratch};
use crate::{
    auto::{Notice, Site, SiteList},
    once::OncePerKey,
    record::known_name,
};

/// What is kept of the parallel calls of one query parameter, from run to run of its system.
#[derive(Default)]
pub(crate) struct QueryCalls {
    pub(crate) sites: SiteList,
    /// Of calls that visit the due rows among those of a place in `sites`. By themselves: all that
    /// is written in one macro has one place.
    due_sites: SiteList,
    /// Never contended: of the calls on the gang one runs at a time.
    pub(super) memory: Mutex<Memory>,
    pub(crate) scratch: Scratch,
}

/// A place in a program that starts a parallel call of a query.
#[derive(Clone, Copy)]
pub(crate) struct SiteRef<'s> {
    pub(super) site: &'s Arc<Site>,
    pub(crate) kept: &'s QueryCalls,
}

impl<'s> SiteRef<'s> {
    /// The place that this is called from, through functions that track their caller.
    #[inline]
    #[track_caller]
    pub(crate) fn caller(kept: &'s QueryCalls) -> Self {
        Self::at(Location::caller(), kept)
    }

    #[inline]
    pub(crate) fn at(location: &'static Location<'static>, kept: &'s QueryCalls) -> Self {
        Self { site: kept.sites.at(location), kept }
    }

    /// The place of a call that visits due rows only, of those of this place.
    #[inline]
    pub(crate) fn due_rows(self, location: &'static Location<'static>) -> Self {
        Self { site: self.kept.due_sites.at_told(location, self.site.told()), ..self }
    }

    /// Whether this is said for the first time of a place in the source, of the data of its query
    /// and of the system's name: systems that come and go have a site of their own each time.
    pub(crate) fn is_first(self, notice: Notice) -> bool {
        static KNOWN: OncePerKey<(Notice, &str, u32, u32, &str, String)> = OncePerKey::new();
        let location = self.site.told();
        let key = || (notice, location.file(), location.line(), location.column(), self.data(), self.in_system());
        self.site.is_first(notice) && KNOWN.first(key())
    }

    /// The type of the query's data.
    pub(super) fn data(self) -> &'static str {
        self.kept.sites.origin().map_or("unknown", |origin| origin.data)
    }

    /// The system, as a warning names it; nothing where its name is not known.
    pub(crate) fn in_system(&self) -> String {
        let system = self.kept.sites.origin().and_then(|origin| known_name(&origin.system));
        system.map_or_else(String::new, |name| format!(" in system `{name}`"))
    }
}

/// The place, as a compiler's message names it.
impl fmt::Debug for SiteRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.site.location(), f)
    }
}
