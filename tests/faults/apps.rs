//! Several apps in one process share the gang; apps end at any time.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::{assert_counted, common::Scheduling, count_up, spawn_many};

fn counting_app(scheduling: Scheduling) -> App {
    let mut app = scheduling.app();
    spawn_many(&mut app);
    app.add_systems(Update, count_up.affine());
    app
}

#[test]
fn apps_on_several_threads() {
    thread::scope(|scope| {
        for workers in [2, 3, 4] {
            scope.spawn(move || {
                let mut app = counting_app(Scheduling::lock_step(workers));
                (0..200).for_each(|_| app.update());
                assert_counted(&mut app, 200);
            });
        }
    });
}

#[test]
fn apps_in_turn_on_one_thread() {
    let mut apps: Vec<_> = Scheduling::all().map(counting_app).collect();
    for _ in 0..20 {
        apps.iter_mut().for_each(|app| app.update());
    }
    apps.iter_mut().for_each(|app| assert_counted(app, 20));
}

#[test]
fn an_app_inside_a_system_of_another() {
    fn run_inner(counts: AffineQuery<Entity>) {
        let mut inner = counting_app(Scheduling::lock_step(3));
        inner.update();
        assert_counted(&mut inner, 1);
        assert!(counts.iter().count() > 0);
    }

    let mut app = counting_app(Scheduling::lock_step(2));
    app.add_systems(Update, (run_inner, count_up).affine().chain());
    (0..3).for_each(|_| app.update());
    assert_counted(&mut app, 6);
}

#[test]
fn apps_come_and_go() {
    for frames in 0..30 {
        let mut app = counting_app(Scheduling::lock_step(1 + frames % 4));
        (0..frames).for_each(|_| app.update());
        assert_counted(&mut app, frames as u64);
    }
}

#[test]
fn a_pool_outlives_its_app() {
    let mut app = counting_app(Scheduling::lock_step(3));
    app.update();
    let pool = app.world().resource::<AffinityPool>().clone();
    drop(app);
    let calls = AtomicUsize::new(0);
    pool.run(|_| {
        calls.fetch_add(1, Ordering::Relaxed);
    });
    assert_eq!(calls.into_inner(), 3);
}

#[test]
fn a_world_moves_to_another_thread() {
    let mut app = counting_app(Scheduling::lock_step(3));
    app.update();
    let mut world = std::mem::take(app.world_mut());
    let moved = thread::spawn(move || {
        world.run_schedule(Main);
        world
    });
    *app.world_mut() = moved.join().expect("the world works on another thread");
    app.update();
    assert_counted(&mut app, 3);
}
