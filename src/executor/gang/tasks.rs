//! The tasks of one run of a schedule, in the order of Bevy's single-threaded executor, and which
//! of them wait for which others.

use std::{any::TypeId, sync::Arc};

use bevy_ecs::{
    component::ComponentId,
    prelude::System,
    schedule::{ApplyDeferred, FixedBitSet, SystemWithAccess},
    system::SystemAccess,
};
use bevy_platform::collections::HashMap;

use super::{
    blueprint::{Blueprint, Conditions, SystemIdentity},
    condition::SharedCondition,
    on_leader::{Tag, may_read},
};

/// What a task does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Evaluates the conditions of these sets, outer ones first, before the first system in them.
    Sets { sets: Vec<usize>, first: usize },
    /// Evaluates the conditions of a system, and runs it if they hold.
    System(usize),
    /// Evaluates the conditions of a sync point, and applies what is deferred if they hold.
    Sync(usize),
}

impl Act {
    /// The system before which or for which it is done.
    fn system(&self) -> usize {
        let (Self::Sets { first: system, .. } | Self::System(system) | Self::Sync(system)) = self;
        *system
    }
}

/// Where a task may run; the greater, the more it is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    Anywhere,
    /// On the thread that runs the schedule.
    Leader,
    /// There, while no other task runs.
    Alone,
}

/// Whether a system may run rounds of the world's `pool`. Inside another round such a one calls all
/// indices on its thread: two systems that do so at a time would meet in what belongs to an index,
/// such as a [`PerWorker`](crate::PerWorker) that they share. So they stay on the leader's thread.
fn may_run(pool: Option<ComponentId>, access: &SystemAccess) -> bool {
    pool.is_some_and(|pool| may_read(access, pool))
}

/// One task.
pub(super) struct Task {
    pub(super) act: Act,
    /// Where it may run, as long as it leads no rounds itself.
    pub(super) place: Place,
    /// Whether its system is tagged, and so may lead rounds.
    pub(super) tagged: bool,
    /// Whether it may lead rounds: a tagged system, or one that asks for the pool.
    pub(super) may_lead: bool,
    /// Those that have to be done before it, but for those that others of these wait for.
    pub(super) before: Vec<usize>,
}

/// A schedule, as tasks; systems by their places in the executor's list.
///
/// # Invariant (order)
/// Of two tasks whose accesses conflict, their conditions' included, or of which Bevy wants one
/// before the other, the earlier one in this list is before the later one, directly or by way of
/// others. A task that has the world to itself is alone.
pub(super) struct Tasks {
    pub(super) list: Vec<Task>,
    /// By system.
    pub(super) conditions: Vec<Conditions>,
    /// By set.
    pub(super) sets: Vec<Conditions>,
    /// By system: the sets around it that have conditions.
    pub(super) sets_of: Vec<Vec<usize>>,
}

impl Tasks {
    /// The tasks of `systems`; nothing if those are not the systems of the blueprint. `pool` is the
    /// id of the world's `AffinityPool`, if it has one.
    pub(super) fn new(blueprint: &Blueprint, systems: &[SystemWithAccess], pool: Option<ComponentId>) -> Option<Self> {
        let numbers = places_in(blueprint, systems)?;
        let conditions = numbers.iter().map(|&place| blueprint.conditions[place].clone()).collect();
        let sets_of: Vec<_> = numbers.iter().map(|&place| blueprint.sets_of[place].clone()).collect();
        let mut tasks = Self { list: Vec::new(), conditions, sets: blueprint.sets.clone(), sets_of };
        let acts = tasks.acts(systems);
        let accesses: Vec<_> = acts.iter().map(|act| tasks.accesses(act, systems)).collect();
        let order = Order { blueprint, numbers: &numbers, acts: &acts, tasks: &tasks, accesses: &accesses };
        let before = order.all_before();
        let list = acts.into_iter().zip(accesses).zip(reduced(&before)).map(|((act, accesses), before)| {
            let tag = if let Act::System(system) = act { blueprint.tags[numbers[system]] } else { Tag::None };
            let runs_pool = accesses.iter().any(|access| may_run(pool, access));
            let freest = if runs_pool { Place::Leader } else { Place::Anywhere };
            let place = freest.max(tasks.place(&act, systems, tag));
            let tagged = tag != Tag::None;
            Task { act, place, tagged, may_lead: tagged || runs_pool, before }
        });
        tasks.list = list.collect();
        Some(tasks)
    }

    /// What is to be done, in order. A set is evaluated before the first system in it.
    fn acts(&self, systems: &[SystemWithAccess]) -> Vec<Act> {
        let mut evaluated = FixedBitSet::with_capacity(self.sets.len());
        let mut acts = Vec::new();
        for (place, system) in systems.iter().enumerate() {
            let sets: Vec<_> = self.sets_of[place].iter().copied().filter(|&set| !evaluated.put(set)).collect();
            if !sets.is_empty() {
                acts.push(Act::Sets { sets, first: place });
            }
            acts.push(if is_sync_point(system.system_type()) { Act::Sync(place) } else { Act::System(place) });
        }
        acts
    }

    /// The conditions that a task evaluates.
    fn conditions_of(&self, act: &Act) -> impl Iterator<Item = &SharedCondition> {
        let (sets, system): (&[usize], _) = match act {
            Act::Sets { sets, .. } => (sets, None),
            &Act::System(system) | &Act::Sync(system) => (&[], Some(system)),
        };
        let of_sets = sets.iter().flat_map(|&set| &self.sets[set]);
        of_sets.chain(system.into_iter().flat_map(|system| &self.conditions[system])).map(Arc::as_ref)
    }

