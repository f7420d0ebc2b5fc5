//! Systems that are configured first and tagged then.

use bevy::{
    app::MainScheduleOrder,
    ecs::schedule::{LogLevel, ScheduleBuildSettings, ScheduleCleanupPolicy, ScheduleConfigs, ScheduleLabel},
    ecs::system::{ParamBuilder, ScheduleSystem, SystemParamBuilder},
    prelude::*,
};
use bevy_affinity::prelude::*;

use crate::common::{Scheduling, swept_rows};
use crate::tags::{MANY, assert_counted, count_up, first, fourth, second, spawn_many, third, traced_frame};

const GANG: Scheduling = Scheduling::lock_step(3);

/// Asserts that the gang sweeps the rows of `systems`, which count up once a frame, in `schedule`.
fn assert_on_the_gang(schedule: impl ScheduleLabel + Clone, systems: impl Fn() -> ScheduleConfigs<ScheduleSystem>) {
    for scheduling in Scheduling::all() {
        let mut app = scheduling.app();
        spawn_many(&mut app);
        app.add_systems(schedule.clone(), systems());
        (0..3).for_each(|_| app.update());
        assert_counted(&mut app, 3);
        let systems = &app.world().resource::<AffinityDiagnostics>().systems;
        assert!(systems.iter().any(|system| system.calls >= 2), "{scheduling:?}: {systems:?}");
        if scheduling.is_parallel() {
            let swept = swept_rows(&app);
            assert_eq!(swept.iter().sum::<u64>(), 3 * MANY as u64, "{scheduling:?}");
            assert!(swept.iter().all(|&rows| rows > 0), "{swept:?}");
        }
    }
}

#[test]
fn chains() {
    assert_on_the_gang(Update, || (first_of_none, count_up).chain().affine());
}

#[test]
fn conditions() {
    assert_on_the_gang(Update, || count_up.run_if(|| true).affine());
    assert_on_the_gang(Update, || (first_of_none, count_up).run_if(|| true).affine().run_if(|| true));
}

#[test]
fn other_schedules() {
    assert_on_the_gang(PreUpdate, || count_up.run_if(|| true).affine());
    assert_on_the_gang(PostUpdate, || count_up.run_if(|| true).affine());
}

/// Entered before `Startup`, in an app that is updated without having been finished.
#[test]
fn entering_the_first_state() {
    #[derive(States, Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
    enum Stage {
        #[default]
        First,
    }
    let mut app = GANG.app();
    app.add_plugins(bevy::state::app::StatesPlugin).init_state::<Stage>();
    spawn_many(&mut app);
    app.add_systems(OnEnter(Stage::First), (first_of_none, count_up).chain().affine());
    app.update();
    assert_counted(&mut app, 1);
    let systems = &app.world().resource::<AffinityDiagnostics>().systems;
    assert_eq!(systems.iter().map(|system| system.calls).collect::<Vec<_>>(), [1, 1], "{systems:?}");
}

fn first_of_none() {}

#[test]
fn order_sets_and_names_are_as_before() {
    let mut app = GANG.app();
    app.add_systems(Update, (fourth, third).chain().affine().after(second));
    app.add_systems(Update, (first.before(AffineSystems), second.after(first).affine()));
    app.add_systems(PostUpdate, (second.after(AffineSystems), first.run_if(|| true).affine()));
    assert_eq!(traced_frame(&mut app), ["first", "second", "fourth", "third", "first", "second"]);
}

#[test]
fn systems_tagged_twice_are_tagged_once() {
    let mut app = GANG.app();
    app.add_systems(Update, (first.affine(), second, third.run_if(|| true).affine()).chain().affine());
    (0..2).for_each(|_| assert_eq!(traced_frame(&mut app), ["first", "second", "third"]));
    let systems = &app.world().resource::<AffinityDiagnostics>().systems;
    assert_eq!((systems.len(), systems[0].name.as_str()), (3, "it::tags::first"));
    // These tests are built without Bevy's names: what is left is the place of the tag.
    assert!(systems[1].name.starts_with("tagged at tests/it/tags/late.rs:"), "{systems:?}");
    assert!(systems.iter().all(|system| system.calls == 2), "{systems:?}");
}

