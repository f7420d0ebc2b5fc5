//! Apps and pools share one gang, and its threads end with the last of them, whatever they were
//! doing.

use std::{collections::BTreeSet, mem, sync::Mutex, thread, time::Duration};

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::{alone::alone, assert_frames, common::Scheduling, counting, gang};

fn pool(workers: usize) -> AffinityPool {
    AffinityPool::new(&Scheduling::lock_step(workers).settings())
}

/// A world whose app has run some frames.
fn used_world() -> World {
    let mut app = counting(Scheduling::lock_step(4).app());
    assert_frames(&mut app, 3);
    mem::take(app.world_mut())
}

#[test]
fn a_pool_dropped_at_any_time_ends_its_threads() {
    alone(|| {
        for spin in [Duration::ZERO, Duration::from_micros(50), Duration::MAX] {
            let pool = || AffinityPool::new(&AffinitySettings { spin, ..Scheduling::lock_step(4).settings() });
            // Before the threads have looked around.
            drop(pool());
            gang::assert_ended();

            let used = pool();
            used.run(|_| ());
            drop(used);
            gang::assert_ended();

            let unused_for_long = pool();
            unused_for_long.run(|_| ());
            gang::wait_for(3);
            if spin < Duration::MAX {
                gang::wait_until_parked();
            }
            drop(unused_for_long);
            gang::assert_ended();
        }
    });
}

#[test]
fn an_app_dropped_while_parked_ends_its_threads() {
    alone(|| {
        for scheduling in Scheduling::all() {
            let mut app = counting(scheduling.app());
            assert_frames(&mut app, 5);
            gang::wait_until_parked();
            drop(app);
            gang::assert_ended();
        }
    });
}

#[test]
fn worlds_dropped_on_workers() {
    alone(|| {
        let worlds: Mutex<Vec<_>> = Mutex::new((0..12).map(|_| used_world()).collect());
        let drop_one = || drop(worlds.lock().expect("nobody panics").pop());
        let pool = pool(3);
        // Each index of a round, both halves of a join, and calls on workers.
        pool.run(|_| drop_one());
        pool.heartbeat(|scope| scope.join(|_| drop_one(), |_| drop_one()));
        pool.batched(|()| drop_one(), |calls| (0..4).for_each(|key| _ = calls.call(key, ())));
        assert_eq!(worlds.lock().expect("nobody panics").len(), 3);
        // The gang is that of the worlds that are left.
        drop(pool);
        gang::wait_for(3);
        drop(worlds);
        gang::assert_ended();
    });
}

#[test]
fn apps_in_parallel_share_one_gang() {
    alone(|| {
        // As tests do that make an app each.
        thread::scope(|scope| {
            for number in 0..8 {
                scope.spawn(move || {
                    for frames in 1..10 {
                        let mut app = counting(Scheduling::lock_step(1 + (number + frames) % 4).app());
                        assert_frames(&mut app, frames as u64);
                        // One that ended is joined while the next one starts.
                        gang::wait_until("more than one gang, or two on a core", |workers| {
                            let pinned = workers.iter().filter(|thread| thread.is_pinned());
                            let cores: Vec<_> = pinned.map(|thread| &thread.cores).collect();
                            let different: BTreeSet<_> = cores.iter().collect();
                            workers.len() <= 3 && cores.len() == different.len()
                        });
                    }
                });
            }
        });
        gang::assert_ended();
    });
}
