//! Where the systems stand in their schedules: what is ordered by Bevy's functions and sets holds,
//! and nothing else changes.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bevy::{
    ecs::{
        change_detection::Tick,
        schedule::{InternedScheduleLabel, LogLevel, ScheduleBuildSettings, ScheduleLabel},
        system::SystemChangeTick,
    },
    prelude::*,
    transform::systems::{mark_dirty_trees, propagate_parent_transforms, sync_simple_transforms},
};
use bevy_affinity::prelude::*;

use crate::common::{Scheduling, start_compute_threads};

/// Which transform plugins an app has, in the order in which they are added.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Plugins {
    Bevys,
    BevysThenOurs,
    OursThenBevys,
    Ours,
}

impl Plugins {
    const WITH_OURS: [Self; 3] = [Self::BevysThenOurs, Self::OursThenBevys, Self::Ours];

    fn add_to(self, app: &mut App) {
        match self {
            Self::Bevys => app.add_plugins(TransformPlugin),
            Self::BevysThenOurs => app.add_plugins((TransformPlugin, AffinityTransformPlugin)),
            Self::OursThenBevys => app.add_plugins((AffinityTransformPlugin, TransformPlugin)),
            Self::Ours => app.add_plugins(AffinityTransformPlugin),
        };
    }
}

/// Bevy's plugin alone, then every mode with every order of the plugins.
fn variants() -> impl Iterator<Item = (Plugins, Scheduling)> {
    let ours = Scheduling::all().flat_map(|scheduling| Plugins::WITH_OURS.map(|plugins| (plugins, scheduling)));
    [(Plugins::Bevys, Scheduling::SERIAL)].into_iter().chain(ours)
}

/// When the entities were moved.
#[derive(Resource)]
struct Moved(Tick);

/// By probe: whether the tree was marked, its child placed, and the lone entity placed.
#[derive(Resource, Default)]
struct Seen([[bool; 3]; 4]);

type IsAlone = (Without<ChildOf>, Without<Children>);

fn probe<const N: usize>(
    moved: Res<Moved>,
    ticks: SystemChangeTick,
    root: Single<Ref<TransformTreeChanged>, With<Children>>,
    child: Single<(&Transform, &GlobalTransform), With<ChildOf>>,
    lone: Single<(&Transform, &GlobalTransform), IsAlone>,
    mut seen: ResMut<Seen>,
) {
    let is_placed = |(local, global): (&Transform, &GlobalTransform)| local.translation == global.translation();
    let is_marked = root.last_changed().is_newer_than(moved.0, ticks.this_run());
    seen.0[N] = [is_marked, is_placed(*child), is_placed(*lone)];
}

fn add_probes(app: &mut App, schedule: InternedScheduleLabel) {
    app.add_systems(
        schedule,
        (
            probe::<0>.before(mark_dirty_trees),
            probe::<1>.after(mark_dirty_trees).before(propagate_parent_transforms),
            probe::<2>.after(propagate_parent_transforms).before(sync_simple_transforms),
            probe::<3>.after(sync_simple_transforms),
        ),
    );
}

fn move_all(mut moving: Query<&mut Transform, Without<Children>>, ticks: SystemChangeTick, mut commands: Commands) {
    moving.iter_mut().for_each(|mut transform| transform.translation.x += 1.0);
    commands.insert_resource(Moved(ticks.this_run()));
}

fn spawn(mut commands: Commands) {
    commands.spawn((Transform::default(), children![Transform::default()]));
    commands.spawn(Transform::default());
}

