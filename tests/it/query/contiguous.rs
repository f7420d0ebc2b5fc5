//! `contiguous_par_iter`: the same rows, changes and errors as Bevy's.

use std::sync::atomic::{AtomicU64, Ordering};

use bevy::{
    ecs::{batching::BatchingStrategy, query::QueryData},
    prelude::*,
};
use bevy_affinity::prelude::*;

use crate::common::Scheduling;

#[derive(Component, Clone, Copy, PartialEq, Debug)]
struct Position(u64);
#[derive(Component)]
struct Velocity(u64);
#[derive(Component)]
struct Other;
#[derive(Component)]
#[component(storage = "SparseSet")]
struct Scattered;

/// What a reader that comes after the writer saw, in each frame: the squares of all positions, and
/// how many of them had changed.
#[derive(Resource, Default, PartialEq, Debug)]
struct Seen(Vec<(u64, usize)>);

fn look(positions: Query<Ref<Position>>, mut seen: ResMut<Seen>) {
    let sum = positions.iter().map(|position| position.0 * position.0).sum();
    seen.0.push((sum, positions.iter().filter(Ref::is_changed).count()));
}

/// Three frames of `writer` and [`look`], over rows in several tables, one of them of one row, and
/// one that does not match.
fn run<M>(mut app: App, writer: impl IntoScheduleConfigs<bevy::ecs::system::ScheduleSystem, M>) -> Seen {
    app.init_resource::<Seen>().add_systems(Update, (writer, look).chain());
    let world = app.world_mut();
    for row in 0..3000 {
        world.spawn((Position(row), Velocity(row % 7)));
        world.spawn((Position(row), Velocity(3), Other));
        world.spawn(Position(row));
    }
    world.spawn((Position(1), Velocity(1), Name::new("alone")));
    (0..3).for_each(|_| app.update());
    app.world_mut().remove_resource().expect("it was inserted")
}

#[derive(QueryData)]
#[query_data(mutable, contiguous(mutable))]
struct Moving {
    position: &'static mut Position,
    velocity: &'static Velocity,
}

fn bevys(mut query: Query<(&mut Position, &Velocity)>) -> Result {
    // Not in parallel: Bevy 0.20.1 fails an assertion of its own then.
    for (mut positions, velocities) in query.contiguous_iter_mut()? {
        positions.iter_mut().zip(velocities).for_each(|(position, velocity)| position.0 += velocity.0);
    }
    Ok(())
}

fn ours(mut query: AffineQuery<(&mut Position, &Velocity)>) -> Result {
    query.contiguous_par_iter_mut()?.for_each(|(mut positions, velocities)| {
        positions.iter_mut().zip(velocities).for_each(|(position, velocity)| position.0 += velocity.0);
    });
    Ok(())
}

fn ours_with_scratch(mut query: AffineQuery<(&mut Position, &Velocity)>) -> Result {
    let query = query.contiguous_par_iter_mut()?.batching_strategy(BatchingStrategy::fixed(100));
    query.for_each_init(Vec::new, |scratch, (mut positions, velocities)| {
        scratch.clear();
        scratch.extend(velocities.iter().map(|velocity| velocity.0));
        positions.iter_mut().zip(scratch).for_each(|(position, velocity)| position.0 += *velocity);
    });
    Ok(())
}

fn ours_by_own_data(mut query: AffineQuery<Moving>) -> Result {
    query.contiguous_par_iter_mut()?.for_each(|mut moving| {
        let positions = moving.position.iter_mut();
        positions.zip(moving.velocity).for_each(|(position, velocity)| position.0 += velocity.0);
    });
    Ok(())
}

#[test]
fn writing_is_as_bevys() {
    let expected = run(Scheduling::BEVY.bare_app(), bevys);
    assert_eq!(expected.0[1].1, 6001, "the rows without velocity do not change");
    for scheduling in Scheduling::all() {
        assert_eq!(run(scheduling.app(), ours.affine()), expected, "{scheduling:?}");
        assert_eq!(run(scheduling.app(), ours_with_scratch.affine()), expected, "{scheduling:?}");
        assert_eq!(run(scheduling.app(), ours_by_own_data.affine()), expected, "{scheduling:?}");
    }
    assert_eq!(run(Scheduling::lock_step(2).app(), ours), expected, "untagged");
}

#[test]
fn reading_changes_nothing() {
    #[derive(Resource, Default)]
    struct Sum(AtomicU64);

    fn add(query: AffineQuery<(&mut Position, &Velocity), With<Other>>, sum: Res<Sum>) -> Result {
        query.contiguous_par_iter()?.for_each(|(positions, velocities)| {
            let runs = positions.iter().zip(velocities).map(|(position, velocity)| position.0 * velocity.0);
            sum.0.fetch_add(runs.sum(), Ordering::Relaxed);
        });
        Ok(())
    }

    for scheduling in Scheduling::all() {
        let mut app = scheduling.app();
        app.init_resource::<Sum>();
        let seen = run(app, add.affine());
        assert_eq!(seen.0[1].1, 0, "{scheduling:?}");
    }
    let mut app = Scheduling::lock_step(2).app();
    app.init_resource::<Sum>().add_systems(Update, add.affine());
    (0..5000).for_each(|row| _ = app.world_mut().spawn((Position(row), Velocity(2), Other)));
    app.update();
    assert_eq!(app.world().resource::<Sum>().0.load(Ordering::Relaxed), 4999 * 5000);
}

#[test]
fn rows_of_a_sparse_filter_are_an_error() {
    fn try_it(mut query: AffineQuery<&mut Position, With<Scattered>>, mut errors: Local<u32>) {
        *errors +=
            u32::from(query.contiguous_par_iter_mut().is_err()) + u32::from(query.contiguous_par_iter().is_err());
        assert_eq!(*errors % 2, 0);
        assert!(*errors > 0);
    }

    let mut app = Scheduling::lock_step(2).app();
    app.world_mut().spawn((Position(1), Scattered));
    app.add_systems(Update, try_it.affine()).update();
}

#[test]
#[should_panic(expected = "the run of one")]
fn panics_arrive() {
    fn fail(mut query: AffineQuery<&mut Position>) -> Result {
        query.contiguous_par_iter_mut()?.for_each(|positions| assert!(positions.len() > 1, "the run of one"));
        Ok(())
    }

    let mut app = Scheduling::lock_step(2).app();
    app.world_mut().spawn(Position(1));
    app.add_systems(Update, fail.affine()).update();
}
