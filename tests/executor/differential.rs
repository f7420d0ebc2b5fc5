//! Random schedules leave the same world behind whoever runs them.

use std::{
    panic::resume_unwind,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use bevy::{
    ecs::{
        error::FallbackErrorHandler,
        message::MessageRegistry,
        schedule::{ScheduleCleanupPolicy, ScheduleConfigs},
        system::{NonSendMarker, ScheduleSystem},
    },
    prelude::*,
};
use bevy_affinity::prelude::*;
use proptest::prelude::*;

use crate::{Executor, RUNS};

const CELLS: usize = 4;
const SYSTEMS: usize = 12;
const GROUPS: usize = 3;

/// What systems write; the entities and what is not `Send` are two more, as to who comes first.
#[derive(Resource, Default)]
struct Cell<const N: usize>(u64);

#[derive(Component)]
struct Spawned;

#[derive(Component, Default)]
struct Counted(u64);

#[derive(Message)]
struct Said(u64);

#[derive(Event)]
struct Happened(u64);

#[derive(Resource, Default)]
struct Frame(u64);

/// How many entities each look found, by system.
#[derive(Resource, Default)]
struct Looks(Mutex<Vec<(u64, usize)>>);

/// How often each condition was evaluated.
#[derive(Resource, Default)]
struct Evaluations([AtomicU64; SYSTEMS + GROUPS]);

#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Set {
    Only(usize),
    Group(usize),
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Write(usize),
    Spawn,
    Despawn,
    Look,
    Exclusive,
    NonSend,
    Sync,
    /// Writes a message, and reads all that it has not read.
    Say,
    Hear,
    /// Triggers an event, on which an observer writes.
    Trigger,
    /// Writes if a cell changed since it last ran.
    Watch,
    Fail,
    Panic,
    /// Tagged, with a sweep over all entities.
    Sweep,
    /// Bevy's own parallel sweep.
    ParIter,
}

#[derive(Clone, Debug)]
struct Planned {
    kind: Kind,
    group: Option<usize>,
    /// Runs in every frame whose number is a multiple of it.
    every: Option<u64>,
    /// Runs after the systems with lower numbers for which this has a bit, besides those with which
    /// it conflicts.
    after: u16,
}

#[derive(Clone, Debug)]
struct Plan {
    systems: Vec<Planned>,
    /// The conditions of groups; the second is inside of the first.
    groups: [Option<u64>; GROUPS],
    /// Systems from this one on are added later.
    later: usize,
    /// This one is removed in the end.
    removed: usize,
    /// Whether systems that conflict are in an order.
    ordered: bool,
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        6 => (0..CELLS).prop_map(Kind::Write),
        2 => Just(Kind::Spawn),
        1 => Just(Kind::Despawn),
        2 => Just(Kind::Look),
        1 => Just(Kind::Exclusive),
        1 => Just(Kind::NonSend),
        1 => Just(Kind::Sync),
        1 => Just(Kind::Say),
        1 => Just(Kind::Hear),
        1 => Just(Kind::Trigger),
        2 => Just(Kind::Watch),
        1 => Just(Kind::Fail),
        1 => Just(Kind::Panic),
        1 => Just(Kind::Sweep),
        1 => Just(Kind::ParIter),
    ]
}

fn plan(ordered: bool) -> impl Strategy<Value = Plan> {
    let (group, every) = (prop::option::of(0..GROUPS), prop::option::weighted(0.3, 1..4_u64));
    let system = (kind(), group, every, any::<u16>(), any::<u16>());
    let system = system.prop_map(|(kind, group, every, a, b)| Planned { kind, group, every, after: a & b });
    let groups = prop::array::uniform(prop::option::of(1..4_u64));
    let plan = (prop::collection::vec(system, 1..=SYSTEMS), groups, 0..=SYSTEMS, 0..=SYSTEMS);
    plan.prop_map(move |(systems, groups, later, removed)| Plan { systems, groups, later, removed, ordered })
}

fn mix(value: u64, by: u64) -> u64 {
    (value ^ by).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)
}

fn write<const N: usize>(number: u64) -> ScheduleConfigs<ScheduleSystem> {
    (move |mut cell: ResMut<Cell<N>>| cell.0 = mix(cell.0, number)).into_configs()
}

fn say(number: u64) -> ScheduleConfigs<ScheduleSystem> {
    (move |mut said: MessageWriter<Said>, frame: Res<Frame>| _ = said.write(Said(mix(number, frame.0)))).into_configs()
}

