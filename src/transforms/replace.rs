//! Bevy's systems: out of the way, except in its own mode.

use bevy::{
    app::{PostStartup, PostUpdate},
    ecs::schedule::{InternedSystemSet, ScheduleCleanupPolicy, ScheduleError, ScheduleLabel},
    prelude::{IntoScheduleConfigs, IntoSystemSet, Schedule, SystemSet, TransformSystems, World, not},
    transform::systems::{mark_dirty_trees, propagate_parent_transforms, sync_simple_transforms},
};
use log::warn;

use super::is_ours;

/// Runs once, when all plugins have added their systems, and before these run: systems can only be taken out of a schedule that has been built,
/// and building it earlier would miss what later plugins prepare.
pub(super) fn take_bevys_place(world: &mut World) {
    for label in [PostStartup.intern(), PostUpdate.intern()] {
        // This plugin has added systems to both schedules; whoever has removed one since does not need it.
        _ = world.try_schedule_scope(label, |world, schedule| replace_in(schedule, world));
    }
}

fn replace_in(schedule: &mut Schedule, world: &mut World) {
    for system in bevys_systems() {
        match schedule.remove_systems_in_set(system, world, ScheduleCleanupPolicy::RemoveSystemsOnly) {
            // Without `TransformPlugin` there are none.
            Ok(_) | Err(ScheduleError::SetNotFound) => {}
            Err(error) => warn!(
                "bevy_affinity: transforms are propagated twice, since Bevy's systems cannot be taken out of {:?}: {error}",
                schedule.label()
            ),
        }
    }
    let systems = (mark_dirty_trees, propagate_parent_transforms, sync_simple_transforms);
    schedule.add_systems(systems.chain().in_set(TransformSystems::Propagate).run_if(not(is_ours)));
}

fn bevys_systems() -> [InternedSystemSet; 3] {
    [
        mark_dirty_trees.into_system_set().intern(),
        propagate_parent_transforms.into_system_set().intern(),
        sync_simple_transforms.into_system_set().intern(),
    ]
}
