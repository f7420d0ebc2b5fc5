//! On which thread systems run that are bound to one.

use std::{
    collections::HashSet,
    hint,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

use bevy::{
    ecs::{schedule::MainThreadExecutor, system::NonSendMarker},
    prelude::*,
    tasks::{ComputeTaskPool, Scope},
};
use bevy_affinity::prelude::*;

use crate::{Executor, RUNS, common::Scheduling};

#[derive(Resource, Default)]
struct Noted(Mutex<Vec<ThreadId>>);

impl Noted {
    fn note(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(thread::current().id());
    }

    fn take(world: &mut World) -> Vec<ThreadId> {
        let noted = std::mem::take(&mut world.resource_mut::<Self>().0);
        noted.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

fn light() {}

fn bound(_: NonSendMarker, noted: Res<Noted>) {
    noted.note();
}

fn tagged(noted: Res<Noted>) {
    noted.note();
}

#[test]
fn tagged_systems_run_on_the_main_thread() {
    let mut app = Scheduling::auto(2).app();
    app.init_resource::<Noted>().add_systems(Update, (tagged.affine(), light, bound, light));
    (0..RUNS).for_each(|_| app.update());
    assert_eq!(Noted::take(app.world_mut()), vec![thread::current().id(); 2 * RUNS]);
}

#[test]
fn the_gang_takes_its_part_of_the_systems() {
    let (mut schedule, mut world) = Executor::Gang(2).schedule_and_world();
    let busy = |noted: Res<Noted>| {
        let start = Instant::now();
        while start.elapsed() < Duration::from_micros(200) {
            hint::spin_loop();
        }
        noted.note();
    };
    schedule.add_systems((busy, busy, busy, busy, busy, busy));
    world.init_resource::<Noted>();
    (0..4 * RUNS).for_each(|_| schedule.run(&mut world));
    let noted = Noted::take(&mut world);
    let threads: HashSet<_> = noted.iter().collect();
    assert_eq!((noted.len(), threads.len()), (6 * 4 * RUNS, 2));
}

#[test]
fn systems_that_are_bound_to_the_main_thread_run_there_beside_the_gang() {
    let (mut schedule, mut world) = Executor::Gang(3).schedule_and_world();
    schedule.add_systems((light, bound, light, bound, light));
    world.init_resource::<Noted>();
    (0..RUNS).for_each(|_| schedule.run(&mut world));
    assert_eq!(Noted::take(&mut world), vec![thread::current().id(); 2 * RUNS]);
}

/// As pipelined rendering does it.
#[test]
fn systems_are_bound_to_the_main_thread_of_a_schedule_that_runs_on_another() {
    for executor in [Executor::Ours, Executor::Gang(2)] {
        bound_to_the_main_thread(executor);
    }
}

fn bound_to_the_main_thread(executor: Executor) {
    let (mut schedule, mut world) = executor.schedule_and_world();
    schedule.add_systems((light, bound, light));
    world.init_resource::<Noted>();
    let main = MainThreadExecutor::new();
    world.insert_resource(main.clone());
    // Enough on this thread for it to choose one thread.
    (0..RUNS).for_each(|_| schedule.run(&mut world));
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            (0..RUNS).for_each(|_| schedule.run(&mut world));
            done.store(true, Ordering::Release);
        });
        let ticker = main.0.ticker().expect("it was made on this thread");
        while !done.load(Ordering::Acquire) {
            ticker.try_tick();
            thread::yield_now();
        }
    });
    assert_eq!(Noted::take(&mut world), vec![thread::current().id(); 2 * RUNS]);
}

/// While the leader waits for a round it runs nothing else: such systems are alone.
#[test]
fn systems_may_wait_for_what_they_ask_of_the_main_thread() {
    fn ask(main: Res<MainThreadExecutor>, noted: Res<Noted>) {
        let asked = || async { noted.note() };
        ComputeTaskPool::get()
            .scope_with_executor(true, Some(&main.0), |scope: &Scope<'_, '_, ()>| scope.spawn_on_external(asked()));
    }
    for executor in [Executor::Ours, Executor::Gang(2)] {
        let (mut schedule, mut world) = executor.schedule_and_world();
        world.init_resource::<Noted>();
        world.insert_resource(MainThreadExecutor::new());
        schedule.add_systems((ask, light, ask, light, ask));
        (0..RUNS).for_each(|_| schedule.run(&mut world));
        assert_eq!(Noted::take(&mut world), vec![thread::current().id(); 3 * RUNS]);
    }
}