fn hear(mut said: MessageReader<Said>, mut cell: ResMut<Cell<5>>) {
    said.read().for_each(|said| cell.0 = mix(cell.0, said.0));
}

fn watch(number: u64) -> ScheduleConfigs<ScheduleSystem> {
    (move |watched: Res<Cell<0>>, mut cell: ResMut<Cell<6>>| {
        if watched.is_changed() {
            cell.0 = mix(cell.0, mix(number, watched.0));
        }
    })
    .into_configs()
}

fn sweep(mut counts: AffineQuery<&mut Counted>) {
    counts.par_iter_mut().for_each(|mut counted| counted.0 = mix(counted.0, 3));
}

fn par_iter(mut counts: Query<&mut Counted>) {
    counts.par_iter_mut().for_each(|mut counted| counted.0 = mix(counted.0, 5));
}

fn despawn_one(spawned: Query<Entity, With<Spawned>>, mut commands: Commands) {
    if let Some(last) = spawned.iter().max() {
        commands.entity(last).despawn();
    }
}

impl Kind {
    /// What it touches, as bits: who touches the same is in an order.
    fn touches(self) -> u8 {
        match self {
            Self::Write(cell) => 1 << cell,
            Self::Spawn | Self::Despawn | Self::Look | Self::Trigger => 1 << CELLS,
            Self::NonSend => 1 << (CELLS + 1),
            Self::Exclusive => u8::MAX,
            Self::Sync | Self::Fail | Self::Panic => 0,
            Self::Say | Self::Hear => 1 << (CELLS + 2),
            Self::Watch => 1 | 1 << (CELLS + 3),
            Self::Sweep | Self::ParIter => 1 << (CELLS + 3),
        }
    }

    fn system(self, number: usize) -> ScheduleConfigs<ScheduleSystem> {
        let number = number as u64;
        match self {
            Self::Write(0) => write::<0>(number),
            Self::Write(1) => write::<1>(number),
            Self::Write(2) => write::<2>(number),
            Self::Write(_) => write::<3>(number),
            Self::Spawn => (|mut commands: Commands| _ = commands.spawn(Spawned)).into_configs(),
            Self::Despawn => despawn_one.into_configs(),
            Self::Look => (move |spawned: Query<(), With<Spawned>>, looks: Res<Looks>| {
                let found = (number, spawned.iter().count());
                looks.0.lock().unwrap_or_else(PoisonError::into_inner).push(found);
            })
            .into_configs(),
            Self::Exclusive => (move |world: &mut World| {
                let spawned = world.query::<&Spawned>().iter(world).count() as u64;
                let mut cell = world.resource_mut::<Cell<0>>();
                cell.0 = mix(cell.0, mix(number, spawned));
            })
            .into_configs(),
            Self::NonSend => (move |_: NonSendMarker, mut sum: Local<u64>, mut cell: ResMut<Cell<4>>| {
                *sum = mix(*sum, number);
                cell.0 = mix(cell.0, *sum);
            })
            .into_configs(),
            Self::Sync => ApplyDeferred.into_configs(),
            Self::Say => say(number),
            Self::Hear => hear.into_configs(),
            Self::Trigger => (move |mut commands: Commands| commands.trigger(Happened(number))).into_configs(),
            Self::Watch => watch(number),
            Self::Fail => (|| -> Result { Err("meant to be".into()) }).into_configs(),
            // No panic hook, which would print each of them.
            Self::Panic => (|| -> () { resume_unwind(Box::new("meant to be")) }).into_configs(),
            Self::Sweep => sweep.affine(),
            Self::ParIter => par_iter.into_configs(),
        }
    }
}

/// A condition that holds in every so many frames, and counts.
fn holds(place: usize, every: u64) -> impl FnMut(Res<Frame>, Res<Evaluations>) -> bool + Clone {
    move |frame, evaluations| {
        evaluations.0[place].fetch_add(1, Ordering::Relaxed);
        frame.0.is_multiple_of(every)
    }
}

impl Plan {
    fn add(&self, schedule: &mut Schedule, number: usize) {
        let Planned { kind, group, every, after } = self.systems[number];
        let mut system = kind.system(number).in_set(Set::Only(number));
        let conflict = |&before: &usize| self.ordered && self.systems[before].kind.touches() & kind.touches() != 0;
        for before in (0..number).filter(conflict) {
            system = system.after(Set::Only(before));
        }
        for before in (0..number).filter(|before| after >> before & 1 == 1) {
            system = system.after(Set::Only(before));
        }
        if let Some(every) = every {
            system = system.run_if(holds(number, every));
        }
        if let Some(group) = group {
            system = system.in_set(Set::Group(group));
        }
        schedule.add_systems(system);
    }

