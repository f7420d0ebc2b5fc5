//! What Bevy shows of a schedule while it is built: orders, conditions and sets.

use std::{
    any::TypeId,
    sync::{Arc, Mutex, MutexGuard, Weak},
};

use bevy_ecs::{
    prelude::{System, World},
    schedule::{
        ConditionWithAccess, FixedBitSet, FlattenedDependencies, NodeId, Schedule, ScheduleBuildError,
        ScheduleBuildPass, ScheduleGraph, SystemKey, SystemSetKey, SystemWithAccess,
        graph::{DiGraph, Direction},
    },
};
use bevy_platform::{
    collections::{HashMap, HashSet},
    hash::FixedHasher,
};
use indexmap::IndexSet;

use super::{
    condition::{SharedCondition, SharedConditions},
    on_leader::Tag,
};
use crate::sync::lock;

/// Schedules of more systems do not go to the gang: which waits for which is found out by comparing
/// each with each. That takes some ten milliseconds for this many.
const MOST_SYSTEMS: usize = 1_000;

/// The conditions of one system or set.
pub(super) type Conditions = Vec<Arc<SharedCondition>>;

/// A system by the address of its box and its type: what build pass and executor both see. Systems
/// without a size share addresses: those of one type cannot be told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct SystemIdentity(usize, TypeId);

impl SystemIdentity {
    pub(super) fn of(system: &SystemWithAccess) -> Self {
        Self((&raw const **system.system()).cast::<()>() as usize, system.system_type())
    }
}

/// A schedule as it was when it was built. The numbers of systems are places in `systems`, in an
/// order that the executor need not have.
pub(super) struct Blueprint {
    pub(super) systems: Vec<SystemIdentity>,
    /// By system.
    pub(super) tags: Vec<Tag>,
    /// By system: those that have to be done before it, also by way of others.
    pub(super) before: Vec<FixedBitSet>,
    pub(super) conditions: Vec<Conditions>,
    /// Those of each set that has any, outer sets first.
    pub(super) sets: Vec<Conditions>,
    /// By system: the sets with conditions that it is in, outer ones first.
    pub(super) sets_of: Vec<Vec<usize>>,
}

/// Where a build pass leaves what it saw, for the executor of the same schedule. Both are in the
/// schedule: what its conditions hold goes with it.
#[derive(Clone, Default)]
pub(in crate::executor) struct BlueprintSlot(Arc<Mutex<Seen>>);

/// The slot of a schedule that may be gone.
pub(in crate::executor) struct WeakBlueprintSlot(Weak<Mutex<Seen>>);

impl WeakBlueprintSlot {
    /// The slot, if the schedule, or its executor, is there still.
    pub(in crate::executor) fn slot(&self) -> Option<BlueprintSlot> {
        self.0.upgrade().map(BlueprintSlot)
    }
}

/// What a build pass saw.
#[derive(Default)]
struct Seen {
    blueprint: Option<Arc<Blueprint>>,
    /// Whether that is of a build which no executor has seen yet.
    is_new: bool,
    shared: SharedConditions,
    /// Asked of systems that are new.
    tags: HashMap<SystemIdentity, Tag>,
    conditions_defer: bool,
    /// No executor reads it any more.
    is_let_go: bool,
}

impl BlueprintSlot {
    pub(in crate::executor) fn downgrade(&self) -> WeakBlueprintSlot {
        WeakBlueprintSlot(Arc::downgrade(&self.0))
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        lock(&self.0)
    }

    /// What was seen before is of no use any more, nor are conditions that are gone. False if
    /// nothing is to be seen again.
    fn begin(&self) -> bool {
        let mut seen = self.seen();
        (seen.blueprint, seen.is_new, seen.conditions_defer) = (None, false, false);
        let (is_let_go, removed) = (seen.is_let_go, seen.shared.take_removed());
        // Without the lock, as in `let_go`.
        drop(seen);
        drop(removed);
        !is_let_go
    }

    /// A build is over: forgets a blueprint of an earlier one. A pass of others that fails takes
    /// all passes of its schedule along, and the next build has none.
    pub(in crate::executor) fn keep_if_new(&self) {
        let mut seen = self.seen();
        if !std::mem::take(&mut seen.is_new) && seen.blueprint.take().is_some() {
            // As far as is known.
            seen.conditions_defer = true;
        }
    }

    pub(super) fn blueprint(&self) -> Option<Arc<Blueprint>> {
        self.seen().blueprint.clone()
    }

    /// Whether a run condition of the schedule defers effects.
    pub(in crate::executor) fn conditions_defer(&self) -> bool {
        self.seen().conditions_defer
    }

    /// Forgets all, for good: no executor reads it any more. The schedule, if it is there still, is
    /// seen no more, or its conditions would be shared anew, each behind the one before, at each
    /// build.
    pub(in crate::executor) fn let_go(&self) {
        let seen = std::mem::replace(&mut *self.seen(), Seen { is_let_go: true, ..Seen::default() });
        // Without the lock: what conditions hold is dropped here, by code of users.
        drop(seen);
    }

