//! What is said of calls in systems that are not tagged.

use std::{collections::BTreeSet, panic::Location, sync::Mutex};

use log::warn;

use super::SiteRef;
use crate::{
    record::{known_name, running_number},
    sync::lock,
};

impl SiteRef<'_> {
    /// Says once that what happens here happens because the system is not tagged, or is without the
    /// plugin.
    #[cold]
    pub(crate) fn warn_untagged(&self, what: &str) {
        let (place, owner) = (self.site.location(), self.calls.sites.owner());
        let data = owner.map_or("unknown", |owner| owner.data);
        if self.site.first_warning() && is_first_of_process(place, data) {
            let system = owner.and_then(|owner| known_name(&owner.system));
            let system = system.map_or_else(String::new, |name| format!(" in system `{name}`"));
            let why = if running_number().is_some() { NO_PLUGIN } else { NOT_TAGGED };
            warn!("bevy_affinity: {what} at {place}{system} (its data is `{data}`) because {why}");
        }
    }
}

/// Whether this is called for the first time with this place and data: systems that come and go
/// have a site of their own each time.
fn is_first_of_process(place: &'static Location<'static>, data: &'static str) -> bool {
    static KNOWN: Mutex<BTreeSet<(&str, u32, u32, &str)>> = Mutex::new(BTreeSet::new());
    let key = (place.file(), place.line(), place.column(), data);
    lock(&KNOWN).insert(key)
}

/// Why a call in a tagged system is not shared.
const NO_PLUGIN: &str = "the world has no `AffinityParallelPlugin`: add the plugin to the app";

/// Why a call in another system is not.
const NOT_TAGGED: &str = "its system is not tagged: add `.affine()` to the system and `AffinityParallelPlugin` to \
                          the app; if it is, behind `.chain()` or `.run_if(..)`, put `.affine()` before these: the \
                          plugin did not see the schedule in time (observers and run conditions cannot be tagged: \
                          see `IntoAffine`; threads that a tagged system starts are not tagged either)";
