//! Ours in the places of Bevy's systems.
//!
//! What a schedule knows about a system (its sets, what is ordered before and after it, its
//! conditions) belongs to a node of the schedule's graph. Each of Bevy's three nodes keeps all of
//! that; only the system in it is exchanged, before it was initialized. So whatever a user says
//! about Bevy's systems holds for ours, said earlier or later, and nothing is initialized or built
//! earlier than without the plugin.

use std::any::TypeId;

use bevy_app::{PostStartup, PostUpdate};
use bevy_ecs::{
    prelude::{IntoScheduleConfigs, IntoSystem, IntoSystemSet, ResMut, Schedule, Schedules, SystemSet},
    schedule::graph::Direction,
    schedule::{InternedSystemSet, NodeId, ScheduleConfigs, ScheduleGraph, ScheduleLabel, SystemKey, SystemWithAccess},
    system::{ScheduleSystem, SystemAccess},
};
use bevy_transform::{TransformSystems, systems as bevys};
use log::warn;

use super::{
    either::{Choice, either},
    mark::mark_dirty_trees,
    place::{propagate_parent_transforms, sync_simple_transforms},
};
use crate::schedule::tag;

/// Takes the places of those systems of Bevy's that have been added.
pub(super) fn take_places(schedules: &mut Schedules, choice: &Choice) {
    for_each_schedule(schedules, |schedule| _ = take_all(schedule, choice));
}

/// Takes them when all plugins have added their systems. Where Bevy's plugin is missing, so are the
/// places: they are made.
pub(super) fn make_and_take_places(mut schedules: ResMut<Schedules>, choice: &Choice) {
    for_each_schedule(&mut schedules, |schedule| {
        make_places(schedule);
        if !take_all(schedule, choice) {
            warn!(
                "bevy_affinity: Bevy's systems propagate transforms in {:?} in every mode, \
                 since it was run or initialized before the app has started: \
                 add `TransformPlugin` before `AffinityTransformPlugin`",
                schedule.label()
            );
        }
    });
}

/// One of those that are made, by its number in the order of the three.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Made(usize);

/// Adds those systems of Bevy's that are missing, in Bevy's order. Not all three where one is: what
/// a user has ordered by that function would be ordered by two systems, which Bevy refuses.
fn make_places(schedule: &mut Schedule) {
    let slots = Slot::all();
    let graph = schedule.graph();
    let missing = slots.each_ref().map(|slot| slot.nodes(graph).is_empty());
    // What others are ordered by: a function that stands there twice would be refused.
    let orders: [Option<InternedSystemSet>; 3] = std::array::from_fn(|other| match missing[other] {
        true => Some(Made(other).intern()),
        false => Some(slots[other].set).filter(|_| slots[other].is_one(graph)),
    });
    for (number, slot) in slots.iter().enumerate().filter(|&(number, _)| missing[number]) {
        let mut system = (slot.add)().in_set(Made(number));
        for set in orders[..number].iter().flatten() {
            system = system.after(*set);
        }
        for set in orders[number + 1..].iter().flatten() {
            system = system.before(*set);
        }
        schedule.add_systems(system);
    }
}

/// Returns whether none of Bevy's systems is left.
fn take_all(schedule: &mut Schedule, choice: &Choice) -> bool {
    // All are tried, whether an earlier one was too late or not.
    Slot::all().iter().filter(|slot| !slot.take(schedule, choice)).count() == 0
}

/// A schedule that was removed needs no systems.
fn for_each_schedule(schedules: &mut Schedules, act: impl Fn(&mut Schedule)) {
    for label in [PostStartup.intern(), PostUpdate.intern()] {
        schedules.get_mut(label).into_iter().for_each(&act);
    }
}

/// One of Bevy's systems, and what takes its place.
struct Slot {
    set: InternedSystemSet,
    bevys: TypeId,
    /// Bevy's system, to be added where it is missing.
    add: Box<dyn Fn() -> ScheduleConfigs<ScheduleSystem>>,
    ours: fn(&Choice) -> ScheduleSystem,
}

