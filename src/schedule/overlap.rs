//! Whether two systems of a schedule could run at the same time.

#[cfg(test)]
mod tests;

use bevy_ecs::{
    prelude::{IntoSystemSet, System, SystemSet},
    schedule::graph::{Dag, Direction},
    schedule::{FixedBitSet, NodeId, Schedule, ScheduleGraph, SystemKey, SystemSetKey, SystemWithAccess},
};
use bevy_platform::collections::{HashMap, HashSet};

use super::tagged::enter;

/// Schedules with more systems than this keep their executor, unless none of the systems could
/// leave the main thread: every pair is compared, which takes some milliseconds for as many as
/// these (a hundredth of what Bevy takes to build the schedule; a third where large sets are
/// ordered). Where there are more, some could run at the same time.
const MOST_SYSTEMS: usize = 500;

/// On which thread Bevy's multi-threaded executor runs a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Thread {
    /// On the main thread, so never beside another one of these: tagged systems, and others that
    /// use what is not [`Send`].
    Main,
    /// On the main thread while no other system runs; sync points too.
    MainAlone,
    /// On any thread of Bevy's. So are systems that cannot be seen: those that Bevy has moved to an
    /// executor that did not run yet.
    Any,
}

impl Thread {
    /// What a system says itself, which it knows only after it was initialised: until then all seem
    /// to run on any thread.
    fn of(system: &SystemWithAccess) -> Self {
        match (system.access().is_exclusive(), system.is_send()) {
            (true, _) => Self::MainAlone,
            (false, false) => Self::Main,
            (false, true) => Self::Any,
        }
    }

    /// Whether systems on these threads may run at the same time if nothing else keeps them apart.
    fn may_overlap(self, other: Self) -> bool {
        self != Self::MainAlone && other != Self::MainAlone && (self == Self::Any || other == Self::Any)
    }
}

/// Whether a schedule has a tagged system, and no two of its systems could ever run at the same
/// time: one thread takes no longer for them than many.
///
/// Conditions may be left out: the executor evaluates them one by one, and, but for systems that it
/// skips anyway, when nothing runs that the system has to wait for.
pub(super) fn has_no_overlap(schedule: &Schedule) -> bool {
    let graph = schedule.graph();
    let tagged = tagged_systems(schedule);
    if tagged.is_empty() {
        return false;
    }
    let threads = threads(schedule, &tagged);
    if threads.values().all(|&thread| thread != Thread::Any) {
        return true;
    }
    threads.len() <= MOST_SYSTEMS && Order::of(graph).is_some_and(|order| order.keeps_apart(&threads))
}

/// Those that were added as such are in the set of `enter`. One that took the place of an untagged
/// system is not, but says that it would be.
fn tagged_systems(schedule: &Schedule) -> HashSet<SystemKey> {
    let (graph, tag) = (schedule.graph(), enter.into_system_set().intern());
    let members = graph.system_sets.get_key(tag).into_iter();
    let members = members.flat_map(|tag| graph.hierarchy().neighbors_directed(NodeId::Set(tag), Direction::Outgoing));
    let members = members.filter_map(|node| node.as_system());
    let others = systems(schedule).filter(|(_, system)| system.system().default_system_sets().contains(&tag));
    members.chain(others.map(|(key, _)| key)).collect()
}

/// The systems that can be seen: those that were built are with the executor, those that came since
/// still in the graph.
fn systems(schedule: &Schedule) -> impl Iterator<Item = (SystemKey, &SystemWithAccess)> {
    let graph = schedule.graph();
    let built = schedule.systems_with_access().into_iter().flatten().filter(|(key, _)| is_in(graph, *key));
    let added = graph.systems.iter().filter_map(|(key, ..)| Some((key, graph.systems.get(key)?)));
    built.chain(added)
}

/// Every system, with those that build passes added.
fn threads(schedule: &Schedule, tagged: &HashSet<SystemKey>) -> HashMap<SystemKey, Thread> {
    let graph = schedule.graph();
    let mut threads: HashMap<_, _> =
        graph.dependency().nodes().filter_map(|node| Some((node.as_system()?, Thread::Any))).collect();
    threads.extend(systems(schedule).map(|(key, system)| (key, Thread::of(system))));
    for (key, thread) in &mut threads {
        // Unless it is exclusive besides.
        if *thread == Thread::Any && tagged.contains(key) {
            *thread = Thread::Main;
        }
    }
    threads
}

/// Whether a system is still in the schedule: the executor keeps those that were removed until the
/// next build.
fn is_in(graph: &ScheduleGraph, system: SystemKey) -> bool {
    graph.systems.get_conditions(system).is_some()
}

/// In which order systems run, as far as the schedule says.
struct Order {
    /// Each system's place in an order that the schedule allows.
    places: HashMap<SystemKey, usize>,
    /// By place: the later places whose systems never run at the same time as this one, for they
    /// wait for it or conflict with it.
    apart: Vec<FixedBitSet>,
}

impl Order {
    /// Nothing if it has cycles: the build says so better.
    fn of(graph: &ScheduleGraph) -> Option<Self> {
        let systems = flattened(graph)?;
        let sorted = systems.get_toposort()?;
        let places: HashMap<_, _> = sorted.iter().enumerate().map(|(place, &key)| (key, place)).collect();
        let mut apart = vec![FixedBitSet::with_capacity(sorted.len()); sorted.len()];
        for (place, &key) in sorted.iter().enumerate().rev() {
            for next in systems.neighbors_directed(key, Direction::Outgoing) {
                let next = places[&next];
                let (earlier, later) = apart.split_at_mut(next);
                earlier[place].union_with(&later[0]);
                earlier[place].insert(next);
            }
        }
        for (a, b, _) in graph.conflicting_systems().iter() {
            if let (Some(&a), Some(&b)) = (places.get(a), places.get(b)) {
                apart[a.min(b)].insert(a.max(b));
            }
        }
        Some(Self { places, apart })
    }

    /// Whether no two systems on such threads can run at the same time.
    fn keeps_apart(&self, threads: &HashMap<SystemKey, Thread>) -> bool {
        // A build pass may have added systems besides sync points. Where, only the build knew.
        if threads.iter().any(|(key, &thread)| thread != Thread::MainAlone && !self.places.contains_key(key)) {
            return false;
        }
        let mut sorted = vec![Thread::Any; self.apart.len()];
        for (key, &place) in &self.places {
            sorted[place] = threads[key];
        }
        let mut pairs =
            (0..sorted.len()).flat_map(|earlier| (earlier + 1..sorted.len()).map(move |later| (earlier, later)));
        pairs.all(|(earlier, later)| !sorted[earlier].may_overlap(sorted[later]) || self.apart[earlier].contains(later))
    }
}

/// Which systems have to run before which others, with sets replaced by their systems as Bevy does
/// it when it builds a schedule; sorted.
fn flattened(graph: &ScheduleGraph) -> Option<Dag<SystemKey>> {
    let mut dependency = graph.dependency().clone();
    // Sets that are before themselves could not be replaced.
    dependency.ensure_toposorted().ok()?;
    let mut hierarchy = graph.hierarchy().clone();
    let members = hierarchy.group_by_key::<SystemSetKey, SystemKey>(graph.system_sets.len()).ok()?;
    let mut systems = members.flatten(dependency, |_, _, _, _| {});
    systems.ensure_toposorted().ok()?;
    Some(systems)
}
