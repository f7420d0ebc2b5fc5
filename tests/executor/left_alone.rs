//! Schedules that the plugin is told to leave alone, and executors that are set after it.

use std::sync::atomic::Ordering;

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::{Counting, Own, common::Scheduling, said_of, update_until};

fn light() {}

/// An app with a plain system in `Update`.
fn app(which: AffinitySchedules) -> App {
    let mut app = Scheduling::auto(2).bare_app();
    app.insert_resource(which).add_systems(Update, light);
    app
}

#[test]
fn by_label() {
    let mut app = app(AffinitySchedules::all().except(Update));
    let runs = Counting::give_to(&mut app, Update);
    app.add_plugins(AffinityParallelPlugin);
    (0..3).for_each(|_| app.update());
    assert_eq!(runs.load(Ordering::Relaxed), 3);
    update_until(&mut app, |app| said_of(app, First).is_some());
    assert!(said_of(&app, Update).is_none());
}

#[test]
fn as_a_whole() {
    let mut app = app(AffinitySchedules::none());
    let runs = Counting::give_to(&mut app, Update);
    app.add_plugins(AffinityParallelPlugin);
    (0..30).for_each(|_| app.update());
    assert_eq!(runs.load(Ordering::Relaxed), 30);
    assert!(app.world().resource::<AffinityDiagnostics>().schedules.is_empty());
}

#[test]
fn only_one() {
    let mut app = app(AffinitySchedules::none().except(Update));
    app.add_plugins(AffinityParallelPlugin);
    update_until(&mut app, |app| said_of(app, Update).is_some());
    assert_eq!(app.world().resource::<AffinityDiagnostics>().schedules.len(), 1);
}

#[test]
fn an_executor_that_is_set_later_stays() {
    let mut app = app(AffinitySchedules::all());
    app.add_plugins(AffinityParallelPlugin);
    app.update();
    let runs = Counting::give_to(&mut app, Update);
    (0..10).for_each(|_| app.update());
    assert_eq!(runs.load(Ordering::Relaxed), 10);
    update_until(&mut app, |app| said_of(app, Update).is_none());
}

#[test]
fn an_executor_that_is_set_later_stays_where_its_schedule_runs_the_look_into_others() {
    let mut app = app(AffinitySchedules::all());
    app.add_plugins(AffinityParallelPlugin);
    app.add_systems(Update, |world: &mut World| (0..2).for_each(|_| world.run_schedule(First)));
    app.update();
    let runs = Counting::give_to(&mut app, Update);
    (0..10).for_each(|_| app.update());
    assert_eq!(runs.load(Ordering::Relaxed), 10);
}

#[test]
fn an_executor_that_is_set_later_stays_with_a_schedule_that_is_out_for_some_frames() {
    let mut app = app(AffinitySchedules::all());
    app.add_plugins(AffinityParallelPlugin).add_systems(Own, light);
    app.update();
    let runs = Counting::give_to(&mut app, Own);
    for run in 1..4 {
        let own = app.world_mut().resource_mut::<Schedules>().remove(Own).expect("it was added");
        (0..3).for_each(|_| app.update());
        app.world_mut().resource_mut::<Schedules>().insert(own);
        (0..3).for_each(|_| app.update());
        app.world_mut().run_schedule(Own);
        assert_eq!(runs.load(Ordering::Relaxed), run);
    }
}

#[test]
fn an_executor_that_is_set_later_stays_with_a_schedule_that_is_out_for_long() {
    let mut app = app(AffinitySchedules::all());
    app.add_plugins(AffinityParallelPlugin).add_systems(Own, light);
    app.update();
    let runs = Counting::give_to(&mut app, Own);
    let own = app.world_mut().resource_mut::<Schedules>().remove(Own).expect("it was added");
    (0..200).for_each(|_| app.update());
    app.world_mut().resource_mut::<Schedules>().insert(own);
    (0..3).for_each(|_| app.update());
    app.world_mut().run_schedule(Own);
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    assert!(said_of(&app, Own).is_none());
}

#[test]
fn schedules_may_be_taken_out_and_put_back_while_the_app_runs() {
    let mut app = app(AffinitySchedules::all());
    app.add_plugins(AffinityParallelPlugin);
    update_until(&mut app, |app| said_of(app, Update).is_some() && said_of(app, First).is_some());
    app.insert_resource(AffinitySchedules::none());
    update_until(&mut app, |app| app.world().resource::<AffinityDiagnostics>().schedules.is_empty());
    app.world_mut().resource_mut::<AffinitySchedules>().set(Update, true);
    update_until(&mut app, |app| said_of(app, Update).is_some());
    assert!(said_of(&app, First).is_none());
    // One that comes while others are out.
    let runs = Counting::give_to(&mut app, Own);
    app.update();
    app.world_mut().run_schedule(Own);
    assert_eq!(runs.load(Ordering::Relaxed), 1);
}

#[test]
fn without_the_resource_schedules_stay_as_they_are() {
    let mut app = app(AffinitySchedules::all());
    app.add_plugins(AffinityParallelPlugin);
    app.update();
    app.world_mut().remove_resource::<AffinitySchedules>();
    let runs = Counting::give_to(&mut app, Own);
    (0..3).for_each(|_| app.update());
    app.world_mut().run_schedule(Own);
    assert_eq!(runs.load(Ordering::Relaxed), 1);
}
