//! The plugin gives the executor to every schedule of its world, and tells what each chose.

use std::sync::{Arc, atomic::Ordering};

use bevy::{
    app::SubApp,
    ecs::schedule::{MultiThreadedExecutor, ScheduleCleanupPolicy, ScheduleLabel},
    prelude::*,
};
use bevy_affinity::{AffinityExecutor, ScheduleWay, prelude::*};

use crate::{Counting, Own, common::Scheduling, said_of, update_until};

#[derive(bevy::app::AppLabel, Clone, Debug, PartialEq, Eq, Hash)]
struct Sub;

fn light() {}

fn light_too() {}

fn app() -> App {
    Scheduling::auto(2).app()
}

#[test]
fn schedules_that_are_there_and_those_that_come_later() {
    let mut app = app();
    app.add_systems(Update, light);
    app.update();
    let runs = Counting::give_to(&mut app, Own);
    app.update();
    app.world_mut().run_schedule(Own);
    assert_eq!(runs.load(Ordering::Relaxed), 0, "its executor was exchanged");
    update_until(&mut app, |app| said_of(app, Own).is_some() && said_of(app, Update).is_some());
    for label in [First.intern(), Last.intern(), PostUpdate.intern()] {
        assert!(said_of(&app, label).is_some(), "{label:?}");
    }
}

#[test]
fn systems_of_a_schedule_of_ones_own_get_their_tags() {
    let mut app = app();
    let mut own = Schedule::default();
    own.add_systems((light, light_too).chain().affine());
    AffinityExecutor::install(&mut own);
    app.update();
    own.run(app.world_mut());
    app.update();
    assert_eq!(app.world().resource::<AffinityDiagnostics>().systems.len(), 2);
}

#[test]
fn schedules_that_a_system_adds() {
    let mut app = app();
    app.add_systems(Update, |mut added: Local<bool>, mut schedules: ResMut<Schedules>| {
        if !std::mem::replace(&mut *added, true) {
            schedules.insert(Schedule::new(Own));
        }
    });
    update_until(&mut app, |app| said_of(app, Own).is_some());
}

#[test]
fn a_schedule_that_takes_the_place_of_one_that_was_removed() {
    let mut app = app();
    app.init_schedule(Own);
    update_until(&mut app, |app| said_of(app, Own).is_some());
    app.world_mut().resource_mut::<Schedules>().remove(Own);
    update_until(&mut app, |app| said_of(app, Own).is_none());
    app.init_schedule(Own);
    update_until(&mut app, |app| said_of(app, Own).is_some());
}

#[test]
fn a_schedule_that_is_replaced_between_two_frames() {
    let mut app = app();
    app.init_schedule(Own);
    update_until(&mut app, |app| said_of(app, Own).is_some());
    app.world_mut().resource_mut::<Schedules>().insert(Schedule::new(Own));
    let runs = |app: &App| said_of(app, Own).map(|said| said.runs);
    update_until(&mut app, |app| runs(app) == Some(0));
    app.world_mut().run_schedule(Own);
    update_until(&mut app, |app| runs(app) == Some(1));
    let counted = Counting::give_to(&mut app, Own);
    (0..3).for_each(|_| app.update());
    app.world_mut().run_schedule(Own);
    assert_eq!(counted.load(Ordering::Relaxed), 1, "what a user sets later stays");
}

/// Takes the schedule out, and puts another one in its place.
fn exchange(app: &mut App, other: Schedule) -> Schedule {
    app.world_mut().resource_mut::<Schedules>().insert(other).expect("there was one")
}

#[test]
fn two_schedules_that_take_turns_are_given_one_executor_each() {
    let mut app = app();
    app.add_systems(Own, light.run_if(|| true));
    update_until(&mut app, |app| said_of(app, Own).is_some());
    let mut other = Schedule::new(Own);
    other.add_systems((light.run_if(|| true), light_too.run_if(|| true)));
    let mut ticks = Vec::new();
    for turn in 0..20 {
        other = exchange(&mut app, other);
        app.update();
        app.world_mut().run_schedule(Own);
        let before = app.world().read_change_tick();
        app.world_mut().run_schedule(Own);
        ticks.push((turn % 2, app.world().read_change_tick().get() - before.get()));
    }
    // Each further executor would wrap the conditions once more, which takes a tick each.
    assert!(ticks[4..].iter().all(|now| ticks[..4].contains(now)), "{ticks:?}");
    let runs = |app: &App| said_of(app, Own).map(|said| said.runs);
    update_until(&mut app, |app| runs(app) == Some(20));
}

