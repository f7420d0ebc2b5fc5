//! Faults for the sanitizers to find, and for nothing else: `scripts/sanitizers` runs each of these
//! first and expects a report. A sanitizer that lets them pass sees nothing.
#![cfg(affinity_sanitize)]

use std::{
    cell::UnsafeCell,
    hint::black_box,
    ptr,
    sync::atomic::{AtomicPtr, Ordering},
};

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
    static LOCAL: AtomicPtr<u64> = AtomicPtr::new(ptr::null_mut());

    // Without `black_box`: its assembly keeps a frame where it cannot be watched after it has
    // returned.
    #[inline(never)]
    fn lend_a_local() {
        let mut local = 7;
        LOCAL.store(&raw mut local, Ordering::Relaxed);
    }
    lend_a_local();
    // SAFETY: none. The frame is gone.
    pool().run(|_| _ = black_box(unsafe { LOCAL.load(Ordering::Relaxed).read_volatile() }));
}

#[test]
#[ignore = "a fault for AddressSanitizer to find"]
fn workers_use_memory_that_was_freed() {
    let value = black_box(Box::new(7_u64));
    let freed = Shared(&raw const *value);
    drop(value);
    // SAFETY: none. The value was dropped.
    pool().run(|_| _ = black_box(unsafe { freed.get().read_volatile() }));
}
