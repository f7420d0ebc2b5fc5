//! Conflicts and ambiguities are found as Bevy finds them; `AffineQuery` works wherever a system
//! parameter does.

use bevy::{
    ecs::{
        schedule::{LogLevel, ScheduleBuildSettings, ScheduleConfigs},
        system::{RunSystemOnce, ScheduleSystem, SystemState},
    },
    prelude::*,
};
use bevy_affinity::prelude::*;

use crate::common::{Scheduling, start_compute_threads};
use crate::tags::{Count, MANY, assert_counted, count_up, spawn_many};

#[derive(Component)]
struct Other;

#[derive(Resource, Default)]
struct Total(u64);

#[derive(Event)]
struct Counted;

fn read_counts(_: AffineQuery<&Count>) {}

fn read_counts_plainly(_: Query<&Count>) {}

fn write_others(_: AffineQuery<&mut Count, With<Other>>) {}

fn write_rest(_: AffineQuery<&mut Count, Without<Other>>) {}

#[test]
#[should_panic(expected = "B0001")]
fn two_queries_of_a_system_conflict() {
    fn conflicting(_: AffineQuery<&mut Count>, _: AffineQuery<&Count>) {}

    let mut app = Scheduling::lock_step(3).app();
    app.add_systems(Update, conflicting.affine()).update();
}

#[test]
#[should_panic(expected = "B0001")]
fn a_query_conflicts_with_bevys() {
    fn conflicting(_: Query<&Count>, _: AffineQuery<(&mut Count, Option<&Other>)>) {}

    let mut app = Scheduling::lock_step(3).app();
    app.add_systems(Update, conflicting.affine()).update();
}

#[test]
#[should_panic(expected = "B0002")]
fn two_resources_of_a_system_conflict() {
    fn conflicting(_: ResMut<Total>, _: Res<Total>) {}

    let mut app = Scheduling::lock_step(3).app();
    app.init_resource::<Total>().add_systems(Update, conflicting.affine()).update();
}

/// Whether Bevy reports an ambiguity among `systems`.
fn is_ambiguous(systems: ScheduleConfigs<ScheduleSystem>) -> bool {
    let mut app = Scheduling::lock_step(3).app();
    app.init_resource::<Total>();
    let mut schedule = Schedule::default();
    let settings = ScheduleBuildSettings { ambiguity_detection: LogLevel::Error, ..default() };
    schedule.set_build_settings(settings).add_systems(systems);
    schedule.initialize(app.world_mut()).is_err()
}

#[test]
fn real_ambiguities_are_found() {
    assert!(is_ambiguous((count_up, read_counts).affine()));
    assert!(is_ambiguous((count_up.affine(), read_counts_plainly).into_configs()));
    assert!(is_ambiguous((count_up.affine(), write_others).into_configs()));
}

#[test]
fn systems_without_conflict_are_not_ambiguous() {
    assert!(!is_ambiguous((count_up, read_counts).affine().chain()));
    assert!(!is_ambiguous((read_counts.affine(), read_counts_plainly).into_configs()));
    assert!(!is_ambiguous((write_others, write_rest).affine()));
}

#[test]
fn who_writes_settings_is_not_ambiguous_with_the_simulation() {
    fn tune(_: ResMut<SchedulerMode>, _: ResMut<AffinitySettings>) {}

    assert!(!is_ambiguous((count_up.affine(), tune).into_configs()));
    assert!(!is_ambiguous((count_up, tune).affine()));
}

#[test]
fn a_tagged_system_may_change_the_mode() {
    fn alternate(mut mode: ResMut<SchedulerMode>) {
        *mode = if *mode == SchedulerMode::Serial { SchedulerMode::LockStep } else { SchedulerMode::Serial };
    }

    let mut app = Scheduling::lock_step(3).app();
    spawn_many(&mut app);
    app.add_systems(Update, (alternate, count_up).affine().chain());
    (0..4).for_each(|_| app.update());
    assert_counted(&mut app, 4);
}

#[test]
fn param_sets() {
    fn both(mut sets: ParamSet<(AffineQuery<&mut Count>, AffineQuery<&Count>)>, mut total: ResMut<Total>) {
        sets.p0().par_iter_mut().for_each(|mut count| count.0 += 2);
        total.0 = sets.p1().iter().map(|count| count.0).sum();
    }

    for scheduling in Scheduling::all() {
        let mut app = scheduling.app();
        spawn_many(&mut app);
        app.init_resource::<Total>().add_systems(Update, both.affine()).update();
        assert_eq!(app.world().resource::<Total>().0, 2 * MANY as u64, "{scheduling:?}");
    }
}

#[test]
fn system_states() {
    start_compute_threads();
    let mut world = World::new();
    world.spawn_batch((0..100).map(Count));
    let mut state = SystemState::<AffineQuery<&mut Count>>::new(&mut world);
    for _ in 0..2 {
        let mut counts = state.get_mut(&mut world).expect("queries are always valid");
        counts.par_iter_mut().for_each(|mut count| count.0 += 1);
        // Rows of a table that the state has not seen yet.
        world.spawn_batch((0..100).map(|count| (Count(count), Other)));
    }
    let mut counts = state.get_mut(&mut world).expect("queries are always valid");
    assert_eq!(counts.reborrow().iter_mut().map(|count| count.0).sum::<u64>(), 3 * 4950 + 200 + 100);
}

#[test]
fn observers() {
    let mut app = Scheduling::lock_step(3).app();
    spawn_many(&mut app);
    app.add_observer(|_: On<Counted>, mut counts: AffineQuery<&mut Count>| {
        counts.par_iter_mut().for_each(|mut count| count.0 += 1);
    });
    app.add_systems(Update, (|mut commands: Commands| commands.trigger(Counted)).affine());
    app.world_mut().trigger(Counted);
    app.update();
    assert_counted(&mut app, 2);
}

#[test]
fn one_shot_systems() {
    let mut app = Scheduling::lock_step(3).app();
    spawn_many(&mut app);
    let system = app.register_system(count_up);
    app.world_mut().run_system(system).expect("registered");
    app.world_mut().run_system_once(count_up).expect("valid");
    let run_from_inside = move |mut commands: Commands| commands.run_system(system);
    app.add_systems(Update, run_from_inside.affine()).update();
    assert_counted(&mut app, 3);
}

#[test]
fn untagged_systems_without_the_plugin() {
    start_compute_threads();
    let mut app = App::new();
    spawn_many(&mut app);
    app.add_systems(Update, count_up).update();
    assert_counted(&mut app, 1);
}

#[test]
fn tagged_systems_without_the_plugin() {
    start_compute_threads();
    let mut app = App::new();
    spawn_many(&mut app);
    app.add_systems(Update, (count_up, read_counts).affine().chain());
    (0..2).for_each(|_| app.update());
    assert_counted(&mut app, 2);
}