    /// Fills the slot whenever `schedule` is built, after all passes that it has now: what they add
    /// is seen.
    pub(in crate::executor) fn watch(&self, schedule: &mut Schedule) {
        schedule.remove_build_pass::<BlueprintPass>();
        schedule.add_build_pass(BlueprintPass(self.clone()));
    }
}

impl Seen {
    /// What is seen of a schedule, but for orders.
    fn blueprint_of(&mut self, world: &mut World, graph: &mut ScheduleGraph, keys: &[SystemKey]) -> Option<Blueprint> {
        let shared = &mut self.shared;
        let systems: Vec<_> =
            keys.iter().map(|&key| graph.systems.get(key).map(SystemIdentity::of)).collect::<Option<_>>()?;
        let conditions = keys.iter().map(|&key| share(shared, world, graph.systems.get_conditions_mut(key)));
        let conditions = conditions.collect::<Option<_>>()?;
        let hierarchy = graph.hierarchy().get_toposort()?.to_vec();
        let (mut sets, mut numbers) = (Vec::new(), HashMap::new());
        for set in hierarchy.into_iter().filter_map(|node| node.as_set()) {
            let conditions = share(shared, world, graph.system_sets.get_conditions_mut(set))?;
            if !conditions.is_empty() {
                numbers.insert(set, sets.len());
                sets.push(conditions);
            }
        }
        let sets_of = keys.iter().map(|&key| sets_of(graph, key, &numbers)).collect();
        self.ask_for_tags(world, graph, keys);
        let tag = |system| self.tags.get(system).copied().unwrap_or(Tag::AmongOthers);
        let tags = systems.iter().map(tag).collect();
        Some(Blueprint { systems, tags, before: Vec::new(), conditions, sets, sets_of })
    }

    /// Asks systems that are new for their tags, and forgets those that are gone.
    fn ask_for_tags(&mut self, world: &mut World, graph: &mut ScheduleGraph, keys: &[SystemKey]) {
        let known = std::mem::take(&mut self.tags);
        for &key in keys {
            let Some(system) = graph.systems.get_mut(key) else { continue };
            let identity = SystemIdentity::of(system);
            self.tags.insert(identity, Tag::of(system, world, known.get(&identity).copied()));
        }
    }
}

/// Whether a condition of one of the systems, or of a set, defers effects.
fn have_deferring_conditions(graph: &ScheduleGraph, keys: &[SystemKey]) -> bool {
    let of_systems = keys.iter().filter_map(|&key| graph.systems.get_conditions(key)).flatten();
    let sets = graph.hierarchy().nodes().filter_map(|node| node.as_set());
    let of_sets = sets.filter_map(|set| graph.system_sets.get_conditions(set)).flatten();
    of_systems.chain(of_sets).any(|condition| condition.condition.has_deferred())
}

/// Shares conditions; nothing if one cannot be shared.
fn share(
    shared: &mut SharedConditions,
    world: &mut World,
    given: Option<&mut Vec<ConditionWithAccess>>,
) -> Option<Conditions> {
    given.into_iter().flatten().map(|condition| shared.share(world, condition)).collect()
}

/// Draws a blueprint whenever its schedule is built.
struct BlueprintPass(BlueprintSlot);

impl Drop for BlueprintPass {
    /// A build that fails drops its passes: it is over without being seen by an executor.
    fn drop(&mut self) {
        self.0.seen().is_new = false;
    }
}

/// The sets with conditions around a system, outer ones first.
fn sets_of(graph: &ScheduleGraph, key: SystemKey, numbers: &HashMap<SystemSetKey, usize>) -> Vec<usize> {
    let (mut around, mut seen) = (vec![NodeId::System(key)], HashSet::new());
    while let Some(node) = around.pop() {
        let parents = graph.hierarchy().neighbors_directed(node, Direction::Incoming);
        around.extend(parents.filter(|&parent| seen.insert(parent)));
    }
    let mut sets: Vec<_> = seen.into_iter().filter_map(|node| numbers.get(&node.as_set()?).copied()).collect();
    sets.sort_unstable();
    sets
}

/// For each system those that have to be done before it, also by way of others.
fn all_before(keys: &[SystemKey], dependencies: &DiGraph<SystemKey>) -> Vec<FixedBitSet> {
    let places: HashMap<_, _> = keys.iter().enumerate().map(|(place, &key)| (key, place)).collect();
    let mut before = Vec::<FixedBitSet>::with_capacity(keys.len());
    for &key in keys {
        let mut all = FixedBitSet::with_capacity(keys.len());
        for place in dependencies.neighbors_directed(key, Direction::Incoming).map(|before| places[&before]) {
            all.insert(place);
            all.union_with(&before[place]);
        }
        before.push(all);
    }
    before
}

