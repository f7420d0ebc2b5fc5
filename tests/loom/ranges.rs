//! Ranges of grains under loom: two or three workers who take from the front of their own and the
//! far half of others', within a stated number of preemptions.
//!
//! `cargo test --release --manifest-path tests/loom/Cargo.toml --test ranges`
#![cfg(affinity_loom)]
#![allow(
    dead_code,
    unused_imports,
    reason = "the protocol's files are taken from the crate as they are, and each test uses a part"
)]

#[path = "model.rs"]
mod model;
#[path = "../../src/sweep/ranges.rs"]
mod ranges;
#[path = "../../src/sync.rs"]
mod sync;

use loom::{cell::UnsafeCell, sync::Arc, thread};

use crate::{
    model::{exhaust, model},
    ranges::Ranges,
};

/// Grains that loom watches for overlapping access, with how often each was swept.
struct Grains(Vec<UnsafeCell<u32>>);
// SAFETY: loom itself reports every overlapping access to a cell.
unsafe impl Sync for Grains {}
// SAFETY: as above.
unsafe impl Send for Grains {}

impl Grains {
    fn new(count: u32) -> Self {
        Self((0..count).map(|_| UnsafeCell::new(0)).collect())
    }

    fn sweep(&self, grain: u32) {
        // SAFETY: a grain is taken by one thread; loom checks it.
        self.0[grain as usize].with_mut(|swept| unsafe { *swept += 1 });
    }

    fn assert_swept(&self, times: u32) {
        // SAFETY: all threads have been joined.
        self.0.iter().for_each(|grain| grain.with(|swept| assert_eq!(unsafe { *swept }, times)));
    }
}

/// What a worker does in a call: range after range, each from its first grain on without a gap.
fn work(ranges: &Ranges, worker: usize, grains: &Grains) {
    while let Some((first, _)) = ranges.take_anywhere(worker) {
        let mut last = first;
        grains.sweep(first);
        while let Some(grain) = ranges.take(worker) {
            assert_eq!(grain, last + 1, "a range is swept in order");
            grains.sweep(grain);
            last = grain;
        }
    }
}

/// Two calls of `workers` workers over `count` grains.
fn calls(workers: usize, count: u32) {
    let grains = Arc::new(Grains::new(count));
    let mut ranges = Ranges::default();
    ranges.begin(workers, count);
    work(&ranges, 0, &grains);
    ranges.begin(workers, count);
    let ranges = Arc::new(ranges);
    let threads: Vec<_> = (1..workers)
        .map(|worker| {
            let (ranges, grains) = (ranges.clone(), grains.clone());
            thread::spawn(move || work(&ranges, worker, &grains))
        })
        .collect();
    work(&ranges, 0, &grains);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    grains.assert_swept(2);
}

#[test]
fn two_workers_sweep_each_grain_once() {
    exhaust(|| calls(2, 4));
}

#[test]
fn three_workers_sweep_each_grain_once() {
    model(2, || calls(3, 5));
}
