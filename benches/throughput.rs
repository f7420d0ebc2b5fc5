//! Criterion's view of the pool beside its rivals, for regressions and plots. Criterion measures
//! one contender after another, so ratios come from the `compare` bench.

#[path = "compare/runs.rs"]
mod runs;

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::thread;

use bevy_affinity::prelude::*;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rayon::prelude::*;

use crate::runs::Runs;

/// From where parallel sweeps begin to pay to where memory limits them.
const SIZES: [usize; 3] = [10_000, 100_000, 1_000_000];

fn workers() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

fn pool() -> AffinityPool {
    AffinityPool::new(&AffinitySettings { workers: WorkerCount::Exactly(workers()), ..AffinitySettings::default() })
}

fn round(criterion: &mut Criterion) {
    let pool = pool();
    let mut group = criterion.benchmark_group("round");
    group.throughput(Throughput::Elements(1));
    group.bench_function("affinity", |bencher| {
        bencher.iter(|| {
            pool.run(|worker| {
                black_box(worker.index());
            });
        });
    });
    group.bench_function("rayon broadcast", |bencher| {
        bencher.iter(|| rayon::broadcast(|context| black_box(context.index())));
    });
    group.finish();
}

fn sweep(criterion: &mut Criterion) {
    let pool = pool();
    let mut group = criterion.benchmark_group("sweep");
    for size in SIZES {
        let mut rows = vec![0_i64; size];
        group.throughput(Throughput::Elements(size as u64));
        group.bench_function(BenchmarkId::new("serial", size), |bencher| {
            bencher.iter(|| increment(black_box(&mut rows)));
        });
        group.bench_function(BenchmarkId::new("affinity", size), |bencher| {
            let runs = Runs::cut(&mut rows, workers());
            bencher.iter(|| pool.run(|worker| runs.sweep(worker.index(), increment)));
        });
        group.bench_function(BenchmarkId::new("rayon", size), |bencher| {
            bencher.iter(|| black_box(&mut rows).par_iter_mut().for_each(|row| *row += 1));
        });
    }
    group.finish();
}

fn increment(rows: &mut [i64]) {
    rows.iter_mut().for_each(|row| *row += 1);
}

criterion_group!(benches, round, sweep);
criterion_main!(benches);
