//! Schedules in which no two systems could run at the same time anyway run on one thread. Bevy's
//! multi-threaded executor would cost about a microsecond for each system there, and some 10 us for
//! each change from a tagged system to an untagged one and back, and gain nothing.

use bevy_ecs::{
    intern::Interned,
    prelude::{DetectChangesMut, Local, ResMut, Schedules},
    schedule::{MultiThreadedExecutor, Schedule, ScheduleLabel, SingleThreadedExecutor},
};
use bevy_platform::collections::HashMap;

use super::{configured::tag_in, overlap::has_no_overlap};

/// What was found in a schedule when it was last looked into.
#[derive(Clone, Copy, Default)]
pub(crate) struct Seen {
    shape: Shape,
    alone: bool,
}

/// What tells in some nanoseconds that a schedule is no longer the one that was looked into. What
/// it misses (a system was replaced by another within a frame) costs time, never a wrong order:
/// either executor keeps that.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Shape {
    systems: usize,
    memberships: usize,
    orders: usize,
    conflicts: usize,
    /// Since it was last built. Systems that have not been through that do not say yet what they
    /// access and on which thread, so they are looked at once more when it is over.
    changed: bool,
}

impl Shape {
    fn of(schedule: &Schedule) -> Self {
        let graph = schedule.graph();
        Self {
            systems: graph.systems.len(),
            memberships: graph.hierarchy().edge_count(),
            orders: graph.dependency().edge_count(),
            conflicts: graph.conflicting_systems().len(),
            changed: schedule.is_changed(),
        }
    }
}

/// Looks into schedules that have changed: tags what waits for it, and gives each the executor that
/// suits it.
///
/// Bevy does not tell which executor a schedule has. So a schedule is left alone unless a system of
/// it is tagged and none could run beside another, and gets Bevy's default executor back if that
/// ends.
pub(crate) fn choose_executors(
    mut schedules: ResMut<Schedules>,
    mut seen: Local<HashMap<Interned<dyn ScheduleLabel>, Seen>>,
) {
    // Bevy's default is one thread there.
    if cfg!(target_arch = "wasm32") {
        return;
    }
    for (_, schedule) in schedules.bypass_change_detection().iter_mut() {
        let seen = seen.entry(schedule.label()).or_default();
        let shape = Shape::of(schedule);
        if seen.shape == shape {
            continue;
        }
        tag_in(schedule);
        let alone = has_no_overlap(schedule);
        match (seen.alone, alone) {
            (false, true) => drop(schedule.set_executor(SingleThreadedExecutor::new())),
            (true, false) => drop(schedule.set_executor(MultiThreadedExecutor::new())),
            _ => {}
        }
        *seen = Seen { shape, alone };
    }
}
