//! Commands of tagged systems take effect where those of untagged ones would.

use bevy::{
    ecs::{
        schedule::{
            MultiThreadedExecutor, ScheduleBuildSettings, ScheduleConfigs, ScheduleLabel, SingleThreadedExecutor,
        },
        system::{RunSystemOnce, ScheduleSystem},
    },
    prelude::*,
};
use bevy_affinity::prelude::*;

use crate::common::Scheduling;
use crate::tags::Count;

/// How many entities each look at the world found.
#[derive(Resource, Default)]
struct Found(Vec<usize>);

fn spawn(mut commands: Commands) {
    commands.spawn(Count(0));
}

fn look(counts: AffineQuery<&Count>, mut found: ResMut<Found>) {
    found.0.push(counts.iter().count());
}

fn look_from_outside(world: &mut World) {
    let count = world.query::<&Count>().iter(world).count();
    world.resource_mut::<Found>().0.push(count);
}

#[derive(Clone, Copy, Debug)]
enum Executor {
    Multi,
    Single,
}

/// What a schedule finds in two runs.
fn found(scheduling: Scheduling, executor: Executor, systems: ScheduleConfigs<ScheduleSystem>) -> Vec<usize> {
    #[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
    struct Tested;

    let mut app = scheduling.app();
    app.init_resource::<Found>().init_schedule(Tested).add_systems(Tested, systems);
    // The plugin chooses before that.
    app.update();
    app.edit_schedule(Tested, |schedule| {
        match executor {
            Executor::Multi => schedule.set_executor(MultiThreadedExecutor::new()),
            Executor::Single => schedule.set_executor(SingleThreadedExecutor::new()),
        };
    });
    for _ in 0..2 {
        app.update();
        app.world_mut().run_schedule(Tested);
        app.world_mut().run_system_once(look).expect("the look from after the schedule runs");
    }
    std::mem::take(&mut app.world_mut().resource_mut::<Found>().0)
}

/// Asserts what the systems find in every mode and executor.
fn assert_found(systems: impl Fn() -> ScheduleConfigs<ScheduleSystem>, expected: &[usize]) {
    for scheduling in Scheduling::all() {
        for executor in [Executor::Multi, Executor::Single] {
            assert_eq!(found(scheduling, executor, systems()), expected, "{scheduling:?}, {executor:?}");
        }
    }
}

#[test]
fn a_chain_has_a_sync_point_where_it_is_needed() {
    let expected = [0, 1, 2, 2, 2, 3, 4, 4];
    assert_found(|| (look, spawn, look, spawn, look).chain(), &expected);
    assert_found(|| (look, spawn, look, spawn, look).affine().chain(), &expected);
    assert_found(|| (look, spawn.affine(), look, spawn, look.affine()).chain(), &expected);
}

#[test]
fn without_a_sync_point_effects_come_at_the_end() {
    let expected = [0, 0, 2, 2, 2, 4];
    assert_found(|| (spawn, look, spawn, look).chain_ignore_deferred(), &expected);
    assert_found(|| (spawn, look, spawn, look).affine().chain_ignore_deferred(), &expected);
    assert_found(|| (spawn.affine(), look, spawn, look.affine()).chain_ignore_deferred(), &expected);
}

#[test]
fn exclusive_systems_see_what_the_schedule_says() {
    let expected = [0, 1, 1, 1, 2, 2];
    assert_found(|| (look_from_outside, spawn, look_from_outside).chain(), &expected);
    assert_found(|| (look_from_outside, spawn, look_from_outside).affine().chain(), &expected);
    assert_found(|| (look_from_outside, spawn.affine(), look_from_outside).chain(), &expected);
}

#[test]
fn sync_points_of_ones_own() {
    let expected = [1, 1, 2, 2];
    assert_found(|| (spawn, ApplyDeferred, look).chain_ignore_deferred(), &expected);
    assert_found(|| (spawn, ApplyDeferred, look).affine().chain_ignore_deferred(), &expected);
}

#[test]
fn the_only_sync_points_there_are() {
    let found = |systems: ScheduleConfigs<ScheduleSystem>| {
        let mut app = Scheduling::lock_step(2).app();
        app.init_resource::<Found>().add_systems(Update, systems);
        app.edit_schedule(Update, |schedule| {
            let settings = ScheduleBuildSettings { auto_insert_apply_deferred: false, ..default() };
            schedule.set_build_settings(settings);
        });
        (0..3).for_each(|_| app.update());
        std::mem::take(&mut app.world_mut().resource_mut::<Found>().0)
    };
    assert_eq!(found((spawn, ApplyDeferred, look).chain()), [1, 2, 3]);
    assert_eq!(found((spawn, ApplyDeferred, look).affine().chain()), [1, 2, 3]);
    assert_eq!(found((spawn, ApplyDeferred, look).chain().affine()), [1, 2, 3]);
}