#[test]
fn each_function_can_be_ordered_by() {
    let in_turn = [[false; 3], [true, false, false], [true, true, false], [true; 3]];
    for (plugins, scheduling) in variants() {
        for (schedule, users_first) in [
            (PostUpdate.intern(), true),
            (PostUpdate.intern(), false),
            (PostStartup.intern(), true),
            (PostStartup.intern(), false),
        ] {
            let mut app = if plugins == Plugins::Bevys { App::new() } else { scheduling.app() };
            start_compute_threads();
            app.init_resource::<Seen>().add_systems(Startup, (spawn, move_all).chain());
            if users_first {
                add_probes(&mut app, schedule);
            }
            plugins.add_to(&mut app);
            if !users_first {
                add_probes(&mut app, schedule);
            }
            let case = format!("{plugins:?} {scheduling:?} {schedule:?}, users first: {users_first}");
            app.update();
            if schedule == PostUpdate.intern() {
                app.add_systems(Update, move_all);
                for _ in 0..3 {
                    app.update();
                    assert_eq!(app.world().resource::<Seen>().0, in_turn, "{case}");
                }
            } else {
                assert_eq!(app.world().resource::<Seen>().0, in_turn, "{case}");
            }
        }
    }
}

/// Some of the three come from a user, who orders by them; only those that are missing are added.
#[test]
fn some_of_bevys_systems_are_there_without_its_plugin() {
    for some in 0..8_u32 {
        for users_first in [true, false] {
            let mut app = Scheduling::auto(2).app();
            start_compute_threads();
            app.init_resource::<Seen>().add_systems(Startup, (spawn, move_all).chain()).add_systems(Update, move_all);
            if !users_first {
                app.add_plugins(AffinityTransformPlugin);
            }
            let in_set = || TransformSystems::Propagate;
            if some & 1 > 0 {
                app.add_systems(PostUpdate, mark_dirty_trees.in_set(in_set()));
            }
            if some & 2 > 0 {
                app.add_systems(PostUpdate, propagate_parent_transforms.in_set(in_set()));
            }
            if some & 4 > 0 {
                app.add_systems(PostUpdate, sync_simple_transforms.in_set(in_set()));
            }
            add_probes(&mut app, PostUpdate.intern());
            if users_first {
                app.add_plugins(AffinityTransformPlugin);
            }
            for _ in 0..3 {
                app.update();
                let seen = app.world().resource::<Seen>().0[3];
                assert_eq!(seen, [true; 3], "{some:03b}, users first: {users_first}");
            }
        }
    }
}

/// With an app of every variant, and whether it is Bevy's.
fn for_each_app(mut check: impl FnMut(App, &str)) {
    start_compute_threads();
    for (plugins, scheduling) in variants() {
        let mut app = if plugins == Plugins::Bevys { App::new() } else { scheduling.app() };
        plugins.add_to(&mut app);
        check(app, &format!("{plugins:?} {scheduling:?}"));
    }
}

fn at(app: &App, entity: Entity) -> f32 {
    app.world().get::<GlobalTransform>(entity).expect("it has a place").translation().x
}

/// How many systems a schedule has, and how many of these are Bevy's own three functions.
fn count_systems(app: &mut App, schedule: InternedScheduleLabel) -> (usize, usize) {
    let bevys = [
        mark_dirty_trees.system_type_id(),
        propagate_parent_transforms.system_type_id(),
        sync_simple_transforms.system_type_id(),
    ];
    app.world_mut().schedule_scope(schedule, |world, schedule| {
        // One that has run may have been given another executor since, and then tells nothing
        // before that is initialized.
        schedule.initialize(world).expect("it can be built");
        let types: Vec<_> = schedule.systems().expect("it was built").map(|(_, system)| system.system_type()).collect();
        (types.len(), types.iter().filter(|of| bevys.contains(of)).count())
    })
}

#[test]
fn there_are_three_systems() {
    for_each_app(|mut app, case| {
        app.update();
        let bevys = if case.starts_with("Bevys ") { 3 } else { 0 };
        for schedule in [PostStartup.intern(), PostUpdate.intern()] {
            assert_eq!(count_systems(&mut app, schedule), (3, bevys), "{case} {schedule:?}");
        }
    });
}

