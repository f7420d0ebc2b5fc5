//! A fused system in schedules: chains, conditions, sets, with and without the tag and the plugin.

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::common::{Scheduling, start_compute_threads};
use crate::fused::{Count, assert_counted, spawn_many};

fn count_up(Row(mut count): Row<&mut Count>) {
    count.0 += 1;
}

fn double(Row(mut count): Row<&mut Count>) {
    count.0 *= 2;
}

#[test]
fn it_stands_in_a_chain() {
    fn one(mut rows: AffineQuery<&mut Count>) {
        rows.par_iter_mut().for_each(|mut count| count.0 = 1);
    }
    fn is_four(rows: Query<&Count>) {
        assert!(rows.iter().all(|count| count.0 == 4));
    }
    fn hundred(mut rows: AffineQuery<&mut Count>) {
        rows.par_iter_mut().for_each(|mut count| count.0 += 100);
    }

    for scheduling in Scheduling::all() {
        let mut app = scheduling.app();
        spawn_many(&mut app);
        app.add_systems(Update, (one, fused((count_up, double)), is_four, hundred).affine().chain());
        (0..3).for_each(|_| app.update());
        assert_counted(&mut app, 104);
    }
}

#[test]
fn conditions_and_sets_hold_for_all_kernels() {
    #[derive(SystemSet, Clone, Debug, PartialEq, Eq, Hash)]
    struct Counting;

    #[derive(Resource)]
    struct Runs(bool);

    let mut app = Scheduling::lock_step(2).app();
    spawn_many(&mut app);
    app.insert_resource(Runs(false));
    app.configure_sets(Update, Counting.run_if(|runs: Res<Runs>| runs.0));
    app.add_systems(Update, fused((count_up, double)).affine().in_set(Counting));
    app.update();
    assert_counted(&mut app, 0);
    app.insert_resource(Runs(true)).update();
    assert_counted(&mut app, 2);
}

#[test]
fn without_the_tag_or_the_plugin_it_runs_too() {
    start_compute_threads();
    for tagged in [true, false] {
        let mut app = App::new();
        spawn_many(&mut app);
        match tagged {
            true => app.add_systems(Update, fused((count_up, double)).affine()),
            false => app.add_systems(Update, fused((count_up, double))),
        };
        app.update();
        assert_counted(&mut app, 2);
    }
}

#[test]
fn it_is_timed_as_one_system() {
    let mut app = Scheduling::lock_step(2).app();
    spawn_many(&mut app);
    app.add_systems(Update, fused((count_up, double)).affine());
    (0..3).for_each(|_| app.update());
    let diagnostics = app.world().resource::<AffinityDiagnostics>();
    let names: Vec<_> = diagnostics.systems.iter().map(|system| system.name.as_str()).collect();
    let [name] = names[..] else { panic!("one system: {names:?}") };
    assert!(name.contains("count_up") && name.contains("double"), "{name}");
}

#[test]
fn new_tables_are_visited_as_they_come() {
    #[derive(Component)]
    struct Extra;

    let mut app = Scheduling::lock_step(2).app();
    app.add_systems(Update, fused((count_up,)).affine());
    app.update();
    let plain = app.world_mut().spawn(Count(0)).id();
    app.update();
    let extra = app.world_mut().spawn((Count(0), Extra)).id();
    app.update();
    assert_eq!(app.world().get(plain), Some(&Count(2)));
    assert_eq!(app.world().get(extra), Some(&Count(1)));
}
