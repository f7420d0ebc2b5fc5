//! What else the executor does as Bevy's do.

use std::sync::Mutex;

use bevy::{
    ecs::{
        error::FallbackErrorHandler,
        schedule::{ScheduleBuildSettings, ScheduleConfigs},
        system::{Deferred, ScheduleSystem, SystemBuffer, SystemMeta},
        world::DeferredWorld,
    },
    prelude::*,
};
use bevy_affinity::prelude::*;

use crate::{Executor, Own, RUNS, common::Scheduling};

#[derive(Component)]
struct Spawned;

#[derive(Resource, Default)]
struct Count(usize);

fn spawn(mut commands: Commands) {
    commands.spawn(Spawned);
}

fn count_up(mut count: ResMut<Count>) {
    count.0 += 1;
}

fn light() {}

fn spawned(world: &mut World) -> usize {
    world.query::<&Spawned>().iter(world).count()
}

#[test]
fn effects_are_left_for_later_where_the_schedule_says_so() {
    for executor in Executor::ALL {
        let (mut schedule, mut world) = executor.schedule_and_world();
        schedule.add_systems(spawn).set_apply_final_deferred(false);
        for run in 1..=RUNS {
            schedule.run(&mut world);
            assert_eq!(spawned(&mut world), run - 1, "{executor:?}");
            schedule.apply_deferred(&mut world);
            assert_eq!(spawned(&mut world), run, "{executor:?}");
        }
    }
}

#[test]
fn effects_that_are_left_come_at_the_next_sync_point() {
    let found = Executor::ALL.map(|executor| {
        let (mut schedule, mut world) = executor.schedule_and_world();
        world.init_resource::<Count>();
        let odd = |count: Res<Count>| count.0 % 2 == 1;
        schedule.add_systems((count_up, ApplyDeferred, spawn.run_if(odd)).chain_ignore_deferred());
        let run = |run| {
            // The last of each ten, and some of the last runs, leave nothing.
            schedule.set_apply_final_deferred(run % 10 == 9 || run > RUNS / 2);
            schedule.run(&mut world);
            spawned(&mut world)
        };
        (0..RUNS).map(run).collect::<Vec<_>>()
    });
    assert!(found.iter().all(|other| *other == found[0]), "{found:?}");
}

/// Bevy's executors differ there: a world must not go back and forth between them.
#[test]
fn where_executors_differ_its_default_is_taken() {
    let exclusive = |_: &mut World| {};
    let spawn_behind = |_: In<()>, mut commands: Commands| _ = commands.spawn(Spawned);
    let count = |spawned: Query<&Spawned>, mut count: ResMut<Count>| count.0 = spawned.iter().count();
    let spawning_condition = |mut commands: Commands| {
        commands.spawn(Spawned);
        true
    };
    let found = |executor: Executor, by_condition: bool| {
        let (mut schedule, mut world) = executor.schedule_and_world();
        world.init_resource::<Count>();
        if by_condition {
            schedule.add_systems(((|| {}).run_if(spawning_condition), count).chain());
        } else {
            schedule.add_systems((exclusive.pipe(spawn_behind), count).chain_ignore_deferred());
        }
        let run = |_| {
            schedule.run(&mut world);
            world.resource::<Count>().0
        };
        (0..RUNS).map(run).collect::<Vec<_>>()
    };
    for by_condition in [false, true] {
        let expected = found(Executor::Multi, by_condition);
        for executor in [Executor::Ours, Executor::Gang(2)] {
            assert_eq!(found(executor, by_condition), expected, "{executor:?}, {by_condition}");
        }
    }
}

/// A schedule with the sync points that are added to it, and no others.
fn with_own_sync_points(executor: Executor) -> (Schedule, World) {
    let (mut schedule, mut world) = executor.schedule_and_world();
    world.init_resource::<Count>();
    schedule.set_build_settings(ScheduleBuildSettings { auto_insert_apply_deferred: false, ..default() });
    (schedule, world)
}

fn count_spawned(spawned: Query<&Spawned>, mut count: ResMut<Count>) {
    count.0 = spawned.iter().count();
}

/// Sync points have no state, so nothing tells one from another but their conditions. Weak orders
/// have Bevy sort once more after all build passes.
#[test]
fn sync_points_keep_their_conditions() {
    #[derive(SystemSet, Clone, Debug, PartialEq, Eq, Hash)]
    struct Stage(u32);

    for executor in Executor::ALL {
        let (mut schedule, mut world) = with_own_sync_points(executor);
        schedule
            .add_systems((spawn.in_set(Stage(0)), ApplyDeferred, count_spawned.in_set(Stage(1))).chain())
            .add_systems(((|| {}).in_set(Stage(2)), ApplyDeferred.run_if(|| false), (|| {}).in_set(Stage(3))).chain());
        type Order = fn(ScheduleConfigs<ScheduleSystem>) -> ScheduleConfigs<ScheduleSystem>;
        let orders: [Order; 4] = [
            |system| system,
            |system| system.before(Stage(3)),
            |system| system.before_weak(Stage(0)),
            |system| system.before_weak(Stage(2)).before(Stage(2)).after_weak(Stage(0)),
        ];
        for (order, stage) in orders.into_iter().zip(4..) {
            schedule.add_systems(order((|| {}).in_set(Stage(stage))));
        }
        for run in 1..=RUNS {
            schedule.run(&mut world);
            assert_eq!(world.resource::<Count>().0, run, "{executor:?}");
        }
    }
}

/// What a system defers without access to anything, not even `Commands`.
#[derive(Default)]
struct Births(usize);

