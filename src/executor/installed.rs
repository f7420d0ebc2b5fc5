//! How a schedule gets an executor, and what others keep of that.

use std::sync::Arc;

use bevy_ecs::schedule::{InternedSystemSet, Schedule};

use super::{
    AffinityExecutor, Forced,
    gang::{BlueprintSlot, WeakBlueprintSlot},
    mark::Mark,
    record::ScheduleRecord,
};

impl AffinityExecutor {
    /// As [`install`](Self::install), but for tags: for tests and measurements.
    #[doc(hidden)]
    pub fn install_forced(schedule: &mut Schedule, forced: Forced) {
        Self::install_for(schedule, Some(forced));
    }

    /// Installs one; returns what is kept of it outside of the schedule.
    pub(crate) fn install_for(schedule: &mut Schedule, forced: Option<Forced>) -> Installed {
        let slot = BlueprintSlot::default();
        let executor = Self::reading(slot.clone(), forced);
        let record = executor.record.clone();
        slot.watch(schedule);
        schedule.set_executor(executor);
        // A schedule that has been built is built once more for that.
        let mark = Mark::next();
        schedule.configure_sets(mark);
        Installed { record, slot: slot.downgrade(), mark }
    }
}

/// What is kept of an executor outside of its schedule.
pub(crate) struct Installed {
    /// What is told of it as long as the schedule has it.
    pub(crate) record: Arc<ScheduleRecord>,
    /// Of the schedule that it was installed in.
    pub(crate) mark: InternedSystemSet,
    pub(super) slot: WeakBlueprintSlot,
}

impl Installed {
    /// Whether the schedule still has it: the executor holds the record too.
    pub(crate) fn is_in_use(&self) -> bool {
        Arc::strong_count(&self.record) > 1
    }

    /// To be called before `schedule`, which has it, is built: build passes that were added since
    /// come before the one that tells it of orders and conditions.
    pub(crate) fn see_all_passes(&self, schedule: &mut Schedule) {
        self.slot.slot().iter().for_each(|slot| slot.watch(schedule));
    }

    /// To be called when the schedule no longer has it: lets go of what it knew of its conditions.
    pub(crate) fn let_go(&self) {
        self.slot.slot().iter().for_each(BlueprintSlot::let_go);
    }

    /// Whether it was installed in this schedule, whichever executor that has now.
    pub(crate) fn was_in(&self, schedule: &Schedule) -> bool {
        schedule.graph().system_sets.get_key(self.mark).is_some()
    }
}