#[test]
fn conditions_of_the_set_apply() {
    #[derive(Resource)]
    struct Run(bool);
    for_each_app(|mut app, case| {
        app.insert_resource(Run(false));
        app.configure_sets(PostUpdate, TransformSystems::Propagate.run_if(|run: Res<Run>| run.0));
        app.update();
        let entity = app.world_mut().spawn(Transform::from_xyz(1.0, 0.0, 0.0)).id();
        app.update();
        assert_eq!(at(&app, entity), 0.0, "{case}");
        app.world_mut().resource_mut::<Run>().0 = true;
        app.update();
        assert_eq!(at(&app, entity), 1.0, "{case}");
    });
}

#[derive(SystemSet, Clone, Debug, PartialEq, Eq, Hash)]
struct Early;

/// Bevy's functions once more: before those of the plugin, beside them, and in another schedule.
#[test]
fn what_users_add_stays_and_runs() {
    #[derive(Resource, Default)]
    struct Places(Vec<f32>);
    fn note(lone: Single<&GlobalTransform>, mut places: ResMut<Places>) {
        places.0.push(lone.translation().x);
    }
    fn step(mut lone: Single<&mut Transform>) {
        lone.translation.x += 1.0;
    }
    let trio = || (mark_dirty_trees, propagate_parent_transforms, sync_simple_transforms).chain();
    for_each_app(|mut app, case| {
        app.init_resource::<Places>();
        app.add_systems(Update, (step, trio(), note, step).chain());
        let early = (trio().in_set(Early), note, step).chain();
        app.add_systems(PostUpdate, early.before(TransformSystems::Propagate));
        app.add_systems(PostUpdate, trio().in_set(TransformSystems::Propagate));
        app.add_systems(Last, note);
        app.world_mut().spawn(Transform::default());
        app.update();
        assert_eq!(app.world().resource::<Places>().0, [1.0, 2.0, 3.0], "{case}");
        // Those in the plugin's set are exchanged like the plugin's: they do the same. Without
        // `TransformPlugin` they are the plugin's.
        let (all, bevys) = match case {
            _ if case.starts_with("Bevys ") => (9, 9),
            _ if case.starts_with("Ours ") => (6, 3),
            _ => (9, 3),
        };
        assert_eq!(count_systems(&mut app, PostUpdate.intern()), (all + 2, bevys), "{case}");
        assert_eq!(count_systems(&mut app, Update.intern()), (3 + 3, 3), "{case}");
    });
}

/// With Bevy's strictest settings, in the three schedules that the plugin adds to.
#[test]
fn nothing_is_ambiguous() {
    start_compute_threads();
    for (plugins, scheduling) in variants() {
        let mut app = if plugins == Plugins::Bevys { App::new() } else { scheduling.app() };
        for schedule in [PreStartup.intern(), PostStartup.intern(), PostUpdate.intern()] {
            app.edit_schedule(schedule, |schedule| {
                let ambiguity_detection = LogLevel::Error;
                schedule.set_build_settings(ScheduleBuildSettings { ambiguity_detection, ..default() });
            });
        }
        plugins.add_to(&mut app);
        app.add_systems(PreStartup, |_: &World| {});
        app.add_systems(PreStartup, |_: Option<Res<StaticTransformOptimizations>>| {});
        app.add_systems(PostUpdate, (|_: Query<&mut Transform>| {}).before(mark_dirty_trees));
        app.add_systems(PostUpdate, (|_: Query<&GlobalTransform>| {}).after(TransformSystems::Propagate));
        // As Bevy's systems for trees, ours leave those alone that are in none.
        type IsLone = (Without<ChildOf>, Without<Children>);
        let lone = |_: Query<(&mut Transform, &mut GlobalTransform), IsLone>| {};
        app.add_systems(PostUpdate, lone.after(mark_dirty_trees).before(sync_simple_transforms));
        app.update();
    }
}