impl Slot {
    fn all() -> [Self; 3] {
        [
            Self::of(bevys::mark_dirty_trees, |choice| mark(choice.clone())),
            Self::of(bevys::propagate_parent_transforms, |choice| propagate(choice.clone())),
            Self::of(bevys::sync_simple_transforms, |choice| sync(choice.clone())),
        ]
    }

    fn of<S, M, SetMarker>(bevys: S, ours: fn(&Choice) -> ScheduleSystem) -> Self
    where
        S: IntoSystem<(), (), M> + IntoScheduleConfigs<ScheduleSystem, M> + IntoSystemSet<SetMarker> + Copy + 'static,
    {
        let add = Box::new(move || bevys.in_set(TransformSystems::Propagate));
        Self { set: bevys.into_system_set().intern(), bevys: bevys.system_type_id(), add, ours }
    }

    /// Where the system is in the set in which Bevy's plugin puts it. Those that a user has put
    /// elsewhere stay what they are.
    fn nodes(&self, graph: &ScheduleGraph) -> Vec<SystemKey> {
        let propagate = TransformSystems::Propagate.intern();
        let nodes = members(graph, self.set).filter(|node| members(graph, propagate).any(|other| other == *node));
        nodes.filter_map(|node| node.as_system()).collect()
    }

    /// Whether it is added once, wherever: then others may be ordered by it.
    fn is_one(&self, graph: &ScheduleGraph) -> bool {
        members(graph, self.set).count() == 1
    }

    /// Returns whether Bevy's system is not there any more.
    fn take(&self, schedule: &mut Schedule, choice: &Choice) -> bool {
        let nodes = self.nodes(schedule.graph());
        let (late, early): (Vec<_>, Vec<_>) = nodes.into_iter().partition(|&node| self.is_late(schedule, node));
        for node in early {
            if let Some(system) = schedule.graph_mut().systems.get_mut(node)
                && system.system().system_type() == self.bevys
            {
                // As it came: in the list of what is to be initialized when the schedule is built.
                *system = SystemWithAccess::new((self.ours)(choice));
            }
        }
        late.is_empty()
    }

    /// Whether Bevy's system is there, and has been initialized.
    fn is_late(&self, schedule: &Schedule, node: SystemKey) -> bool {
        let systems = &schedule.graph().systems;
        // After a build that failed Bevy has systems with access beside new ones, and initializes
        // only these.
        let is_initialized =
            |system: &&SystemWithAccess| systems.is_initialized() || *system.access() != SystemAccess::None;
        let initialized = systems.get(node).filter(is_initialized).map(SystemWithAccess::system);
        let built = schedule.systems().into_iter().flatten().filter(|(key, _)| *key == node).map(|(_, system)| system);
        initialized.into_iter().chain(built).any(|system| system.system_type() == self.bevys)
    }
}

fn members(graph: &ScheduleGraph, set: InternedSystemSet) -> impl Iterator<Item = NodeId> {
    let set = graph.system_sets.get_key(set).into_iter();
    set.flat_map(|set| graph.hierarchy().neighbors_directed(NodeId::Set(set), Direction::Outgoing))
}

fn mark(choice: Choice) -> ScheduleSystem {
    let first = either(bevys::mark_dirty_trees, mark_dirty_trees, move || choice.is_bevy_now());
    let name = "bevy_affinity::transforms::mark_dirty_trees";
    Box::new(tag(IntoSystem::into_system(first).with_name(name), name.into()))
}

fn propagate(choice: Choice) -> ScheduleSystem {
    let second = either(bevys::propagate_parent_transforms, propagate_parent_transforms, move || choice.is_bevy());
    let name = "bevy_affinity::transforms::propagate_parent_transforms";
    Box::new(tag(IntoSystem::into_system(second).with_name(name), name.into()))
}

fn sync(choice: Choice) -> ScheduleSystem {
    let third = either(bevys::sync_simple_transforms, sync_simple_transforms, move || choice.is_bevy());
    let name = "bevy_affinity::transforms::sync_simple_transforms";
    Box::new(tag(IntoSystem::into_system(third).with_name(name), name.into()))
}
