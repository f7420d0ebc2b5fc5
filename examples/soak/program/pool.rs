//! The pool beside the queries: rounds, fork/join, batched calls, and each inside of another.

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use super::{Log, Script, Side, Step};
use crate::dice::{Trail, mix, mix_slowly};

pub fn steps(side: Side) -> Vec<Step> {
    vec![
        side.step("run", log_of(plain_sum), log_with_pool(sum_in_a_round)),
        side.step("heartbeat", log_of(plain_trail), log_with_pool(trail_by_joins)),
        side.step("flat loop", log_of(plain_sum), log_with_pool(sum_in_a_loop)),
        side.step("batched", log_of(plain_trail), log_with_pool(trail_by_calls)),
        side.step("rounds in joins", log_of(plain_trail), log_with_pool(joins_and_rounds)),
        side.step("joins in rounds", log_of(plain_sum), log_with_pool(rounds_and_joins)),
    ]
}

fn log_of(compute: fn(u64) -> u64) -> impl Fn(Res<Script>, ResMut<Log>) {
    move |script, mut log| log.note("pool", compute(script.salt))
}

fn log_with_pool(compute: fn(u64, &AffinityPool) -> u64) -> impl Fn(Res<Script>, ResMut<Log>, Res<AffinityPool>) {
    move |script, mut log, pool| log.note("pool", compute(script.salt, &pool))
}

/// So many values are computed.
fn count(salt: u64) -> u64 {
    [0, 1, 100, 2_000][(salt % 4) as usize]
}

fn value(salt: u64, index: u64) -> u64 {
    mix_slowly(salt ^ index)
}

fn plain_sum(salt: u64) -> u64 {
    (0..count(salt)).map(|index| value(salt, index)).fold(0, u64::wrapping_add)
}

fn plain_trail(salt: u64) -> u64 {
    (0..count(salt)).map(|index| value(salt, index)).collect::<Trail>().hash()
}

/// Each worker index has a share of its own, and is called once.
fn sum_in_a_round(salt: u64, pool: &AffinityPool) -> u64 {
    let workers = pool.workers();
    let sums = PerWorker::new(pool, |_| 0_u64);
    pool.run(|worker| {
        let share = (worker.index() as u64..count(salt)).step_by(workers);
        let share = share.map(|index| value(salt, index)).fold(0, u64::wrapping_add);
        sums.with(worker, |sum| *sum = sum.wrapping_add(share));
    });
    sums.into_iter().fold(0, u64::wrapping_add)
}

fn trail_by_joins(salt: u64, pool: &AffinityPool) -> u64 {
    let leaf = 1 + mix(salt) % 64;
    let value = |index| Trail::of(value(salt, index));
    pool.heartbeat(|scope| trail(scope, 0..count(salt), leaf, &value)).hash()
}

fn trail(scope: &mut Scope, range: Range<u64>, leaf: u64, value: &(impl Fn(u64) -> Trail + Sync)) -> Trail {
    if range.end - range.start <= leaf {
        return range.map(value).fold(Trail::EMPTY, Trail::then);
    }
    let middle = range.start.midpoint(range.end);
    let (left, right) = scope.join(
        |scope| trail(scope, range.start..middle, leaf, value),
        |scope| trail(scope, middle..range.end, leaf, value),
    );
    left.then(right)
}

fn sum_in_a_loop(salt: u64, pool: &AffinityPool) -> u64 {
    let sum = AtomicU64::new(0);
    pool.heartbeat(|scope| {
        scope.for_each(0..count(salt) as usize, |_, index| {
            sum.fetch_add(value(salt, index as u64), Ordering::Relaxed);
        });
    });
    sum.into_inner()
}

fn trail_by_calls(salt: u64, pool: &AffinityPool) -> u64 {
    let keys = 1 + mix(salt) % 16;
    let (made, answers) = pool.batched(
        |index| value(salt, index),
        |calls| {
            for index in 0..count(salt) {
                calls.call(index % keys, index);
                if mix(salt ^ index).is_multiple_of(100) {
                    calls.flush();
                }
            }
            count(salt)
        },
    );
    answers.into_iter().take(made as usize).collect::<Trail>().hash()
}

/// A round that is begun inside of a join runs on the spot.
fn joins_and_rounds(salt: u64, pool: &AffinityPool) -> u64 {
    let value = |index| {
        let calls = AtomicU64::new(0);
        pool.run(|_| _ = calls.fetch_add(1, Ordering::Relaxed));
        let wrong = calls.into_inner() - pool.workers() as u64;
        Trail::of(value(salt, index) ^ wrong)
    };
    pool.heartbeat(|scope| trail(scope, 0..count(salt), 32, &value)).hash()
}

fn rounds_and_joins(salt: u64, pool: &AffinityPool) -> u64 {
    let (workers, sum) = (pool.workers() as u64, AtomicU64::new(0));
    pool.run(|worker| {
        let index = worker.index() as u64;
        let share = (count(salt) * index / workers)..(count(salt) * (index + 1) / workers);
        let add = |scope: &mut Scope| {
            scope.for_each(share.start as usize..share.end as usize, |_, index| {
                sum.fetch_add(value(salt, index as u64), Ordering::Relaxed);
            });
        };
        pool.heartbeat(add);
    });
    sum.into_inner()
}