/// Whether functions may be exchanged while the app runs: only Bevy's executors know how.
fn may_be_patched(world: &World) -> bool {
    world.components().iter_registered().any(|(_, info)| info.name().to_string().ends_with("::HotPatchChanges"))
}

impl ScheduleBuildPass for BlueprintPass {
    type EdgeOptions = ();

    fn add_dependency(&mut self, _: NodeId, _: NodeId, _: Option<&()>) {}

    fn collapse_set(
        &mut self,
        _: SystemSetKey,
        _: &IndexSet<SystemKey, FixedHasher>,
        _: &DiGraph<NodeId>,
    ) -> impl Iterator<Item = (NodeId, NodeId)> {
        std::iter::empty()
    }

    fn build(
        &mut self,
        world: &mut World,
        graph: &mut ScheduleGraph,
        mut dependencies: FlattenedDependencies<'_>,
    ) -> Result<(), ScheduleBuildError> {
        let Self(slot) = self;
        if !slot.begin() {
            return Ok(());
        }
        // Sync points that the pass before has put in know nothing of themselves yet.
        graph.initialize(world);
        // Where it cannot be sorted Bevy itself says so.
        let Ok((keys, dependencies)) = dependencies.toposort_and_graph() else { return Ok(()) };
        let mut seen = slot.seen();
        // Of interest for Bevy's executors, too.
        seen.conditions_defer = have_deferring_conditions(graph, keys);
        if may_be_patched(world) || keys.len() > MOST_SYSTEMS {
            return Ok(());
        }
        let before = all_before(keys, dependencies);
        let blueprint = seen.blueprint_of(world, graph, keys).map(|seen| Blueprint { before, ..seen });
        (seen.blueprint, seen.is_new) = (blueprint.map(Arc::new), true);
        Ok(())
    }
}

impl std::fmt::Debug for BlueprintPass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BlueprintPass")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pass that does this to the graph.
    #[derive(Debug)]
    struct Other(fn(&ScheduleGraph, FlattenedDependencies<'_>) -> Result<(), ScheduleBuildError>);

    impl ScheduleBuildPass for Other {
        type EdgeOptions = ();

        fn add_dependency(&mut self, _: NodeId, _: NodeId, _: Option<&()>) {}

        fn collapse_set(
            &mut self,
            _: SystemSetKey,
            _: &IndexSet<SystemKey, FixedHasher>,
            _: &DiGraph<NodeId>,
        ) -> impl Iterator<Item = (NodeId, NodeId)> {
            std::iter::empty()
        }

        fn build(
            &mut self,
            _: &mut World,
            graph: &mut ScheduleGraph,
            dependencies: FlattenedDependencies<'_>,
        ) -> Result<(), ScheduleBuildError> {
            (self.0)(graph, dependencies)
        }
    }

    #[test]
    fn what_a_later_pass_adds_is_seen() {
        let (mut schedule, slot) = (Schedule::default(), BlueprintSlot::default());
        slot.watch(&mut schedule);
        // The second system waits for the first.
        let order = Other(|graph, mut dependencies| {
            let keys: Vec<_> = graph.systems.iter().map(|(key, ..)| key).collect();
            dependencies.add_edge(keys[0], keys[1]);
            Ok(())
        });
        schedule.add_build_pass(order).add_systems((|| {}, || {}));
        slot.watch(&mut schedule);
        schedule.initialize(&mut World::new()).expect("it can be sorted");
        let blueprint = slot.blueprint().expect("it was seen");
        assert_eq!(blueprint.before.iter().map(|before| before.count_ones(..)).sum::<usize>(), 1);
    }

    #[test]
    fn what_a_build_without_the_pass_did_is_not_taken_for_what_an_earlier_one_saw() {
        let (mut schedule, slot) = (Schedule::default(), BlueprintSlot::default());
        slot.watch(&mut schedule);
        schedule.add_systems(|| {});
        schedule.initialize(&mut World::new()).expect("it can be sorted");
        slot.keep_if_new();
        assert!(slot.blueprint().is_some());
        slot.keep_if_new();
        assert!(slot.blueprint().is_none());
    }

    /// The build fails behind the pass, and is made again without it.
    #[test]
    fn what_was_seen_of_a_build_that_failed_is_of_no_use() {
        let (mut schedule, slot) = (Schedule::default(), BlueprintSlot::default());
        slot.watch(&mut schedule);
        schedule.add_systems(|| {}).add_build_pass(Other(|_, _| Err(ScheduleBuildError::Uninitialized)));
        let mut world = World::new();
        assert!(schedule.initialize(&mut world).is_err() && slot.blueprint().is_some());
        schedule.initialize(&mut world).expect("no pass is left");
        slot.keep_if_new();
        assert!(slot.blueprint().is_none());
    }
}
