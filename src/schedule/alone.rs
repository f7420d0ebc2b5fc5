//! Schedules in which every system is tagged run on one thread: each system is parallel inside, and Bevy's multi-threaded
//! executor would cost about a microsecond for each of them and gain nothing.

use bevy::{
    ecs::{
        intern::Interned,
        schedule::{ApplyDeferred, MultiThreadedExecutor, Schedule, ScheduleLabel, SingleThreadedExecutor},
        system::ScheduleSystem,
    },
    platform::collections::HashMap,
    prelude::{DetectChangesMut, IntoSystemSet, Local, ResMut, Schedules, SystemSet},
};

use super::tagged::enter;

/// What was found in a schedule when it last changed.
#[derive(Clone, Copy, Default)]
pub(crate) struct Seen {
    systems: usize,
    alone: bool,
}

/// Looks at schedules whose number of systems changed, and gives each the executor that suits it.
///
/// Bevy does not tell which executor a schedule has. So a schedule is left alone unless all of its systems are tagged, and gets Bevy's default
/// executor back if that ends.
pub(crate) fn run_tagged_schedules_alone(
    mut schedules: ResMut<Schedules>,
    mut seen: Local<HashMap<Interned<dyn ScheduleLabel>, Seen>>,
) {
    for (_, schedule) in schedules.bypass_change_detection().iter_mut() {
        let seen = seen.entry(schedule.label()).or_default();
        let systems = schedule.systems_len();
        if seen.systems == systems {
            continue;
        }
        let alone = all_tagged(schedule);
        match (seen.alone, alone) {
            (false, true) => drop(schedule.set_executor(SingleThreadedExecutor::new())),
            (true, false) => drop(schedule.set_executor(MultiThreadedExecutor::new())),
            _ => {}
        }
        *seen = Seen { systems, alone };
    }
}

fn all_tagged(schedule: &Schedule) -> bool {
    let tag = enter.into_system_set().intern();
    let is_tagged = |system: &ScheduleSystem| system.default_system_sets().contains(&tag);
    let is_sync_point = |system: &ScheduleSystem| system.system_type() == std::any::TypeId::of::<ApplyDeferred>();
    let mut systems = schedule.graph().systems.iter().map(|(_, system, _)| system).peekable();
    systems.peek().is_some() && systems.all(|system| is_tagged(system) || is_sync_point(system))
}
