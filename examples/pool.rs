//! The gang without an app: a lock-step round, fork/join, and many small calls.
//!
//! `cargo run --release --example pool`

use std::sync::atomic::{AtomicU64, Ordering};

use bevy_affinity::prelude::*;

/// The sum of squares, by halves: the far half goes to a worker that has nothing to do.
fn squares(scope: &mut Scope, numbers: &[u64]) -> u64 {
    if numbers.len() <= 1000 {
        return numbers.iter().map(|number| number * number).sum();
    }
    let (left, right) = numbers.split_at(numbers.len() / 2);
    let (left, right) = scope.join(|scope| squares(scope, left), |scope| squares(scope, right));
    left + right
}

fn main() {
    let pool = AffinityPool::new(&AffinitySettings::default());
    let numbers: Vec<u64> = (0..1_000_000).collect();
    let expected: u64 = numbers.iter().map(|number| number * number).sum();

    // Each worker its own run of the numbers, the same one in every round.
    let runs = numbers.len().div_ceil(pool.workers());
    let sum = AtomicU64::new(0);
    pool.run(|worker| {
        let run = numbers.chunks(runs).nth(worker.index()).unwrap_or_default();
        let squares: u64 = run.iter().map(|number| number * number).sum();
        sum.fetch_add(squares, Ordering::Relaxed);
    });
    assert_eq!(sum.into_inner(), expected);
    println!("lock step: {expected} by {} workers", pool.workers());

    assert_eq!(pool.heartbeat(|scope| squares(scope, &numbers)), expected);
    println!("fork/join: {expected}");

    // Calls with the same key run on the same worker, in order, while their caller goes on.
    let sums: Vec<_> = (0..8).map(|_| AtomicU64::new(0)).collect();
    let add = |(key, number): (usize, u64)| _ = sums[key].fetch_add(number * number, Ordering::Relaxed);
    pool.batched(add, |calls| {
        for &number in &numbers {
            let key = number as usize % sums.len();
            calls.call(key as u64, (key, number));
        }
    });
    assert_eq!(sums.into_iter().map(AtomicU64::into_inner).sum::<u64>(), expected);
    println!("batched calls: {expected}");
}