#[test]
fn a_built_schedule_in_the_place_of_one_that_is_kept() {
    let mut app = app();
    app.add_systems(Own, light);
    update_until(&mut app, |app| said_of(app, Own).is_some());
    app.world_mut().run_schedule(Own);
    app.update();
    let mut other = Schedule::new(Own);
    other.add_systems(light).run(app.world_mut());
    let _kept = exchange(&mut app, other);
    let runs = |app: &App| said_of(app, Own).map(|said| said.runs);
    update_until(&mut app, |app| runs(app) == Some(0));
    app.world_mut().run_schedule(Own);
    update_until(&mut app, |app| runs(app) == Some(1));
}

#[test]
fn how_a_schedule_runs_where_there_is_no_choice() {
    let mut app = app();
    app.add_systems(Own, light);
    let choice = |app: &App| said_of(app, Own).map(|said| said.choice);
    let run = |app: &mut App| (0..200).for_each(|_| app.world_mut().run_schedule(Own));
    app.update();
    // On a busy machine the first runs may tell something else.
    let finds_it = |_| {
        run(&mut app);
        (0..20).for_each(|_| app.update());
        choice(&app) == Some(ScheduleWay::OneThread)
    };
    assert!((0..500).any(finds_it), "{:?}", app.world().resource::<AffinityDiagnostics>().schedules);
    // An exclusive system that defers effects: by Bevy's default only.
    let exclusive = |_: &mut World| {};
    app.add_systems(Own, exclusive.pipe(|_: In<()>, mut commands: Commands| commands.queue(|_: &mut World| {})));
    run(&mut app);
    update_until(&mut app, |app| choice(app) == Some(ScheduleWay::BevysThreads));
}

#[test]
fn what_comes_to_first_while_the_app_runs() {
    let mut app = app();
    app.add_systems(Update, |mut added: Local<bool>, mut schedules: ResMut<Schedules>| {
        if !std::mem::replace(&mut *added, true) {
            schedules.add_systems(First, (light, light_too).chain().affine());
        }
    });
    let tagged = |app: &App| app.world().resource::<AffinityDiagnostics>().systems.len();
    update_until(&mut app, |app| tagged(app) == 2);
}

#[test]
fn conditions_are_wrapped_once_however_often_a_schedule_is_built() {
    #[derive(SystemSet, Clone, Debug, PartialEq, Eq, Hash)]
    struct Now;

    for label in [First.intern(), PreUpdate.intern()] {
        let mut app = app();
        app.add_systems(label, light.run_if(|| true));
        app.finish();
        Counting::give_to(&mut app, label);
        let mut ticks = Vec::new();
        for _ in 0..20 {
            app.add_systems(label, light_too.in_set(Now));
            let before = app.world().read_change_tick();
            app.update();
            ticks.push(app.world().read_change_tick().get() - before.get());
            app.world_mut().schedule_scope(label, |world, schedule| {
                let cleanup = ScheduleCleanupPolicy::RemoveSystemsOnly;
                schedule.remove_systems_in_set(Now, world, cleanup).expect("it is there");
            });
        }
        assert!(ticks[10..].iter().all(|now| *now <= ticks[5]), "{label:?}: {ticks:?}");
    }
}

#[test]
fn what_a_removed_condition_holds_goes_with_it() {
    #[derive(SystemSet, Clone, Debug, PartialEq, Eq, Hash)]
    struct Gone;

    // Above a thousand systems the gang knows nothing of a schedule.
    for more in [1, 1_001] {
        let (mut app, kept) = (app(), Arc::new(()));
        let captured = kept.clone();
        app.add_systems(Own, light.in_set(Gone).run_if(move || Arc::strong_count(&captured) > 0));
        app.update();
        app.world_mut().run_schedule(Own);
        (0..more).for_each(|_| _ = app.add_systems(Own, light_too));
        app.world_mut().run_schedule(Own);
        assert_eq!(Arc::strong_count(&kept), 2, "it is there still");
        app.world_mut().schedule_scope(Own, |world, schedule| {
            schedule.remove_systems_in_set(Gone, world, ScheduleCleanupPolicy::RemoveSystemsOnly).expect("it is there");
        });
        app.world_mut().run_schedule(Own);
        assert_eq!(Arc::strong_count(&kept), 1, "beside {more} others");
    }
}

