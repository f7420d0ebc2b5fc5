//! A schedule of a user's own, with what the plugin gives to those of the world.

use bevy_ecs::schedule::Schedule;

use super::configured::tag_in;
use crate::executor::AffinityExecutor;

impl AffinityExecutor {
    /// Gives `schedule` an executor that has measured nothing yet, and a build pass that tells it
    /// what the gang needs to know. A schedule that has been built is built once more. Once is
    /// enough, but for systems that wait for a tag; each further `install` wraps the run conditions
    /// of the schedule once more. Orders that a build pass adds which comes later are not seen: add
    /// yours before.
    ///
    /// Systems that wait for their tag (`(a, b).chain().affine()`) get it now, if the schedule was
    /// not built with them yet. In a schedule that is not one of the world's those that are added
    /// later wait for another `install`: tag these first, `(a, b).affine().chain()`.
    ///
    /// The plugin does this for every schedule that is not left alone.
    ///
    /// ```
    /// use bevy::{ecs::schedule::Schedule, prelude::*};
    /// use bevy_affinity::{AffinityExecutor, prelude::*};
    ///
    /// fn simulate() {}
    ///
    /// let (mut schedule, mut world) = (Schedule::default(), World::new());
    /// world.insert_resource(AffinityPool::new(&AffinitySettings::default()));
    /// AffinityExecutor::install(&mut schedule);
    /// schedule.add_systems(simulate).run(&mut world);
    /// ```
    pub fn install(schedule: &mut Schedule) {
        tag_in(schedule);
        Self::install_for(schedule, None);
    }
}
