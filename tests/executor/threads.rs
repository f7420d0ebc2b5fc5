//! On which thread systems run that are bound to one.

use std::{
    collections::HashSet,
    hint,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::Poll,
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

use bevy::{
    ecs::{
        schedule::MainThreadExecutor,
        system::{NonSendMarker, ScheduleSystem},
    },
    prelude::*,
    tasks::{ComputeTaskPool, Scope, block_on},
};
use bevy_affinity::{AffinityExecutor, Forced, ScheduleWay, prelude::*};

use crate::{Executor, RUNS, common::Scheduling};

#[derive(Resource, Default)]
struct Noted(Mutex<Vec<ThreadId>>);

impl Noted {
    fn note(&self) {
        self.push(thread::current().id());
    }

    fn push(&self, thread: ThreadId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
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

fn spin() {
    let start = Instant::now();
    while start.elapsed() < Duration::from_micros(200) {
        hint::spin_loop();
    }
}

fn busy(noted: Res<Noted>) {
    spin();
    noted.note();
}

fn bound_and_busy(_: NonSendMarker, noted: Res<Noted>) {
    busy(noted);
}

/// The threads that these systems, `count` of them, run on.
fn threads_of<M>(systems: impl IntoScheduleConfigs<ScheduleSystem, M>, count: usize) -> HashSet<ThreadId> {
    let (mut schedule, mut world) = Executor::Gang(2).schedule_and_world();
    schedule.add_systems(systems);
    world.init_resource::<Noted>();
    (0..4 * RUNS).for_each(|_| schedule.run(&mut world));
    let noted = Noted::take(&mut world);
    assert_eq!(noted.len(), count * 4 * RUNS);
    noted.into_iter().collect()
}

/// Asserts that systems run on both threads of a gang of two. Tried again: where the machine is
/// busy the worker may be late in one run after the other, so that the leader runs all systems.
fn assert_dealt_out(threads: impl Fn() -> HashSet<ThreadId>) {
    const ATTEMPTS: u32 = 50;
    assert!((0..ATTEMPTS).any(|_| threads().len() == 2), "all on one thread in {ATTEMPTS} attempts");
}

#[test]
fn the_gang_takes_its_part_of_the_systems() {
    assert_dealt_out(|| threads_of((busy, busy, busy, busy, busy, busy), 6));
}

#[test]
fn small_tagged_systems_are_dealt_out_as_others_are() {
    assert_dealt_out(|| threads_of((busy, busy, busy, busy).affine(), 4));
    assert_dealt_out(|| threads_of((busy.affine(), busy, busy.pipe(light).affine(), busy), 4));
}

#[test]
fn tagged_systems_that_are_bound_to_the_main_thread_stay_there() {
    let here = HashSet::from([thread::current().id()]);
    assert_eq!(threads_of((bound_and_busy, bound_and_busy, bound_and_busy).affine(), 3), here);
    let piped = || busy.pipe(|_: NonSendMarker| ());
    assert_eq!(threads_of((piped(), piped(), piped()).affine(), 3), here);
}

/// It might start rounds, whose indices it would share with others that do so.
fn busy_with_a_pool(_: Res<AffinityPool>, noted: Res<Noted>) {
    busy(noted);
}

fn busy_with_a_world(world: &World) {
    spin();
    world.resource::<Noted>().note();
}

#[test]
fn systems_that_may_run_the_pool_stay_on_the_main_thread() {
    let here = HashSet::from([thread::current().id()]);
    assert_eq!(threads_of((busy_with_a_pool, busy_with_a_pool, busy_with_a_pool).affine(), 3), here);
    assert_eq!(threads_of((busy_with_a_pool, busy_with_a_pool, busy_with_a_pool), 3), here);
    assert_eq!(threads_of((busy_with_a_world, busy_with_a_world, busy_with_a_world).affine(), 3), here);
}

#[test]
fn conditions_that_may_run_the_pool_stay_on_the_main_thread() {
    #[derive(SystemSet, Clone, Debug, PartialEq, Eq, Hash)]
    struct Wide(u32);

    let here = HashSet::from([thread::current().id()]);
    let is_on = |pool: Res<AffinityPool>, noted: Res<Noted>| {
        busy_with_a_pool(pool, noted);
        true
    };
    assert_eq!(threads_of((light.run_if(is_on), light.run_if(is_on), light.run_if(is_on)), 3), here);
    let of_sets = |set| light.in_set(Wide(set));
    let (mut schedule, mut world) = Executor::Gang(2).schedule_and_world();
    schedule.add_systems((of_sets(0), of_sets(1), of_sets(2)));
    (0..3).for_each(|set| _ = schedule.configure_sets(Wide(set).run_if(is_on)));
    world.init_resource::<Noted>();
    (0..4 * RUNS).for_each(|_| schedule.run(&mut world));
    assert_eq!(Noted::take(&mut world).into_iter().collect::<HashSet<_>>(), here);
}

#[test]
fn systems_that_ask_for_nothing_are_dealt_out() {
    assert_dealt_out(|| {
        let threads = Arc::new(Mutex::new(HashSet::new()));
        let asks_for_nothing = || {
            let threads = threads.clone();
            move || {
                spin();
                threads.lock().unwrap_or_else(PoisonError::into_inner).insert(thread::current().id());
            }
        };
        let (mut schedule, mut world) = Executor::Gang(2).schedule_and_world();
        schedule.add_systems((asks_for_nothing(), asks_for_nothing(), asks_for_nothing(), asks_for_nothing()));
        (0..4 * RUNS).for_each(|_| schedule.run(&mut world));
        std::mem::take(&mut *threads.lock().unwrap_or_else(PoisonError::into_inner))
    });
}

#[derive(Component)]
struct Rows(u64);

/// To find out what binds them they are initialized again, which makes systems forget when they
/// ran: those that have run are not asked.
#[test]
fn tagged_systems_that_are_dealt_out_see_what_changed() {
    let (mut schedule, mut world) = Executor::Gang(2).schedule_and_world();
    world.init_resource::<Noted>();
    let rows: Vec<_> = (0..10).map(|row| world.spawn(Rows(row)).id()).collect();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let see = || {
        let seen = seen.clone();
        let see = move |changed: AffineQuery<&Rows, Changed<Rows>>, noted: Res<Noted>| {
            busy(noted);
            seen.lock().unwrap_or_else(PoisonError::into_inner).push(changed.iter().count());
        };
        see.affine()
    };
    schedule.add_systems((see(), see()));
    for run in 0..RUNS {
        let changed = run % 3;
        for &row in &rows[..changed] {
            world.entity_mut(row).get_mut::<Rows>().expect("it was spawned").0 += 1;
        }
        // It is built anew, with systems that have run and with new ones.
        if run == RUNS / 2 {
            schedule.add_systems(see());
        }
        schedule.run(&mut world);
        let mut seen = std::mem::take(&mut *seen.lock().unwrap_or_else(PoisonError::into_inner));
        seen.sort_unstable();
        let expected = match run {
            0 => vec![10; 2],
            _ if run < RUNS / 2 => vec![changed; 2],
            _ if run == RUNS / 2 => vec![changed, changed, 10],
            _ => vec![changed; 3],
        };
        assert_eq!(seen, expected, "in run {run}");
    }
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

/// On one thread, and on the leader, they would wait for themselves.
#[test]
fn systems_may_wait_for_what_they_ask_of_the_main_thread() {
    fn ask(main: Res<MainThreadExecutor>, noted: Res<Noted>) {
        let asked = || async { noted.note() };
        ComputeTaskPool::get()
            .scope_with_executor(true, Some(&main.0), |scope: &Scope<'_, '_, ()>| scope.spawn_on_external(asked()));
    }
    fn ask_and_block(main: Res<MainThreadExecutor>, noted: Res<Noted>) {
        noted.push(block_on(main.0.spawn(async { thread::current().id() })));
    }
    for executor in [Executor::Ours, Executor::Gang(2)] {
        let (mut schedule, mut world) = executor.schedule_and_world();
        world.init_resource::<Noted>();
        world.insert_resource(MainThreadExecutor::new());
        schedule.add_systems((ask, light, ask_and_block, light, ask));
        (0..RUNS).for_each(|_| schedule.run(&mut world));
        assert_eq!(Noted::take(&mut world), vec![thread::current().id(); 3 * RUNS]);
    }
}

/// What another thread asks the main one for, as a render world does, is done between schedules.
#[test]
fn the_main_thread_does_what_others_ask_for_between_schedules() {
    let (mut schedule, mut world) = Executor::Ours.schedule_and_world();
    // Bevy's own executor may be done before it looks.
    AffinityExecutor::install_forced(&mut schedule, Forced::Always(ScheduleWay::OneThread));
    let main = MainThreadExecutor::new();
    world.insert_resource(main.clone());
    schedule.add_systems(light);
    (0..RUNS).for_each(|_| schedule.run(&mut world));
    let asked = main.0.spawn(async { thread::current().id() });
    schedule.run(&mut world);
    assert!(asked.is_finished());
    assert_eq!(block_on(asked), thread::current().id());
}

#[derive(Resource, Default)]
struct Local(Arc<AtomicUsize>);

fn spawns_local(local: Res<Local>) {
    spin();
    let done = Arc::clone(&local.0);
    let task = async move { _ = done.fetch_add(1, Ordering::Relaxed) };
    ComputeTaskPool::get().spawn_local(task).detach();
}

/// As on Bevy's own threads: whoever runs a system looks after what it spawned for its thread.
#[test]
fn local_tasks_of_systems_that_are_dealt_out_run() {
    let mut away = 0;
    for _ in 0..20 {
        let (mut schedule, mut world) = Executor::Gang(3).schedule_and_world();
        schedule.add_systems((spawns_local, spawns_local, spawns_local, spawns_local));
        world.init_resource::<Local>();
        (0..RUNS).for_each(|_| schedule.run(&mut world));
        let done = Arc::clone(&world.resource::<Local>().0);
        away += usize::from(done.load(Ordering::Relaxed) > 0);
        // Those of this thread, which it looks after by itself.
        ComputeTaskPool::get().with_local_executor(|tasks| while tasks.try_tick() {});
        assert_eq!(done.load(Ordering::Relaxed), 4 * RUNS);
        if away >= 2 {
            return;
        }
    }
    panic!("no system was run by a worker");
}

/// Bevy polls them between frames; in a schedule they would meet what its caller holds. When the
/// leader runs the index of a worker that sleeps it is still the leader.
#[test]
fn local_tasks_of_the_leader_are_left_to_bevy() {
    let polls = Arc::new(AtomicUsize::new(0));
    let (mut schedule, mut world) = Executor::Gang(3).schedule_and_world();
    let counted = polls.clone();
    let endless = std::future::poll_fn(move |context| {
        counted.fetch_add(1, Ordering::Relaxed);
        context.waker().wake_by_ref();
        Poll::<()>::Pending
    });
    ComputeTaskPool::get().spawn_local(endless).detach();
    schedule.add_systems((light, light, light, light, light, light));
    for _ in 0..10 * RUNS {
        // Longer than workers spin.
        thread::sleep(Duration::from_micros(200));
        schedule.run(&mut world);
    }
    assert_eq!(polls.load(Ordering::Relaxed), 0);
}

/// The round goes on, and so do other tasks.
#[test]
fn a_local_task_that_panics_ends_alone() {
    fn panics(_: Res<Local>) {
        spin();
        let leader = thread::current().name().is_none_or(|name| !name.starts_with("affinity"));
        if !leader {
            ComputeTaskPool::get().spawn_local(async { panic!("on purpose") }).detach();
        }
    }
    let (mut schedule, mut world) = Executor::Gang(2).schedule_and_world();
    schedule.add_systems((panics, spawns_local, panics, spawns_local));
    world.init_resource::<Local>();
    (0..RUNS).for_each(|_| schedule.run(&mut world));
    ComputeTaskPool::get().with_local_executor(|tasks| while tasks.try_tick() {});
    assert_eq!(world.resource::<Local>().0.load(Ordering::Relaxed), 2 * RUNS);
}
