//! What is said of calls in systems that are not tagged.

use log::warn;

use super::{Rows, SiteRef};
use crate::{auto::Notice, context::WorldContext, record::running_number};

impl SiteRef<'_> {
    /// Says once that a call for `rows` goes to Bevy's threads: for verbs that Bevy has too by its
    /// `par_iter`, for the others in one part a thread. The words are the same, since who reads
    /// them is to add a tag in either case.
    #[cold]
    pub(super) fn warn_of_bevys_threads(&self, rows: Rows<'_, '_>) {
        let is_fused = self.kept.sites.origin().is_some_and(|origin| origin.is_fused);
        let query = "an AffineQuery runs through Bevy's par_iter";
        self.warn_untagged(if is_fused { "a fused system runs on Bevy's threads" } else { query }, rows);
    }

    /// Says once that what happens here happens because the system is not tagged, or is without the
    /// plugin.
    #[cold]
    pub(crate) fn warn_untagged(&self, what: &str, rows: Rows<'_, '_>) {
        let (place, origin) = (self.site.location(), self.kept.sites.origin());
        if self.is_first(Notice::Untagged) {
            let system = self.in_system();
            let of = if origin.is_some_and(|origin| origin.is_fused) { "kernels are" } else { "data is" };
            let (data, why) = (self.data(), why(rows));
            warn!("bevy_affinity: {what} at {place}{system} (its {of} `{data}`) because {why}");
        }
    }
}

/// Why a call that is started here is not shared.
fn why(rows: Rows<'_, '_>) -> String {
    if running_number().is_some() {
        return "the world has no `AffinityParallelPlugin`: add the plugin to the app".into();
    }
    let late = "; if it is, behind `.chain()` or `.run_if(..)`, put `.affine()` before these: the plugin did not \
                see the schedule in time";
    let (plugin, late) = if has_plugin(rows) { ("", late) } else { (" and `AffinityParallelPlugin` to the app", "") };
    format!(
        "its system is not tagged: add `.affine()` to the system{plugin}{late} (observers and run conditions \
         cannot be tagged: see `IntoAffine`; threads that a tagged system starts are not tagged either)"
    )
}

/// Whether the world ever had the plugin. Each tagged system registers what that leaves there.
fn has_plugin(rows: Rows<'_, '_>) -> bool {
    let context = rows.world.components().component_id::<WorldContext>();
    context.is_some_and(|context| rows.world.archetypes().component_index().contains_key(&context))
}
