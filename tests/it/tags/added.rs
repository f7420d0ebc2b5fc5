//! Plugin, systems and schedules may come in any order, also while the app runs.

use bevy::{MinimalPlugins, app::TaskPoolPlugin, ecs::schedule::ScheduleLabel, prelude::*};
use bevy_affinity::prelude::*;

use crate::common::{Scheduling, start_compute_threads, swept_rows};
use crate::tags::{MANY, assert_counted, count_up, spawn_many};

#[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
struct Extra;

const GANG: Scheduling = Scheduling::lock_step(3);

/// An app without the plugin.
fn bare_app() -> App {
    start_compute_threads();
    let mut app = App::new();
    app.insert_resource(GANG.settings());
    app
}

/// Asserts that the many rows were swept by all workers, once a frame.
fn assert_on_gang(mut app: App, frames: u64) {
    spawn_many(&mut app);
    (0..frames).for_each(|_| app.update());
    assert_counted(&mut app, frames);
    let swept = swept_rows(&app);
    assert!(swept.len() == GANG.workers && swept.iter().all(|&rows| rows as usize >= MANY / 4), "{swept:?}");
}

#[test]
fn the_plugin_before_the_systems() {
    let mut app = bare_app();
    app.add_plugins(AffinityParallelPlugin).add_systems(Update, count_up.affine());
    assert_on_gang(app, 1);
}

#[test]
fn the_plugin_after_the_systems() {
    let mut app = bare_app();
    app.add_systems(Update, count_up.affine()).add_plugins(AffinityParallelPlugin);
    assert_on_gang(app, 1);
}

#[test]
fn the_plugin_before_other_plugins() {
    let mut app = bare_app();
    app.add_plugins((AffinityParallelPlugin, MinimalPlugins)).add_systems(Update, count_up.affine());
    assert_on_gang(app, 1);
}

#[test]
fn the_plugin_after_other_plugins() {
    let mut app = bare_app();
    app.add_plugins((TaskPoolPlugin::default(), AffinityParallelPlugin)).add_systems(Update, count_up.affine());
    assert_on_gang(app, 1);
}

#[test]
fn settings_from_before_the_plugin_are_kept() {
    let mut app = bare_app();
    app.insert_resource(SchedulerMode::Serial).add_plugins(AffinityParallelPlugin).update();
    assert_eq!(*app.world().resource::<SchedulerMode>(), SchedulerMode::Serial);
    assert_eq!(*app.world().resource::<AffinitySettings>(), GANG.settings());
    assert_eq!(app.world().resource::<AffinityPool>().workers(), GANG.workers);
}

#[test]
fn systems_added_while_the_app_runs() {
    let mut app = GANG.app();
    spawn_many(&mut app);
    app.update();
    app.add_systems(Update, count_up.affine());
    app.update();
    app.add_systems(Update, count_up);
    app.update();
    app.add_systems(PostUpdate, count_up.affine());
    app.update();
    assert_counted(&mut app, 1 + 2 + 3);
}

#[test]
fn schedules_added_while_the_app_runs() {
    let mut app = GANG.app();
    spawn_many(&mut app);
    app.update();
    app.add_systems(Extra, (count_up, count_up).affine().chain());
    app.add_systems(Update, (|world: &mut World| world.run_schedule(Extra)).affine());
    (0..2).for_each(|_| app.update());
    assert_counted(&mut app, 4);
}

#[test]
fn systems_added_by_a_system() {
    fn add_once(mut added: Local<bool>, mut schedules: ResMut<Schedules>) {
        if !std::mem::replace(&mut *added, true) {
            schedules.add_systems(PostUpdate, count_up.affine());
        }
    }

    let mut app = GANG.app();
    spawn_many(&mut app);
    app.add_systems(Update, add_once.affine());
    (0..3).for_each(|_| app.update());
    assert_counted(&mut app, 3);
}

#[test]
fn systems_of_the_fixed_schedules() {
    let mut app = bare_app();
    app.add_plugins((MinimalPlugins, AffinityParallelPlugin));
    app.insert_resource(Time::<Fixed>::from_hz(10.0));
    app.insert_resource(bevy::time::TimeUpdateStrategy::ManualDuration(std::time::Duration::from_millis(200)));
    spawn_many(&mut app);
    app.add_systems(FixedUpdate, count_up.affine());
    app.update();
    // The first frame has no time before it.
    (0..3).for_each(|_| app.update());
    assert_counted(&mut app, 6);
}