#[test]
fn sync_points_stay_sync_points() {
    fn spawn(mut commands: Commands) {
        commands.spawn(Name::new("new"));
    }
    fn look(names: AffineQuery<&Name>, mut trace: ResMut<crate::tags::Trace>) {
        trace.0.push(if names.is_empty() { "none" } else { "new" });
    }

    let mut app = GANG.app();
    app.add_systems(Update, (spawn, ApplyDeferred, look).chain_ignore_deferred().affine());
    assert_eq!(traced_frame(&mut app), ["new"]);
}

#[test]
fn schedules_that_run_already() {
    let mut app = GANG.app();
    spawn_many(&mut app);
    app.add_systems(Update, first);
    (0..3).for_each(|_| assert_eq!(traced_frame(&mut app), ["first"]));
    app.add_systems(Update, (count_up, second).chain().affine().after(first));
    (0..3).for_each(|_| assert_eq!(traced_frame(&mut app), ["first", "second"]));
    assert_counted(&mut app, 3);
    assert!(swept_rows(&app).iter().all(|&rows| rows > 0));
}

#[test]
fn startup_and_schedules_of_ones_own() {
    #[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
    struct Own;

    for finishes in [false, true] {
        let mut app = GANG.app();
        spawn_many(&mut app);
        app.init_schedule(Own).world_mut().resource_mut::<MainScheduleOrder>().insert_after(Update, Own);
        app.add_systems(Startup, count_up.run_if(|| true).affine());
        app.add_systems(Own, count_up.run_if(|| true).affine());
        if finishes {
            app.finish();
            app.cleanup();
        }
        app.update();
        assert_counted(&mut app, 2);
        let systems = &app.world().resource::<AffinityDiagnostics>().systems;
        assert_eq!(systems.iter().filter(|system| system.calls == 1).count(), 2, "{systems:?}");
    }
}

#[test]
fn without_the_plugin_they_are_ordinary_systems() {
    let mut app = GANG.bare_app();
    spawn_many(&mut app);
    app.add_systems(Update, (first, count_up).chain().affine());
    assert_eq!(traced_frame(&mut app), ["first"]);
    assert_counted(&mut app, 1);
}

#[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
struct Own;

/// Whether each system of the app's own schedule, which has run, is bound to the leader.
fn is_tagged(app: &App) -> Vec<bool> {
    let systems = app.get_schedule(Own).and_then(|schedule| schedule.systems().ok()).expect("it has run");
    systems.map(|(_, system)| !system.is_send()).collect()
}

#[test]
fn a_system_that_takes_the_place_of_another_before_the_schedule_has_run() {
    let mut app = GANG.app();
    app.update();
    app.add_systems(Own, first_of_none.run_if(|| true).affine());
    app.update();
    app.world_mut().schedule_scope(Own, |world, schedule| {
        let policy = ScheduleCleanupPolicy::RemoveSystemsOnly;
        schedule.remove_systems_in_set(first_of_none, world, policy).expect("it is there");
        schedule.add_systems(count_up.run_if(|| true).affine());
    });
    app.update();
    app.world_mut().run_schedule(Own);
    assert_eq!(is_tagged(&app), [true]);
}

#[test]
fn a_schedule_that_takes_the_place_of_another_which_is_kept() {
    let mut app = GANG.app();
    app.update();
    app.add_systems(Own, first_of_none.run_if(|| true).affine());
    app.update();
    let mut other = Schedule::new(Own);
    other.add_systems(count_up.run_if(|| true).affine());
    let kept = app.world_mut().resource_mut::<Schedules>().insert(other);
    app.update();
    app.world_mut().run_schedule(Own);
    assert_eq!(is_tagged(&app), [true]);
    drop(kept);
}

