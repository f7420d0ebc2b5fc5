//! A panic that leaves a run leaves the executor usable, whichever way the run went.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bevy::prelude::*;

use crate::{Executor, RUNS};

#[derive(Resource, Default)]
struct Ran {
    before: usize,
    panicked: usize,
    after: usize,
}

#[derive(Component)]
struct Spawned;

#[derive(Resource, Default)]
struct Frame(usize);

/// Every third run panics.
const EVERY: usize = 3;

fn spawn(mut commands: Commands, mut ran: ResMut<Ran>) {
    ran.before += 1;
    commands.spawn(Spawned);
}

fn panic_sometimes(frame: Res<Frame>, mut ran: ResMut<Ran>) {
    if frame.0.is_multiple_of(EVERY) {
        ran.panicked += 1;
        panic!("meant to be");
    }
}

fn after(mut ran: ResMut<Ran>) {
    ran.after += 1;
}

/// A schedule and its world for each of ours.
fn all() -> impl Iterator<Item = (Schedule, World)> {
    [Executor::Ours, Executor::Gang(2), Executor::Gang(3), Executor::Gang(4), Executor::Any(2), Executor::Any(3)]
        .into_iter()
        .map(|executor| {
            let (schedule, mut world) = executor.schedule_and_world();
            world.init_resource::<Ran>();
            world.init_resource::<Frame>();
            (schedule, world)
        })
}

/// Runs it often; returns how many runs panicked.
fn run(schedule: &mut Schedule, world: &mut World) -> usize {
    let mut panics = 0;
    for frame in 1..=RUNS {
        world.resource_mut::<Frame>().0 = frame;
        panics += usize::from(catch_unwind(AssertUnwindSafe(|| schedule.run(world))).is_err());
    }
    panics
}

#[test]
fn the_next_run_is_a_whole_one() {
    for (mut schedule, mut world) in all() {
        schedule.add_systems((spawn, panic_sometimes, after).chain_ignore_deferred());
        let panics = run(&mut schedule, &mut world);
        assert_eq!(panics, RUNS / EVERY);
        let ran = world.resource::<Ran>();
        assert_eq!((ran.before, ran.panicked), (RUNS, panics));
        // On Bevy's threads what comes after the system that panicked runs all the same.
        assert!((RUNS - panics..=RUNS).contains(&ran.after), "{}", ran.after);
        assert_eq!(world.query::<&Spawned>().iter(&world).count(), RUNS, "no effect is lost");
    }
}

#[test]
fn effects_from_before_the_panic_come_with_the_next_run_at_the_latest() {
    // Also where runs leave effects to others at their end.
    for applies in [true, false] {
        for (mut schedule, mut world) in all() {
            let once = |mut done: Local<bool>| !std::mem::replace(&mut *done, true);
            schedule.add_systems((spawn.run_if(once), panic_sometimes).chain_ignore_deferred());
            schedule.set_apply_final_deferred(applies);
            world.resource_mut::<Frame>().0 = EVERY;
            assert!(catch_unwind(AssertUnwindSafe(|| schedule.run(&mut world))).is_err());
            world.resource_mut::<Frame>().0 = 1;
            schedule.run(&mut world);
            assert_eq!(world.query::<&Spawned>().iter(&world).count(), 1, "{applies}");
        }
    }
}

#[test]
fn effects_that_panic_when_they_come_late_go_to_the_error_handler() {
    for (mut schedule, mut world) in all() {
        let bad = |frame: Res<Frame>, mut commands: Commands| {
            if frame.0 == EVERY {
                commands.queue(|_: &mut World| -> () { panic!("meant to be") });
            }
        };
        schedule.add_systems((bad, panic_sometimes, after).chain_ignore_deferred());
        world.resource_mut::<Frame>().0 = EVERY;
        assert!(catch_unwind(AssertUnwindSafe(|| schedule.run(&mut world))).is_err());
        world.insert_resource(bevy::ecs::error::FallbackErrorHandler(bevy::ecs::error::ignore));
        world.resource_mut::<Frame>().0 = 1;
        let before = world.resource::<Ran>().after;
        schedule.run(&mut world);
        assert_eq!(world.resource::<Ran>().after, before + 1);
    }
}

#[test]
fn conditions_that_panic() {
    for (mut schedule, mut world) in all() {
        let panics_sometimes = |frame: Res<Frame>| {
            assert!(!frame.0.is_multiple_of(EVERY), "meant to be");
            true
        };
        schedule.add_systems((spawn, after.run_if(panics_sometimes)).chain_ignore_deferred());
        let panics = run(&mut schedule, &mut world);
        assert_eq!(panics, RUNS / EVERY);
        assert_eq!(world.resource::<Ran>().after, RUNS - panics);
        assert_eq!(world.query::<&Spawned>().iter(&world).count(), world.resource::<Ran>().before);
    }
}

#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Around {
    Panics,
    Beside,
}

#[test]
fn sets_beside_one_whose_condition_panics_do_not_keep_what_held_before() {
    let panics_sometimes = |frame: Res<Frame>| {
        assert!(!frame.0.is_multiple_of(EVERY), "meant to be");
        true
    };
    let holds_in_others = |frame: Res<Frame>| !frame.0.is_multiple_of(EVERY);
    // Which set is evaluated first follows from the order in which they come.
    for order in [[Around::Panics, Around::Beside], [Around::Beside, Around::Panics]] {
        for (mut schedule, mut world) in all() {
            for set in order {
                match set {
                    Around::Panics => schedule.configure_sets(set.run_if(panics_sometimes)),
                    Around::Beside => schedule.configure_sets(set.run_if(holds_in_others)),
                };
            }
            let both = (|| {}).in_set(order[0]).in_set(order[1]);
            schedule.add_systems((both, after.in_set(Around::Beside)).chain());
            let panics = run(&mut schedule, &mut world);
            assert_eq!((panics, world.resource::<Ran>().after), (RUNS / EVERY, RUNS - panics));
        }
    }
}

#[test]
fn commands_that_panic() {
    for (mut schedule, mut world) in all() {
        schedule.add_systems((
            spawn,
            |frame: Res<Frame>, mut commands: Commands| {
                if frame.0.is_multiple_of(EVERY) {
                    commands.queue(|_: &mut World| -> () { panic!("meant to be") });
                }
            },
            after,
        ));
        let panics = run(&mut schedule, &mut world);
        assert_eq!(panics, RUNS / EVERY);
        schedule.run(&mut world);
        assert_eq!(world.resource::<Ran>().before, RUNS + 1);
        assert_eq!(world.query::<&Spawned>().iter(&world).count(), RUNS + 1);
    }
}

#[test]
fn a_schedule_that_changes_after_a_panic() {
    for (mut schedule, mut world) in all() {
        schedule.add_systems((spawn, panic_sometimes).chain_ignore_deferred());
        world.resource_mut::<Frame>().0 = EVERY;
        assert!(catch_unwind(AssertUnwindSafe(|| schedule.run(&mut world))).is_err());
        schedule.add_systems(after);
        world.resource_mut::<Frame>().0 = 1;
        schedule.run(&mut world);
        assert_eq!((world.resource::<Ran>().before, world.resource::<Ran>().after), (2, 1));
        assert_eq!(world.query::<&Spawned>().iter(&world).count(), 2);
    }
}
