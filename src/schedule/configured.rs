//! Systems that were configured before they were tagged: `(a, b).chain().affine()`.
//!
//! Bevy does not let others look into configured systems, so the tag only notes them, as members of
//! a set. Before their schedule is built each is exchanged, in its node of the graph, for one that
//! wraps it; the node keeps its sets, its order and its conditions.

use std::{any::Any, panic::Location, sync::LazyLock};

use bevy_ecs::{
    change_detection::Tick,
    prelude::{IntoScheduleConfigs, Schedule, System, SystemSet},
    schedule::{
        ApplyDeferred, InternedSystemSet, NodeId, ScheduleConfigs, SystemKey, SystemWithAccess, graph::Direction,
    },
    system::{ScheduleSystem, SystemAccess},
};
use bevy_utils::prelude::DebugName;
use log::warn;

use super::{AffineSystems, IntoAffine, is_tagged, tag};
use crate::{executor::is_sync_point, once::OncePerKey, record::known_name};

/// Systems that are to be wrapped.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct ToBeTagged;

/// Those of them that one `.affine()` was for: a name for systems where Bevy has none.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct TaggedAt(&'static Location<'static>);

/// Tells configured systems from others.
#[doc(hidden)]
pub struct Configured;

impl IntoAffine<Configured> for ScheduleConfigs<ScheduleSystem> {
    fn affine(self) -> ScheduleConfigs<ScheduleSystem> {
        self.in_set(AffineSystems).in_set(ToBeTagged).in_set(TaggedAt(Location::caller()))
    }
}

/// Wraps those systems of a schedule that wait for it.
pub(super) fn tag_in(schedule: &mut Schedule) {
    // Once: of schedules that are still to be built this is asked in every frame.
    static TO_BE_TAGGED: LazyLock<InternedSystemSet> = LazyLock::new(|| ToBeTagged.intern());
    let graph = schedule.graph();
    let Some(set) = graph.system_sets.get_key(*TO_BE_TAGGED) else { return };
    let members = graph.hierarchy().neighbors_directed(NodeId::Set(set), Direction::Outgoing);
    let members: Vec<_> = members.filter_map(|node| node.as_system()).collect();
    for system in members {
        tag_node(schedule, system);
    }
}

fn tag_node(schedule: &mut Schedule, key: SystemKey) {
    let Some(node) = schedule.graph().systems.get(key) else { return warn_if_late(schedule, key) };
    if !waits(node) {
        return;
    }
    let name = node.name();
    if is_initialized(schedule, node) {
        return warn_late(schedule, key, &name);
    }
    let shown = shown_name(schedule, key, &name);
    if let Some(node) = schedule.graph_mut().systems.get_mut(key) {
        // As it came: in the list of what is to be initialized when the schedule is built.
        let system = std::mem::replace(node, SystemWithAccess::new(Box::new(ApplyDeferred)));
        *node = SystemWithAccess::new(Box::new(tag(system, shown)));
    }
}

/// Whether a system of `schedule` has been initialized, as far as it shows: after a build that
/// failed Bevy has such systems beside new ones, and initializes these only. One without access
/// shows it by its tick; but so does one from a builder, whose state is made before that. So
/// another system has to show it, or a condition; not a sync point, which Bevy leaves there when a
/// schedule that is built anew has no use for it.
fn is_initialized(schedule: &Schedule, system: &SystemWithAccess) -> bool {
    let systems = &schedule.graph().systems;
    let has_access = |system: &SystemWithAccess| *system.access() != SystemAccess::None;
    let has_tick = |last_run: Tick| last_run != Tick::new(0);
    let has_build_failed = || {
        systems.iter().any(|(key, _, conditions)| {
            systems.get(key).is_some_and(|system| has_access(system) && !is_sync_point(system.system_type()))
                || conditions.iter().any(|condition| has_tick(condition.condition.get_last_run()))
        })
    };
    systems.is_initialized() || has_access(system) || has_tick(system.get_last_run()) && has_build_failed()
}

/// A system that the executor has already: it was tagged before, or is too late.
fn warn_if_late(schedule: &Schedule, key: SystemKey) {
    let mut built = schedule.systems_with_access().into_iter().flatten();
    if let Some((_, system)) = built.find(|(built, system)| *built == key && waits(system)) {
        warn_late(schedule, key, &system.name());
    }
}

/// Says so once for each system: their schedules are looked through again whenever they change.
fn warn_late(schedule: &Schedule, key: SystemKey, name: &DebugName) {
    static WARNED: OncePerKey<String> = OncePerKey::new();
    let system = format!("`{}` in {:?}", shown_name(schedule, key, name), schedule.label());
    if WARNED.first(system.clone()) {
        warn!(
            "bevy_affinity: {system} is not tagged, since its schedule was built before it could be tagged: \
             put `.affine()` before `.chain()`, `.run_if(..)` and the like"
        );
    }
}

/// Bevy's name of the system; where Bevy was built without names, the place of its tag.
fn shown_name(schedule: &Schedule, key: SystemKey, name: &DebugName) -> String {
    let graph = schedule.graph();
    let sets = graph.hierarchy().neighbors_directed(NodeId::System(key), Direction::Incoming);
    let sets = sets.filter_map(|set| graph.system_sets.get(set.as_set()?));
    let tagged_at = sets.filter_map(|set| (set as &dyn Any).downcast_ref::<TaggedAt>()).next();
    match (known_name(name), tagged_at) {
        (Some(name), _) => name,
        (None, Some(TaggedAt(place))) => format!("tagged at {place}"),
        (None, None) => name.to_string(),
    }
}

/// Whether a system is still to be tagged: it was not, and is no sync point.
fn waits(system: &SystemWithAccess) -> bool {
    !is_tagged(system) && !is_sync_point(system.system_type())
}