/// After a build that failed Bevy has systems that are initialized beside new ones that are not.
#[test]
fn systems_that_were_built_and_then_not_again() {
    let mut app = GANG.app();
    let strict = |is_strict| {
        let ambiguity_detection = if is_strict { LogLevel::Error } else { LogLevel::Ignore };
        move |schedule: &mut Schedule| {
            schedule.set_build_settings(ScheduleBuildSettings { ambiguity_detection, ..default() });
        }
    };
    fn reads(_: Query<&Transform>) {}
    fn writes(_: Query<&mut Transform>) {}
    app.update();
    app.add_systems(Own, (first_of_none, count_up).run_if(|| true).affine());
    // Built in the frame in which they are added: they are not tagged.
    app.world_mut().run_schedule(Own);
    app.update();
    app.add_systems(Own, (reads, writes)).edit_schedule(Own, strict(true));
    let fails = app.world_mut().schedule_scope(Own, |world, schedule| schedule.initialize(world).is_err());
    assert!(fails, "the build is to fail");
    app.edit_schedule(Own, strict(false)).add_systems(Own, first_of_none.run_if(|| true).affine());
    app.update();
    app.world_mut().run_schedule(Own);
    assert_eq!(is_tagged(&app).len(), 5);
}

/// Of these only ticks tell.
#[test]
fn systems_without_access_that_were_built_and_then_not_again() {
    #[derive(SystemSet, Clone, PartialEq, Eq, Hash, Debug)]
    enum Sets {
        Outer,
        Inner,
    }
    let strict = |hierarchy_detection| {
        move |schedule: &mut Schedule| {
            schedule.set_build_settings(ScheduleBuildSettings { hierarchy_detection, ..default() });
        }
    };
    fn nothing() {}
    let mut app = GANG.app();
    app.update();
    // It is in the outer set twice: for Bevy that is an error where it was told so.
    app.configure_sets(Own, Sets::Inner.in_set(Sets::Outer)).edit_schedule(Own, strict(LogLevel::Error));
    app.add_systems(Own, nothing.run_if(|| true).in_set(Sets::Outer).in_set(Sets::Inner).affine());
    let fails = app.world_mut().schedule_scope(Own, |world, schedule| schedule.initialize(world).is_err());
    assert!(fails, "the build is to fail");
    app.edit_schedule(Own, strict(LogLevel::Ignore)).add_systems(Own, || {});
    app.update();
    app.world_mut().run_schedule(Own);
    assert_eq!(is_tagged(&app), [false; 2]);
}

/// What a builder makes has a tick before it is initialized.
#[test]
fn systems_from_a_builder() {
    let mut app = GANG.app();
    let built = (ParamBuilder,).build_state(app.world_mut()).build_system(count_up);
    app.add_systems(Own, built.run_if(|| true).affine());
    app.update();
    app.world_mut().run_schedule(Own);
    assert_eq!(is_tagged(&app), [true]);
}

/// In a schedule of which Bevy keeps a sync point that it has no use for any more.
#[test]
fn systems_from_a_builder_beside_a_sync_point_that_is_left_over() {
    fn spawn(mut commands: Commands) {
        commands.spawn_empty();
    }
    fn look(_: Query<Entity>) {}
    let mut app = GANG.app();
    app.add_systems(Own, (spawn, look).chain());
    app.world_mut().run_schedule(Own);
    app.world_mut().schedule_scope(Own, |world, schedule| {
        schedule.remove_systems_in_set(look, world, ScheduleCleanupPolicy::RemoveSystemsOnly).expect("it is there");
    });
    app.world_mut().run_schedule(Own);
    let built = (ParamBuilder,).build_state(app.world_mut()).build_system(count_up);
    app.add_systems(Own, built.run_if(|| true).affine());
    app.update();
    app.world_mut().run_schedule(Own);
    let mut tagged = is_tagged(&app);
    tagged.sort_unstable();
    assert_eq!(tagged, [false, true]);
}