    fn accesses(&self, act: &Act, systems: &[SystemWithAccess]) -> Vec<SystemAccess> {
        let own = match *act {
            Act::Sets { .. } => None,
            Act::System(system) | Act::Sync(system) => Some(systems[system].access().clone()),
        };
        own.into_iter().chain(self.conditions_of(act).map(|condition| condition.access.clone())).collect()
    }

    /// Where a task may run as Bevy sees it.
    fn place(&self, act: &Act, systems: &[SystemWithAccess], tag: Tag) -> Place {
        let conditions_are_send = || self.conditions_of(act).all(|condition| condition.is_send);
        match *act {
            Act::Sync(_) => Place::Alone,
            Act::System(system) if systems[system].access().is_exclusive() => Place::Alone,
            Act::System(system) if !systems[system].is_send() && tag != Tag::BindsAlone => Place::Leader,
            _ if !conditions_are_send() => Place::Leader,
            _ => Place::Anywhere,
        }
    }
}

/// For each of `systems` its place in the blueprint, if it has the same ones; nothing if it cannot
/// be told which is which.
fn places_in(blueprint: &Blueprint, systems: &[SystemWithAccess]) -> Option<Vec<usize>> {
    let mut places = HashMap::<SystemIdentity, Vec<usize>>::default();
    for (place, &identity) in blueprint.systems.iter().enumerate().rev() {
        places.entry(identity).or_default().push(place);
    }
    if systems.len() != blueprint.systems.len() {
        return None;
    }
    let place_of = |system: &SystemWithAccess| {
        let places = places.get_mut(&SystemIdentity::of(system))?;
        let &place = places.last()?;
        let is_clear = places.iter().all(|&other| other == place || may_stand_for(blueprint, system, place, other));
        is_clear.then(|| places.pop()).flatten()
    };
    systems.iter().map(place_of).collect()
}

/// Whether it makes no difference which of two places in the blueprint a system has. Sync points
/// are such: they have no state, and their order is that of the list, since they conflict with all
/// others. That order need not be the blueprint's: Bevy sorts anew where it drops weak orders.
fn may_stand_for(blueprint: &Blueprint, system: &SystemWithAccess, one: usize, other: usize) -> bool {
    let conditions = |place: usize| blueprint.conditions[place].iter().map(Arc::as_ptr);
    system.access().is_exclusive()
        && conditions(one).eq(conditions(other))
        && blueprint.sets_of[one] == blueprint.sets_of[other]
}

/// What says which tasks are before which.
struct Order<'a> {
    blueprint: &'a Blueprint,
    /// By system, its place in the blueprint.
    numbers: &'a [usize],
    acts: &'a [Act],
    tasks: &'a Tasks,
    accesses: &'a [Vec<SystemAccess>],
}

impl Order<'_> {
    /// For each task all that have to be done before it.
    fn all_before(&self) -> Vec<FixedBitSet> {
        let mut all = Vec::<FixedBitSet>::with_capacity(self.acts.len());
        for later in 0..self.acts.len() {
            let mut before = FixedBitSet::with_capacity(self.acts.len());
            for earlier in (0..later).rev() {
                if !before.contains(earlier) && self.is_before(earlier, later) {
                    before.insert(earlier);
                    before.union_with(&all[earlier]);
                }
            }
            all.push(before);
        }
        all
    }

    /// Whether the earlier of two tasks has to be done before the later one begins.
    fn is_before(&self, earlier: usize, later: usize) -> bool {
        let (first, after) = (&self.acts[earlier], self.acts[later].system());
        let is_wanted = || {
            let is_system = !matches!(first, Act::Sets { .. });
            is_system && self.blueprint.before[self.numbers[after]].contains(self.numbers[first.system()])
        };
        // For its systems, and before the conditions of sets inside of it.
        let is_evaluated_for = || match first {
            Act::Sets { sets, .. } => sets.iter().any(|set| self.tasks.sets_of[after].contains(set)),
            Act::System(_) | Act::Sync(_) => false,
        };
        is_wanted() || is_evaluated_for() || self.conflict(earlier, later)
    }

    /// As Bevy has it; and a system that has the world to itself conflicts with all others, also
    /// with those without any access: it may apply what they defer.
    fn conflict(&self, earlier: usize, later: usize) -> bool {
        let conflict = |access: &SystemAccess, other: &SystemAccess| {
            access.is_exclusive() || other.is_exclusive() || !access.is_compatible(other)
        };
        let with = |access| self.accesses[later].iter().any(|other| conflict(access, other));
        self.accesses[earlier].iter().any(with)
    }
}

/// For each task those before it that no other one of these waits for.
fn reduced(all_before: &[FixedBitSet]) -> Vec<Vec<usize>> {
    let reduce = |before: &FixedBitSet| {
        let mut covered = FixedBitSet::with_capacity(all_before.len());
        let mut direct = Vec::new();
        for task in (0..all_before.len()).rev().filter(|&task| before.contains(task)) {
            if !covered.contains(task) {
                direct.push(task);
                covered.union_with(&all_before[task]);
            }
        }
        direct
    };
    all_before.iter().map(reduce).collect()
}

/// Whether a system is a sync point, which Bevy knows by its type: wrapped it would be none.
pub(crate) fn is_sync_point(system: TypeId) -> bool {
    system == TypeId::of::<ApplyDeferred>()
}
