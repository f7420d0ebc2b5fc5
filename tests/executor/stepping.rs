//! Stepping skips what it would skip with Bevy's default executor.

use bevy::{
    ecs::{
        schedule::{NodeId, ScheduleConfigs, Stepping},
        system::{RunSystemOnce, ScheduleSystem},
    },
    prelude::*,
};
use bevy_affinity::prelude::*;

use crate::{Executor, Own};

#[derive(Resource, Default)]
struct Log(Vec<&'static str>);

fn first(mut log: ResMut<Log>) {
    log.0.push("first");
}

fn second(mut log: ResMut<Log>) {
    log.0.push("second");
}

fn third(mut log: ResMut<Log>) {
    log.0.push("third");
}

/// The three in order, of which the second runs in every other frame.
fn systems(tagged: bool) -> ScheduleConfigs<ScheduleSystem> {
    let mut conditions = 0;
    let odd = move || {
        conditions += 1;
        conditions % 2 == 1
    };
    if tagged {
        (first.affine(), second.affine().run_if(odd), third.affine()).chain()
    } else {
        (first, second.run_if(odd), third).chain()
    }
}

/// Stepping through `schedule`, in which the first system never runs.
fn stepping(schedule: &Schedule, tagged: bool) -> Stepping {
    let mut stepping = Stepping::new();
    stepping.add_schedule(Own).enable();
    if tagged {
        // For Bevy a tagged system is another type than its function.
        let (key, _) = schedule.systems().expect("it has run").next().expect("it has systems");
        stepping.never_run_node(Own, NodeId::System(key));
    } else {
        stepping.never_run(Own, first);
    }
    stepping
}

/// What runs in some frames, of which the middle ones are stepped through.
fn log(executor: Executor, tagged: bool) -> Vec<&'static str> {
    let mut world = executor.world();
    world.init_resource::<Log>();
    let mut schedule = Schedule::new(Own);
    executor.give_to(&mut schedule);
    schedule.add_systems(systems(tagged));
    (0..20).for_each(|_| schedule.run(&mut world));
    world.insert_resource(stepping(&schedule, tagged));
    for frame in 0..20 {
        world.resource_mut::<Log>().0.push("frame");
        let mut stepping = world.resource_mut::<Stepping>();
        match frame % 3 {
            0 => stepping.step_frame(),
            1 => stepping.continue_frame(),
            _ => &mut stepping,
        };
        world.run_system_once(Stepping::begin_frame).expect("it has what it needs");
        schedule.run(&mut world);
    }
    world.remove_resource::<Stepping>();
    (0..20).for_each(|_| schedule.run(&mut world));
    std::mem::take(&mut world.resource_mut::<Log>().0)
}

const EXECUTORS: [Executor; 4] = [Executor::Ours, Executor::Gang(2), Executor::Gang(3), Executor::Any(2)];

#[test]
fn as_with_bevys_default() {
    let expected = log(Executor::Multi, false);
    for executor in EXECUTORS {
        assert_eq!(log(executor, false), expected, "{executor:?}");
    }
}

#[test]
fn tagged_systems_are_found_by_their_nodes() {
    let expected = log(Executor::Multi, true);
    // Before and after the frames that are stepped through.
    assert_eq!(expected.iter().filter(|&&system| system == "first").count(), 40);
    for executor in EXECUTORS {
        assert_eq!(log(executor, true), expected, "{executor:?}");
    }
}
