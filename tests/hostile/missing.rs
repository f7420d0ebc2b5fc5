//! Resources of the plugin that a user takes away, replaces or sets to what makes no sense.

use std::time::Duration;

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::{assert_counted, common::Scheduling, count_up, spawn_many};

fn counting_app(scheduling: Scheduling) -> App {
    let mut app = scheduling.app();
    spawn_many(app.world_mut());
    app.add_systems(Update, count_up.affine());
    app
}

/// Runs an app before and after `take_away`, and after `bring_back`.
fn check(take_away: impl Fn(&mut World), bring_back: impl Fn(&mut World)) {
    for scheduling in [Scheduling::lock_step(2), Scheduling::heartbeat(3), Scheduling::auto(2), Scheduling::BEVY] {
        let mut app = counting_app(scheduling);
        (0..3).for_each(|_| app.update());
        take_away(app.world_mut());
        (0..3).for_each(|_| app.update());
        bring_back(app.world_mut());
        (0..3).for_each(|_| app.update());
        assert_counted(app.world_mut(), 9);
    }
}

#[test]
fn settings_that_are_removed() {
    check(
        |world| _ = world.remove_resource::<AffinitySettings>(),
        |world| world.insert_resource(Scheduling::lock_step(4).settings()),
    );
}

#[test]
fn a_mode_that_is_removed() {
    check(|world| _ = world.remove_resource::<SchedulerMode>(), |world| world.insert_resource(SchedulerMode::LockStep));
}

#[test]
fn diagnostics_that_are_removed() {
    check(
        |world| {
            _ = world.remove_resource::<AffinityDiagnostics>();
            _ = world.remove_resource::<AffinityTimeline>();
        },
        |world| world.insert_resource(AffinityDiagnostics::default()),
    );
}

#[test]
fn a_pool_that_is_removed_comes_back() {
    check(
        |world| drop(world.remove_resource::<AffinityPool>()),
        |world| assert!(world.contains_resource::<AffinityPool>()),
    );
}

#[test]
fn a_pool_that_is_removed_with_the_settings_comes_back() {
    check(
        |world| {
            _ = world.remove_resource::<AffinitySettings>();
            drop(world.remove_resource::<AffinityPool>());
        },
        |world| assert!(world.contains_resource::<AffinityPool>()),
    );
}

#[test]
fn a_pool_of_the_users_in_its_place() {
    check(
        |world| world.insert_resource(AffinityPool::new(&Scheduling::lock_step(4).settings())),
        |world| {
            let workers = world.resource::<AffinityPool>().workers();
            assert_eq!(world.resource::<AffinitySettings>().workers, WorkerCount::Exactly(workers));
        },
    );
}

#[test]
fn settings_at_their_limits() {
    let with = |chunk_rows, spin, heartbeat| AffinitySettings {
        chunk_rows,
        spin,
        heartbeat,
        spare_cores: SpareCores::Exactly(usize::MAX),
        ..Scheduling::lock_step(1).settings()
    };
    let odd = [
        with(0, Duration::ZERO, Duration::ZERO),
        with(1, Duration::from_nanos(1), Duration::MAX),
        with(usize::MAX, Duration::from_micros(1), Duration::from_nanos(1)),
        with(usize::MAX / 2, Duration::ZERO, Duration::from_secs(u64::MAX)),
    ];
    let mut app = counting_app(Scheduling::lock_step(1));
    let mut frames = 0;
    for workers in [0, 1, 2, 3, 65] {
        for settings in &odd {
            for &mode in SchedulerMode::ALL {
                let settings = AffinitySettings { workers: WorkerCount::Exactly(workers), ..settings.clone() };
                app.insert_resource(settings).insert_resource(mode).update();
                frames += 1;
            }
        }
    }
    assert_counted(app.world_mut(), frames);
}