/// As without the plugin: who waits for what they hold does not wait for the next frame.
#[test]
fn what_conditions_hold_goes_with_their_schedule() {
    type Goes = fn(&mut Schedules) -> Option<Schedule>;
    let other = |schedules: &mut Schedules| {
        let mut schedule = schedules.remove(Own)?;
        schedule.set_executor(MultiThreadedExecutor::new());
        Some(schedule)
    };
    let ways: [Goes; 3] = [|schedules| schedules.remove(Own), |schedules| schedules.insert(Schedule::new(Own)), other];
    for goes in ways {
        let (mut app, kept) = (app(), Arc::new(()));
        let captured = kept.clone();
        app.add_systems(Own, light.run_if(move || Arc::strong_count(&captured) > 0));
        for _ in 0..3 {
            app.update();
            app.world_mut().run_schedule(Own);
        }
        let schedule = goes(&mut app.world_mut().resource_mut::<Schedules>());
        assert_eq!(Arc::strong_count(&kept), 2, "it is there still");
        drop(schedule);
        assert_eq!(Arc::strong_count(&kept), 1);
    }
}

#[test]
fn the_schedules_of_state_transitions() {
    #[derive(States, Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    enum Light {
        #[default]
        Off,
        On,
    }

    #[derive(Resource, Default)]
    struct Switched(usize);

    let mut app = app();
    app.add_plugins(bevy::state::app::StatesPlugin).init_state::<Light>().init_resource::<Switched>();
    app.add_systems(OnEnter(Light::On), |mut switched: ResMut<Switched>| switched.0 += 1);
    for frame in 0..60 {
        let next = if frame % 2 == 0 { Light::On } else { Light::Off };
        app.world_mut().resource_mut::<NextState<Light>>().set(next);
        app.update();
    }
    assert_eq!(app.world().resource::<Switched>().0, 30);
    update_until(&mut app, |app| said_of(app, OnEnter(Light::On)).is_some());
}

#[test]
fn the_main_loop_stays_as_bevy_made_it() {
    let mut app = app();
    update_until(&mut app, |app| said_of(app, First).is_some());
    let labels = [Main.intern(), bevy::app::FixedMain.intern(), bevy::app::RunFixedMainLoop.intern()];
    assert!(labels.into_iter().all(|label| said_of(&app, label).is_none()));
}

#[test]
fn a_sub_app_without_the_plugin_keeps_its_executors() {
    let mut app = app();
    let mut sub_app = SubApp::new();
    sub_app.update_schedule = Some(Own.intern());
    sub_app.add_schedule(Schedule::new(Own)).add_systems(Own, light);
    app.insert_sub_app(Sub, sub_app);
    (0..20).for_each(|_| app.update());
    update_until(&mut app, |app| said_of(app, First).is_some());
    assert!(said_of(&app, Own).is_none());
}

#[test]
fn apps_do_not_share_what_they_measured() {
    let mut apps = [app(), app()];
    apps.iter_mut().for_each(|app| _ = app.add_systems(Update, light));
    (0..30).for_each(|_| apps[0].update());
    update_until(&mut apps[1], |app| said_of(app, Update).is_some());
    update_until(&mut apps[0], |app| said_of(app, Update).is_some_and(|update| update.runs > 30));
    let runs = apps.each_ref().map(|app| said_of(app, Update).map_or(0, |update| update.runs));
    assert!(runs[1] < runs[0], "{runs:?}");
}

#[test]
fn what_was_measured_is_told() {
    let mut app = app();
    app.add_systems(Update, (light, light_too));
    update_until(&mut app, |app| said_of(app, Update).is_some_and(|update| update.trials > 0));
    update_until(&mut app, |app| {
        let update = said_of(app, Update).expect("it was there");
        // Two light systems have nothing to gain on the gang.
        [ScheduleWay::OneThread, ScheduleWay::BevysThreads].iter().all(|&way| update.expected(way).is_some())
    });
}

#[test]
fn a_change_of_the_schedule_forgets_what_was_measured() {
    let mut app = app();
    app.add_systems(Update, light);
    update_until(&mut app, |app| said_of(app, Update).is_some_and(|update| update.runs > 20));
    app.add_systems(Update, light_too);
    app.update();
    update_until(&mut app, |app| said_of(app, Update).is_some_and(|update| update.runs < 20));
    update_until(&mut app, |app| said_of(app, Update).is_some_and(|update| update.runs > 20));
    app.remove_systems_in_set(Update, light, ScheduleCleanupPolicy::RemoveSystemsOnly).expect("it is there");
    update_until(&mut app, |app| said_of(app, Update).is_some_and(|update| update.runs < 20));
}