/// And what is ambiguous with Bevy's systems is with ours.
#[test]
fn no_ambiguity_is_hidden() {
    for_each_app(|mut app, case| {
        app.edit_schedule(PostUpdate, |schedule| {
            let ambiguity_detection = LogLevel::Error;
            schedule.set_build_settings(ScheduleBuildSettings { ambiguity_detection, ..default() });
        });
        app.add_systems(PostUpdate, |_: Query<&mut Transform>| {});
        assert!(catch_unwind(AssertUnwindSafe(|| app.update())).is_err(), "{case}");
    });
}

#[test]
fn nothing_is_initialized_before_startup_has_run() {
    #[derive(Resource)]
    struct Prepared;
    struct FromStartup;
    impl FromWorld for FromStartup {
        fn from_world(world: &mut World) -> Self {
            world.resource::<Prepared>();
            Self
        }
    }
    #[derive(Component)]
    struct Off;
    for_each_app(|mut app, case| {
        app.add_systems(Startup, |world: &mut World| {
            world.insert_resource(Prepared);
            world.register_disabling_component::<Off>();
            world.spawn((Transform::from_xyz(1.0, 0.0, 0.0), Off));
        });
        for schedule in [PostStartup.intern(), PostUpdate.intern()] {
            app.add_systems(schedule, |_: Local<FromStartup>| {});
        }
        app.update();
        let mut off = app.world_mut().query_filtered::<&GlobalTransform, With<Off>>();
        let global = off.single(app.world()).expect("there is one");
        assert_eq!(*global, GlobalTransform::IDENTITY, "{case}: entities that are disabled are not placed");
    });
}

/// As tests do that never start the app.
#[test]
fn a_schedule_that_is_run_by_hand() {
    for_each_app(|mut app, case| {
        if case.starts_with("Ours ") {
            // Its systems come when the app starts.
            app.world_mut().run_schedule(PreStartup);
        }
        let entity = app.world_mut().spawn(Transform::from_xyz(1.0, 0.0, 0.0)).id();
        app.world_mut().run_schedule(PostUpdate);
        assert_eq!(at(&app, entity), 1.0, "{case}");
        for x in [2.0, 3.0] {
            *app.world_mut().get_mut::<Transform>(entity).expect("it has one") = Transform::from_xyz(x, 0.0, 0.0);
            app.update();
            assert_eq!(at(&app, entity), x, "{case}");
        }
        // Too late to take the places of Bevy's, if they came last.
        let bevys = if case.starts_with("Bevys ") || case.starts_with("OursThenBevys ") { 3 } else { 0 };
        assert_eq!(count_systems(&mut app, PostUpdate.intern()), (3, bevys), "{case}");
    });
}

/// Systems that are added while the app runs have the schedule built anew.
#[test]
fn a_schedule_that_is_built_again() {
    for_each_app(|mut app, case| {
        let entity = app.world_mut().spawn(Transform::default()).id();
        for round in 1..4 {
            app.add_systems(PostUpdate, (|| {}).after(sync_simple_transforms));
            *app.world_mut().get_mut::<Transform>(entity).expect("it has one") =
                Transform::from_xyz(round as f32, 0.0, 0.0);
            app.update();
            assert_eq!(at(&app, entity), round as f32, "{case}");
        }
        assert_eq!(count_systems(&mut app, PostUpdate.intern()).0, 3 + 3, "{case}");
    });
}

/// Nothing but the two schedules is touched.
#[test]
fn an_app_without_these_schedules() {
    let mut app = Scheduling::lock_step(2).app();
    app.add_plugins(AffinityTransformPlugin);
    let mut schedules = app.world_mut().resource_mut::<Schedules>();
    schedules.remove(PostUpdate);
    schedules.remove(PostStartup);
    app.update();
    assert!(app.get_schedule(PostUpdate).is_none() && app.get_schedule(PostStartup).is_none());
}
