//! Several apps and worlds at a time, each with settings of its own, on threads that they move
//! between.

use std::{
    sync::{Arc, Mutex, mpsc},
    thread,
};

use bevy::{
    app::{MainSchedulePlugin, SubApp},
    ecs::schedule::ScheduleLabel,
    prelude::*,
};
use bevy_affinity::prelude::*;

use crate::{Count, MANY, Number, Watch, assert_counted, common::Scheduling, count_up, message, spawn_many};

fn shoot(towers: AffineQuery<(Entity, &Number)>, mut counts: AffineQuery<&mut Count>) {
    towers.par_iter().scatter(
        &mut counts,
        |outbox, (tower, number)| outbox.send(tower, number.0 % 2),
        |mut count, more| count.0 += more + 1,
    );
}

#[test]
fn apps_with_different_settings_run_at_the_same_time() {
    let _watch = Watch::over("apps");
    thread::scope(|scope| {
        for (number, scheduling) in Scheduling::all().enumerate() {
            scope.spawn(move || {
                let mut app = scheduling.app();
                spawn_many(app.world_mut());
                app.add_systems(Update, (count_up, shoot).affine().chain());
                for frame in 0..10 {
                    if frame == 5 {
                        let workers = WorkerCount::Exactly(1 + number % 4);
                        app.insert_resource(AffinitySettings { workers, ..scheduling.settings() });
                    }
                    app.update();
                }
                let mut rows = app.world_mut().query::<(&Number, &Count)>();
                assert!(rows.iter(app.world()).all(|(number, count)| count.0 == 10 * (2 + number.0 % 2)));
            });
        }
    });
}

#[test]
fn a_world_and_its_schedule_go_from_thread_to_thread() {
    for scheduling in [Scheduling::lock_step(3), Scheduling::heartbeat(2), Scheduling::auto(2)] {
        let mut app = scheduling.app();
        spawn_many(app.world_mut());
        let mut world = std::mem::take(app.world_mut());
        let mut schedule = Schedule::default();
        schedule.add_systems((count_up, shoot).affine().chain());
        for _ in 0..4 {
            (world, schedule) = thread::spawn(move || {
                schedule.run(&mut world);
                (world, schedule)
            })
            .join()
            .unwrap();
        }
        let mut rows = world.query::<(&Number, &Count)>();
        assert!(rows.iter(&world).all(|(number, count)| count.0 == 4 * (2 + number.0 % 2)));
    }
}

#[test]
fn a_sub_app_has_a_gang_of_its_own() {
    #[derive(bevy::app::AppLabel, Clone, Debug, PartialEq, Eq, Hash)]
    struct Simulation;

    let mut app = Scheduling::lock_step(2).app();
    spawn_many(app.world_mut());
    app.add_systems(Update, count_up.affine());
    let mut inner = SubApp::new();
    inner.add_plugins(MainSchedulePlugin);
    inner.update_schedule = Some(Main.intern());
    inner.insert_resource(Scheduling::heartbeat(3).settings()).insert_resource(SchedulerMode::Heartbeat);
    inner.add_plugins(AffinityParallelPlugin);
    spawn_many(inner.world_mut());
    inner.add_systems(Update, (count_up, count_up).affine().chain());
    app.insert_sub_app(Simulation, inner);
    (0..3).for_each(|_| app.update());
    assert_counted(app.world_mut(), 3);
    assert_counted(app.sub_app_mut(Simulation).world_mut(), 6);
    let workers = |world: &World| world.resource::<AffinityPool>().workers();
    assert_eq!([workers(app.world()), workers(app.sub_app(Simulation).world())], [2, 3]);
}

#[test]
fn the_plugin_twice_is_bevys_message() {
    let failed = message(|| _ = Scheduling::lock_step(2).app().add_plugins(AffinityParallelPlugin));
    assert!(failed.is_some_and(|failed| failed.contains("AffinityParallelPlugin")));
}

/// Apps that are made, run and dropped by the rows of another.
#[test]
fn apps_in_rows() {
    let _watch = Watch::over("apps in rows");
    let (sender, made) = mpsc::channel();
    let sender = Arc::new(Mutex::new(sender));
    for scheduling in [Scheduling::lock_step(3), Scheduling::heartbeat(3), Scheduling::BEVY] {
        let mut app = scheduling.app();
        spawn_many(app.world_mut());
        let sender = sender.clone();
        let in_rows = move |mut rows: AffineQuery<(&Number, &mut Count)>| {
            rows.par_iter_mut().for_each(|(number, mut count)| {
                count.0 += 1;
                if number.0 % (MANY / 5) == 0 {
                    let mut inner = Scheduling::lock_step(2 + number.0 as usize % 3).app();
                    spawn_many(inner.world_mut());
                    inner.add_systems(Update, (count_up, shoot).affine().chain());
                    inner.update();
                    sender.lock().unwrap().send(std::mem::take(inner.world_mut())).unwrap();
                }
            });
        };
        app.add_systems(Update, in_rows.affine());
        app.update();
        assert_counted(app.world_mut(), 1);
        for mut world in made.try_iter() {
            let mut rows = world.query::<(&Number, &Count)>();
            assert!(rows.iter(&world).all(|(number, count)| count.0 == 2 + number.0 % 2));
        }
    }
}