    fn schedule(&self, executor: Executor) -> Schedule {
        let mut schedule = Schedule::default();
        executor.give_to(&mut schedule);
        schedule.configure_sets(Set::Group(1).in_set(Set::Group(0)));
        for (group, every) in self.groups.iter().enumerate() {
            if let Some(every) = every {
                schedule.configure_sets(Set::Group(group).run_if(holds(SYSTEMS + group, *every)));
            }
        }
        (0..self.systems.len().min(self.later)).for_each(|number| self.add(&mut schedule, number));
        schedule
    }

    /// What is left behind: cells, entities, looks, evaluations.
    fn leaves(&self, executor: Executor) -> impl PartialEq + std::fmt::Debug + use<> {
        let (mut schedule, mut world) = (self.schedule(executor), executor.world());
        world.init_resource::<Frame>();
        world.init_resource::<Looks>();
        world.init_resource::<Evaluations>();
        world.init_resource::<Cell<0>>();
        world.init_resource::<Cell<1>>();
        world.init_resource::<Cell<2>>();
        world.init_resource::<Cell<3>>();
        world.init_resource::<Cell<4>>();
        world.init_resource::<Cell<5>>();
        world.init_resource::<Cell<6>>();
        world.insert_resource(FallbackErrorHandler(|_, _| {}));
        world.spawn_batch((0..100).map(|_| Counted::default()));
        MessageRegistry::register_message::<Said>(&mut world);
        world.add_observer(|happened: On<Happened>, mut cell: ResMut<Cell<7>>| cell.0 = mix(cell.0, happened.0));
        world.init_resource::<Cell<7>>();
        for run in 0..RUNS {
            if run == RUNS / 2 {
                (self.later..self.systems.len()).for_each(|number| self.add(&mut schedule, number));
            }
            if run == RUNS * 3 / 4 {
                let removed = Set::Only(self.removed);
                // It may not be there.
                let _ = schedule.remove_systems_in_set(removed, &mut world, ScheduleCleanupPolicy::RemoveSystemsOnly);
            }
            world.resource_mut::<Frame>().0 += 1;
            world.resource_mut::<Messages<Said>>().update();
            schedule.run(&mut world);
        }
        let cells = [
            world.resource::<Cell<0>>().0,
            world.resource::<Cell<1>>().0,
            world.resource::<Cell<2>>().0,
            world.resource::<Cell<3>>().0,
            world.resource::<Cell<4>>().0,
            world.resource::<Cell<5>>().0,
            world.resource::<Cell<6>>().0,
            world.resource::<Cell<7>>().0,
        ];
        let counts: Vec<_> = world.query::<&Counted>().iter(&world).map(|counted| counted.0).collect();
        let spawned = world.query::<&Spawned>().iter(&world).count();
        let looks = std::mem::take(&mut world.resource_mut::<Looks>().0);
        let mut looks = looks.into_inner().unwrap_or_else(PoisonError::into_inner);
        if !self.ordered {
            // Looks do not conflict.
            looks.sort_unstable();
        }
        let evaluations = &world.resource::<Evaluations>().0;
        let evaluations: Vec<_> = evaluations.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        (cells, counts, spawned, looks, evaluations)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn the_same_world_is_left_behind(plan in plan(true)) {
        let [single, multi, ours @ ..] = Executor::ALL.map(|executor| plan.leaves(executor));
        prop_assert_eq!(&single, &multi, "Bevy's executors differ");
        for ours in ours {
            prop_assert_eq!(&single, &ours);
        }
    }

    /// Where systems conflict that are in no order, the gang runs them in that of one thread. Only
    /// the looks of several systems may come in another order.
    #[test]
    fn on_the_gang_systems_that_conflict_run_in_the_order_of_one_thread(plan in plan(false)) {
        // With one worker there is no gang. What conflicts is listed by Bevy as the build went.
        let single = plan.leaves(Executor::Gang(1));
        for workers in 2..=4 {
            prop_assert_eq!(&single, &plan.leaves(Executor::Gang(workers)), "{} workers", workers);
        }
    }
}
