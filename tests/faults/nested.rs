//! Parallel calls inside the closures of parallel calls.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::{Count, common::Scheduling};

/// What is summed up for each row.
#[derive(Component)]
struct Weight(u64);

const WEIGHTS: u64 = 20;

fn weigh(mut counts: AffineQuery<&mut Count>, weights: AffineQuery<&Weight>) {
    counts.par_iter_mut().for_each(|mut count| {
        let sum = AtomicU64::new(0);
        weights.par_iter().for_each(|weight| {
            sum.fetch_add(weight.0, Ordering::Relaxed);
        });
        count.0 += sum.into_inner();
    });
}

fn weigh_in_rounds(mut counts: AffineQuery<&mut Count>, weights: AffineQuery<&Weight>, pool: Res<AffinityPool>) {
    counts.par_iter_mut().for_each(|mut count| {
        let sum = AtomicU64::new(0);
        pool.run(|worker| {
            let share = weights.iter().skip(worker.index()).step_by(pool.workers());
            sum.fetch_add(share.map(|weight| weight.0).sum(), Ordering::Relaxed);
        });
        count.0 += sum.into_inner();
    });
}

fn app(scheduling: Scheduling) -> App {
    let mut app = scheduling.app();
    app.world_mut().spawn_batch((0..WEIGHTS).map(Weight));
    app.world_mut().spawn_batch((0..5000).map(|_| Count(0)));
    app
}

fn assert_weighed(app: &mut App, times: u64) {
    let mut counts = app.world_mut().query::<&Count>();
    let weight: u64 = (0..WEIGHTS).sum();
    assert!(counts.iter(app.world()).all(|count| count.0 == times * weight));
}

#[test]
fn queries_inside_a_sweep() {
    for scheduling in Scheduling::all() {
        let mut app = app(scheduling);
        app.add_systems(Update, weigh.affine());
        (0..2).for_each(|_| app.update());
        assert_weighed(&mut app, 2);
    }
}

#[test]
fn rounds_inside_a_sweep() {
    for scheduling in Scheduling::all() {
        let mut app = app(scheduling);
        app.add_systems(Update, weigh_in_rounds.affine());
        (0..2).for_each(|_| app.update());
        assert_weighed(&mut app, 2);
    }
}

/// Elsewhere Bevy could run other systems while a nested call waits for its threads.
#[test]
fn what_is_nested_stays_on_its_thread() {
    fn compare_threads(mut counts: AffineQuery<&mut Count>, weights: AffineQuery<&Weight>) {
        counts.par_iter_mut().for_each(|mut count| {
            let outer = thread::current().id();
            weights.par_iter().for_each(|_| assert_eq!(thread::current().id(), outer));
            weights.par_iter().for_each_chunk(|_| assert_eq!(thread::current().id(), outer));
            count.0 += 1;
        });
    }
    for scheduling in Scheduling::all().filter(|&scheduling| {
        // A sweep that stays on the leader is no parallel call: what is nested in it may be one.
        scheduling.is_parallel() || scheduling.mode == SchedulerMode::Bevy
    }) {
        let mut app = app(scheduling);
        app.add_systems(Update, compare_threads.affine()).update();
        let mut counts = app.world_mut().query::<&Count>();
        assert!(counts.iter(app.world()).all(|count| count.0 == 1));
    }
}

#[test]
fn sweeps_inside_a_scatter() {
    fn weigh_others(mut counts: AffineQuery<(Entity, &mut Count)>, weights: AffineQuery<&Weight>) {
        let sum_up = || {
            let sum = AtomicU64::new(0);
            weights.par_iter().for_each_chunk(|weights| {
                sum.fetch_add(weights.iter().map(|weight| weight.0).sum(), Ordering::Relaxed);
            });
            sum.into_inner()
        };
        let report = counts.par_iter_mut().scatter_within(
            |outbox, (entity, _)| outbox.send(entity, sum_up()),
            |(_, mut count), sum| count.0 += sum + sum_up(),
        );
        assert_eq!(report.delivered, 5000);
    }

    for scheduling in Scheduling::all() {
        let mut app = app(scheduling);
        app.add_systems(Update, weigh_others.affine()).update();
        assert_weighed(&mut app, 2);
    }
}

#[test]
fn slices_inside_a_sweep_are_as_short_as_the_setting_says() {
    fn measure(counts: AffineQuery<&Count>, mut longest: ResMut<Longest>) {
        let seen = AtomicU64::new(0);
        counts.par_iter().for_each(|count| {
            if count.0 % 500 == 0 {
                counts
                    .par_iter()
                    .for_each_chunk(|slice: &[Count]| _ = seen.fetch_max(slice.len() as u64, Ordering::Relaxed));
            }
        });
        longest.0 = longest.0.max(seen.into_inner());
    }

    #[derive(Resource, Default)]
    struct Longest(u64);

    for scheduling in Scheduling::all() {
        let mut app = scheduling.app();
        app.insert_resource(AffinitySettings { chunk_rows: 64, ..scheduling.settings() }).init_resource::<Longest>();
        app.world_mut().spawn_batch((0..20_000).map(Count));
        app.add_systems(Update, measure.affine());
        (0..4).for_each(|_| app.update());
        assert_eq!(app.world().resource::<Longest>().0, 64, "{scheduling:?}");
    }
}

/// Joins and calls that are nested run on the spot: on a gang that waited for them they would wait
/// for themselves.
#[test]
fn joins_and_batched_calls_inside_a_sweep() {
    fn weigh_twice(mut counts: AffineQuery<&mut Count>, weights: AffineQuery<&Weight>, pool: Res<AffinityPool>) {
        let weights: Vec<_> = weights.iter().map(|weight| weight.0).collect();
        let (left, right) = weights.split_at(weights.len() / 2);
        counts.par_iter_mut().for_each(|mut count| {
            let outer = thread::current().id();
            let weigh = |weights: &[u64]| {
                assert_eq!(thread::current().id(), outer);
                weights.iter().sum::<u64>()
            };
            let (a, b) = pool.heartbeat(|scope| scope.join(|_| weigh(left), |_| weigh(right)));
            let call_all =
                |calls: &mut BatchedCalls<u64>| weights.iter().for_each(|&weight| _ = calls.call(weight, weight));
            let ((), each) = pool.batched(|weight| weigh(&[weight]), call_all);
            count.0 += a + b + each.into_iter().sum::<u64>();
        });
    }
    for scheduling in Scheduling::all().filter(|scheduling| scheduling.is_parallel()) {
        let mut app = app(scheduling);
        app.add_systems(Update, weigh_twice.affine());
        (0..2).for_each(|_| app.update());
        assert_weighed(&mut app, 4);
    }
}
