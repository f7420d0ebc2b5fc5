//! Parallel calls allocate nothing once they are warm: not in lock step, not by fork/join, not for messages, and not for a thousand tiny tables.

#[path = "common/mod.rs"]
#[allow(dead_code, reason = "each test crate uses a part of it")]
mod common;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicU64, Ordering},
};

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use common::Scheduling;

/// The system's allocator, with a count of what it is asked for by any thread.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: hands everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[derive(Component)]
struct Row(u32);

/// Markers that make tables.
#[derive(Component)]
struct Marker<const BIT: u32>;

/// Allocations inside calls, since it was last reset.
#[derive(Resource, Default)]
struct Counted(u64);

fn counting(counted: &mut Counted, call: impl FnOnce()) {
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    call();
    counted.0 += ALLOCATIONS.load(Ordering::Relaxed) - before;
}

fn sweep(mut rows: AffineQuery<&mut Row>, mut counted: ResMut<Counted>) {
    counting(&mut counted, || rows.par_iter_mut().for_each(|mut row| row.0 = row.0.wrapping_mul(31).rotate_left(7)));
}

fn sweep_chunks(mut rows: AffineQuery<&mut Row>, mut counted: ResMut<Counted>) {
    counting(&mut counted, || {
        rows.par_iter_mut().for_each_chunk(|rows| rows.iter_mut().for_each(|row| row.0 += 1));
    });
}

fn send(mut rows: AffineQuery<(Entity, &mut Row)>, mut counted: ResMut<Counted>) {
    counting(&mut counted, || {
        rows.par_iter_mut().scatter_within(
            |outbox, (entity, row)| outbox.send(entity, row.0),
            |(_, mut row), message| row.0 ^= message,
        );
    });
}

fn spawn_one_table(world: &mut World) {
    world.spawn_batch((0..20_000).map(Row));
}

/// 1,024 tables of one row.
fn spawn_tables(world: &mut World) {
    for number in 0..1024u32 {
        let mut entity = world.spawn(Row(number));
        macro_rules! mark {
            ($($bit:literal)*) => {$(if number >> $bit & 1 == 1 { entity.insert(Marker::<$bit>); })*};
        }
        mark!(0 1 2 3 4 5 6 7 8 9);
    }
}

/// One test: the count is the process's.
#[test]
fn warm_calls_allocate_nothing() {
    let modes = [SchedulerMode::Serial, SchedulerMode::LockStep, SchedulerMode::Heartbeat, SchedulerMode::Auto];
    for spawn in [spawn_one_table, spawn_tables] {
        for mode in modes {
            let mut app = Scheduling { mode, workers: 2 }.app();
            spawn(app.world_mut());
            app.init_resource::<Counted>().add_systems(Update, (sweep, sweep_chunks, send).affine().chain());
            (0..200).for_each(|_| app.update());
            const FRAMES: usize = 100;
            let allocations = |_| {
                app.insert_resource(Counted(0));
                app.update();
                app.world().resource::<Counted>().0
            };
            let counts: Vec<_> = (0..FRAMES).map(allocations).collect();
            // Queues of messages may still grow when rows change hands: now and then, not in every call. `Auto` may try a route for the first time, which makes room for
            // its memory in a dozen steps: in few frames.
            let all: u64 = counts.iter().sum();
            let frames = counts.iter().filter(|&&count| count > 0).count();
            assert!(
                all < FRAMES as u64 / 2 || mode == SchedulerMode::Auto,
                "{all} allocations in {FRAMES} frames in {mode:?}"
            );
            assert!(frames <= FRAMES / 4, "allocations in {frames} of {FRAMES} frames in {mode:?}");
        }
    }
}
