//! Panics in kernels, and nested parallel calls.

use std::{
    hint::black_box,
    panic::{AssertUnwindSafe, catch_unwind, panic_any},
    sync::Arc,
    sync::atomic::{AtomicU64, Ordering},
};

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::fused::{Count, MANY, Number, assert_counted, spawn_many};
use crate::{common::Scheduling, mix::mix_slowly};

/// A payload of the test's own: the row that panicked.
#[derive(Debug, PartialEq)]
struct Failed(usize);

fn count_up(Row(mut count): Row<&mut Count>) {
    count.0 += 1;
}

#[test]
fn the_payload_of_a_kernel_reaches_the_caller_and_the_pool_goes_on() {
    for scheduling in Scheduling::all() {
        for row in [0, MANY / 2, MANY - 1] {
            let fail = move |Row((number, count)): Row<(&Number, &Count)>| {
                // Dear rows, so that the second frame is parallel.
                black_box(mix_slowly(number.0 as u64));
                if number.0 == row && count.0 == 3 {
                    panic_any(Failed(row));
                }
            };
            let mut app = scheduling.app();
            spawn_many(&mut app);
            app.add_systems(Update, fused((count_up, fail, count_up)).affine());
            let payload =
                catch_unwind(AssertUnwindSafe(|| (0..2).for_each(|_| app.update()))).expect_err("a row panics");
            assert_eq!(payload.downcast_ref(), Some(&Failed(row)), "{scheduling:?}");
        }
        let mut app = scheduling.app();
        spawn_many(&mut app);
        app.add_systems(Update, fused((count_up, count_up)).affine());
        (0..3).for_each(|_| app.update());
        assert_counted(&mut app, 6);
    }
}

#[test]
fn kernels_of_a_block_take_turns() {
    let worst = Arc::new(AtomicU64::new(0));
    for scheduling in Scheduling::all() {
        let mut app = scheduling.app();
        spawn_many(&mut app);
        // Each kernel finds its row as the kernel before left it.
        let step = |from: u64| {
            let worst = worst.clone();
            move |Row(mut count): Row<&mut Count>| {
                worst.fetch_max((count.0 % 3) ^ from, Ordering::Relaxed);
                count.0 += 1;
            }
        };
        app.add_systems(Update, fused((step(0), step(1), step(2))).affine());
        (0..4).for_each(|_| app.update());
        assert_counted(&mut app, 12);
        assert_eq!(worst.load(Ordering::Relaxed), 0, "{scheduling:?}");
    }
}

#[test]
fn short_chunks_are_short_blocks() {
    for chunk_rows in [0, 1, 7] {
        let scheduling = Scheduling::lock_step(2);
        let mut app = scheduling.app();
        app.insert_resource(AffinitySettings { chunk_rows, ..scheduling.settings() });
        spawn_many(&mut app);
        app.add_systems(Update, fused((count_up, count_up)).affine());
        (0..3).for_each(|_| app.update());
        assert_counted(&mut app, 6);
    }
}
