//! Which schedules the plugin gives an executor.

use bevy_app::{FixedMain, Main, RunFixedMainLoop};
use bevy_ecs::{
    prelude::Resource,
    reflect::ReflectResource,
    schedule::{InternedScheduleLabel, ScheduleLabel},
};
use bevy_platform::collections::HashSet;
use bevy_reflect::{Reflect, std_traits::ReflectDefault};

/// Which schedules [`AffinityParallelPlugin`](crate::AffinityParallelPlugin) gives an
/// [`AffinityExecutor`](crate::AffinityExecutor). Default: all of the world that it is in, those
/// that are added later too, but for `Main`, `FixedMain` and `RunFixedMainLoop`, which Bevy itself
/// keeps on one thread.
///
/// Bevy cannot be asked which executor a schedule has. So name here the schedules that have one of
/// your own, or that do not apply deferred effects at their end
/// ([`set_apply_final_deferred`](bevy_ecs::schedule::Schedule::set_apply_final_deferred)): both are
/// lost when the plugin first sees the schedule, at the latest in the next frame. What is set after
/// that stays.
///
/// A resource: insert it before the plugin, or change it while the app runs; to include `Main`,
/// within which all others run, before the app starts. A schedule that is taken out while the app
/// runs, or by a resource that comes after the plugin, is run by Bevy's default executor from then
/// on. Reflection shows `others` only, since labels cannot be reflected: what is made from that has
/// no exceptions.
///
/// ```
/// use bevy::{ecs::schedule::SingleThreadedExecutor, prelude::*};
/// use bevy_affinity::{AffinitySchedules, prelude::*};
///
/// App::new()
///     .insert_resource(AffinitySchedules::all().except(FixedUpdate))
///     .add_plugins(AffinityParallelPlugin)
///     .edit_schedule(FixedUpdate, |schedule| {
///         schedule.set_executor(SingleThreadedExecutor::new());
///     })
///     .update();
/// ```
#[derive(Resource, Clone, Debug, PartialEq, Eq, Reflect)]
#[reflect(Resource, Clone, Default)]
#[type_path = "bevy_affinity"]
pub struct AffinitySchedules {
    /// Whether schedules get the executor that are not an exception. To change it turns each
    /// exception round.
    pub others: bool,
    /// Those for which the opposite holds.
    #[reflect(ignore)]
    exceptions: HashSet<InternedScheduleLabel>,
    /// Of those that Bevy keeps on one thread, the ones of which nothing was said: they keep their
    /// executors, whatever the others get.
    #[reflect(ignore)]
    left_to_bevy: LeftToBevy,
}

/// [`AffinitySchedules::left_to_bevy`].
#[derive(Clone, Debug, PartialEq, Eq)]
struct LeftToBevy(HashSet<InternedScheduleLabel>);

impl Default for LeftToBevy {
    fn default() -> Self {
        Self([Main.intern(), FixedMain.intern(), RunFixedMainLoop.intern()].into_iter().collect())
    }
}

impl Default for AffinitySchedules {
    fn default() -> Self {
        Self::all()
    }
}

impl AffinitySchedules {
    /// All but those that Bevy itself keeps on one thread.
    #[must_use]
    pub fn all() -> Self {
        Self { others: true, exceptions: HashSet::default(), left_to_bevy: LeftToBevy::default() }
    }

    /// No schedule: all keep their executors.
    ///
    /// ```
    /// use bevy::prelude::*;
    /// use bevy_affinity::AffinitySchedules;
    ///
    /// let only_update = AffinitySchedules::none().except(Update);
    /// assert!(only_update.includes(Update) && !only_update.includes(PostUpdate));
    /// ```
    #[must_use]
    pub fn none() -> Self {
        Self { others: false, ..Self::all() }
    }

    /// With this schedule as one exception more: it keeps its executor if the others get one, and
    /// the other way round.
    #[must_use]
    pub fn except(mut self, label: impl ScheduleLabel) -> Self {
        self.set(label, !self.others);
        self
    }

    /// Says of one schedule whether it gets the executor.
    ///
    /// ```
    /// use bevy::prelude::*;
    /// use bevy_affinity::{AffinitySchedules, prelude::*};
    ///
    /// let mut app = App::new();
    /// app.add_plugins(AffinityParallelPlugin);
    /// app.world_mut().resource_mut::<AffinitySchedules>().set(Update, false);
    /// ```
    pub fn set(&mut self, label: impl ScheduleLabel, included: bool) {
        let label = label.intern();
        self.left_to_bevy.0.remove(&label);
        match included == self.others {
            true => _ = self.exceptions.remove(&label),
            false => _ = self.exceptions.insert(label),
        }
    }

    /// Whether this schedule gets the executor.
    pub fn includes(&self, label: impl ScheduleLabel) -> bool {
        self.includes_interned(label.intern())
    }

    pub(crate) fn includes_interned(&self, label: InternedScheduleLabel) -> bool {
        !self.left_to_bevy.0.contains(&label) && self.others != self.exceptions.contains(&label)
    }
}

#[cfg(test)]
mod tests {
    use bevy_app::{PostUpdate, Update};

    use super::*;

    #[test]
    fn exceptions_are_the_opposite_of_the_others() {
        let all = AffinitySchedules::all();
        assert!(all.includes(Update) && !all.includes(Main));
        let mut some = all.except(Update);
        assert!(!some.includes(Update) && some.includes(PostUpdate));
        some.set(Update, true);
        some.set(Main, true);
        assert!(some.includes(Update) && some.includes(Main));
        some.others = false;
        assert!(!some.includes(PostUpdate) && !some.includes(FixedMain));
        assert!(AffinitySchedules::none().except(Main).includes(Main));
    }
}
