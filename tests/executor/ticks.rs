//! Change ticks tell nothing of how a schedule was run: each way takes as many.

use bevy::{ecs::change_detection::Tick, ecs::schedule::SingleThreadedExecutor, prelude::*};
use bevy_affinity::{AffinityExecutor, Forced, ScheduleWay, prelude::*};

use crate::{Own, common};

#[derive(Component)]
struct Spawned;

#[derive(Message)]
struct Said;

#[derive(Resource, Default)]
struct Count(usize);

#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Outer;

#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Inner;

fn third(count: Res<Count>) -> bool {
    !count.0.is_multiple_of(3)
}

fn second(count: Res<Count>) -> bool {
    count.0.is_multiple_of(2)
}

fn count_up(mut count: ResMut<Count>) {
    count.0 += 1;
}

fn spawn(mut commands: Commands) {
    commands.spawn(Spawned);
}

fn say(mut messages: MessageWriter<Said>) {
    messages.write(Said);
}

fn exclusive(world: &mut World) {
    world.spawn(Spawned);
}

fn on_this_thread(_: NonSend<NotSend>) {}

struct NotSend(#[expect(dead_code, reason = "it only has to keep its system on this thread")] *const ());

/// A schedule of all that takes ticks, and how many of its conditions are evaluated in a run.
fn schedule() -> (Schedule, usize) {
    let mut schedule = Schedule::new(Own);
    schedule.configure_sets((Outer.run_if(third), Inner.in_set(Outer).run_if(second.or_else(third))));
    schedule.add_systems((
        count_up,
        (spawn.run_if(second), say).chain().in_set(Inner),
        (exclusive.run_if(second).run_if(third), on_this_thread).chain().in_set(Outer),
        spawn.affine(),
        say.affine().run_if(|| false),
    ));
    (schedule, 6)
}

fn world() -> World {
    let mut app = common::Scheduling::auto(2).app();
    let mut world = std::mem::take(app.world_mut());
    world.init_resource::<Count>();
    world.init_resource::<Messages<Said>>();
    world.insert_non_send(NotSend(std::ptr::null()));
    world.add_observer(|_: On<Add<Spawned>>, mut count: ResMut<Count>| count.0 += 1);
    world
}

/// The ticks that each run takes.
fn ticks(give: impl FnOnce(&mut Schedule)) -> (Vec<u32>, usize) {
    let ((mut schedule, conditions), mut world) = (schedule(), world());
    give(&mut schedule);
    // Built in the first run.
    schedule.run(&mut world);
    let runs = (0..12).map(|_| {
        let before: Tick = world.change_tick();
        schedule.run(&mut world);
        world.change_tick().get().wrapping_sub(before.get())
    });
    (runs.collect(), conditions)
}

#[test]
fn each_way_takes_as_many() {
    common::start_compute_threads();
    let bevys = ticks(|schedule| _ = schedule.set_executor(SingleThreadedExecutor::new()));
    // A condition is two systems: see `docs/limits.md`.
    let expected: Vec<_> = bevys.0.iter().map(|&ticks| ticks + bevys.1 as u32).collect();
    assert_eq!(ticks(AffinityExecutor::install).0, expected);
    for forced in ScheduleWay::ALL.iter().copied().map(Forced::Always).chain([Forced::Any(1)]) {
        let ours = ticks(|schedule| AffinityExecutor::install_forced(schedule, forced));
        assert_eq!(ours.0, expected, "{forced:?}");
    }
}
