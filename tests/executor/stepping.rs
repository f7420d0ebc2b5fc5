//! Stepping skips what it would skip with Bevy's default executor.

use bevy::{
    ecs::{schedule::Stepping, system::RunSystemOnce},
    prelude::*,
};

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

/// What runs in some frames, of which the middle ones are stepped through.
fn log(executor: Executor) -> Vec<&'static str> {
    let mut world = executor.world();
    world.init_resource::<Log>();
    let mut schedule = Schedule::new(Own);
    executor.give_to(&mut schedule);
    let mut conditions = 0;
    let odd = move || {
        conditions += 1;
        conditions % 2 == 1
    };
    schedule.add_systems((first, second.run_if(odd), third).chain());
    (0..20).for_each(|_| schedule.run(&mut world));
    let mut stepping = Stepping::new();
    stepping.add_schedule(Own).never_run(Own, first).enable();
    world.insert_resource(stepping);
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

#[test]
fn as_with_bevys_default() {
    let expected = log(Executor::Multi);
    for executor in [Executor::Ours, Executor::Gang(2), Executor::Gang(3), Executor::Any(2)] {
        assert_eq!(log(executor), expected, "{executor:?}");
    }
}
