//! Faults for the sanitizers to find, and for nothing else: `scripts/sanitizers` runs each of these first and expects a report. A
//! sanitizer that lets them pass sees nothing.
#![cfg(affinity_sanitize)]

use std::{cell::UnsafeCell, hint::black_box};

use bevy_affinity::prelude::*;

/// A gang of two, however busy their cores are.
fn pool() -> AffinityPool {
    AffinityPool::new(&AffinitySettings {
        workers: WorkerCount::Exactly(2),
        avoid_busy_cores: false,
        ..Default::default()
    })
}

/// Lets workers share what they must not.
struct Shared<T>(T);

// SAFETY: none. That is the fault.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    fn get(&self) -> &T {
        &self.0
    }
}

#[test]
#[ignore = "a fault for ThreadSanitizer to find"]
fn workers_race() {
    let (pool, cell) = (pool(), Shared(UnsafeCell::new(0_u64)));
    for _ in 0..1000 {
        // SAFETY: none. All workers write the same cell.
        pool.run(|_| unsafe { *cell.get().get() += 1 });
    }
}

#[test]
#[ignore = "a fault for AddressSanitizer to find"]
fn workers_use_a_frame_that_has_returned() {
    #[inline(never)]
    fn local_of_a_frame() -> *const u64 {
        let local = black_box(7);
        black_box(&raw const local)
    }
    let gone = Shared(local_of_a_frame());
    // SAFETY: none. The frame is gone.
    pool().run(|_| _ = black_box(unsafe { gone.get().read_volatile() }));
}

#[test]
#[ignore = "a fault for AddressSanitizer to find"]
fn workers_use_memory_that_was_freed() {
    let freed = Shared(&raw const *Box::new(7_u64));
    // SAFETY: none. The box was dropped.
    pool().run(|_| _ = black_box(unsafe { freed.get().read_volatile() }));
}
