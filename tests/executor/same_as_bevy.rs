//! What else the executor does as Bevy's do.

use bevy::{ecs::error::FallbackErrorHandler, prelude::*};
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
    assert_eq!(seen, [true; 6]);
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