impl SystemBuffer for Births {
    fn queue(&mut self, _: &SystemMeta, _: DeferredWorld) {}

    fn apply(&mut self, _: &SystemMeta, world: &mut World) {
        (0..std::mem::take(&mut self.0)).for_each(|_| _ = world.spawn(Spawned));
    }
}

/// Bevy's second sort, for weak orders, has the two sync points here in another order than the
/// first one.
#[test]
fn sync_points_apply_what_systems_without_any_access_defer() {
    #[derive(SystemSet, Clone, Debug, PartialEq, Eq, Hash)]
    struct Stage(u32);

    let give_birth = |mut births: Deferred<Births>| births.0 += 1;
    for executor in Executor::ALL {
        let (mut schedule, mut world) = with_own_sync_points(executor);
        schedule
            .add_systems((|| {}).before(Stage(0)).before(Stage(1)).before_weak(Stage(3)))
            .add_systems((|| {}).in_set(Stage(2)))
            .add_systems((|_: &mut World| {}).before(Stage(1)))
            .add_systems((give_birth.in_set(Stage(1)), ApplyDeferred, count_spawned).chain())
            .add_systems(((|| {}).in_set(Stage(0)), ApplyDeferred, || {}).chain())
            .add_systems((|| {}).in_set(Stage(3)));
        for run in 1..=RUNS {
            schedule.run(&mut world);
            assert_eq!(world.resource::<Count>().0, run, "{executor:?}");
        }
    }
}

#[test]
fn errors_go_to_the_handler() {
    #[derive(Resource, Default)]
    struct Unused;

    for executor in Executor::ALL {
        let (mut schedule, mut world) = executor.schedule_and_world();
        world.init_resource::<Count>();
        world.insert_resource(FallbackErrorHandler(|_, _| {}));
        let fails = || -> Result { Err("meant to be".into()) };
        schedule.add_systems((fails, |_: Res<Unused>| {}, || panic!("meant to be"), count_up).chain());
        (0..RUNS).for_each(|_| schedule.run(&mut world));
        assert_eq!(world.resource::<Count>().0, RUNS, "{executor:?}");
    }
}

#[test]
fn a_schedule_that_is_run_by_a_system() {
    let mut app = Scheduling::auto(2).app();
    app.init_resource::<Count>().add_systems(Own, count_up);
    app.add_systems(Update, |world: &mut World| {
        world.run_schedule(Own);
        assert!(world.try_run_schedule(Update).is_err(), "it is not there while it runs");
    });
    (0..RUNS).for_each(|_| app.update());
    assert_eq!(app.world().resource::<Count>().0, RUNS);
}

#[test]
fn changes_are_seen_once() {
    #[derive(Resource, Default)]
    struct Written(usize);

    let seen = Executor::ALL.map(|executor| {
        let (mut schedule, mut world) = executor.schedule_and_world();
        world.init_resource::<Count>();
        world.init_resource::<Written>();
        schedule.add_systems((
            |mut written: ResMut<Written>, mut runs: Local<usize>| {
                *runs += 1;
                if runs.is_multiple_of(3) {
                    written.0 += 1;
                }
            },
            count_up.run_if(resource_changed::<Written>),
        ));
        let before = world.resource::<Count>().0;
        (0..3 * RUNS).for_each(|_| schedule.run(&mut world));
        // In no order: seen in the same run, or in the next.
        (world.resource::<Count>().0 - before).abs_diff(RUNS + 1) <= 1
    });
    assert_eq!(seen, Executor::ALL.map(|_| true));
}

#[test]
fn a_fixed_timestep() {
    let mut app = Scheduling::auto(2).app();
    app.init_resource::<Count>().add_systems(FixedUpdate, (count_up, spawn).affine());
    for _ in 0..RUNS {
        app.world_mut().run_schedule(FixedUpdate);
        app.update();
    }
    assert_eq!((app.world().resource::<Count>().0, spawned(app.world_mut())), (RUNS, RUNS));
}

#[derive(SystemSet, Clone, Debug, PartialEq, Eq, Hash)]
enum Sets {
    Outer(usize),
    Inner(usize),
}

/// Which conditions were evaluated, in order.
#[derive(Resource, Default)]
struct Evaluated(Mutex<Vec<Sets>>);

/// That nothing else orders them: both only read.
#[test]
fn conditions_of_a_set_come_before_those_of_sets_inside_of_it() {
    let note = |set: Sets| {
        move |evaluated: Res<Evaluated>| {
            evaluated.0.lock().is_ok_and(|mut all| {
                all.push(set.clone());
                true
            })
        }
    };
    for executor in Executor::ALL {
        let (mut schedule, mut world) = executor.schedule_and_world();
        world.init_resource::<Evaluated>();
        for pair in 0..8 {
            let (outer, inner) = (Sets::Outer(pair), Sets::Inner(pair));
            schedule.configure_sets(outer.clone().run_if(note(outer.clone())));
            schedule.configure_sets(inner.clone().in_set(outer.clone()).run_if(note(inner.clone())));
            schedule.add_systems((light.in_set(outer), light.in_set(inner)));
        }
        for run in 0..RUNS {
            schedule.run(&mut world);
            let all = std::mem::take(&mut world.resource_mut::<Evaluated>().0).into_inner().unwrap();
            assert_eq!(all.len(), 16, "{executor:?}, run {run}");
            let place = |set| all.iter().position(|other| *other == set);
            for pair in 0..8 {
                assert!(
                    place(Sets::Outer(pair)) < place(Sets::Inner(pair)),
                    "{executor:?}, run {run}, {pair}: {all:?}"
                );
            }
        }
    }
}
