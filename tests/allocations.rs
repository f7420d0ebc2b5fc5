//! Parallel calls allocate nothing once they are warm: not in lock step, not by fork/join, not for
//! messages, and not for a thousand tiny tables. Systems that are gone leave no memory behind.

#[path = "common/mod.rs"]
#[allow(dead_code, reason = "each test crate uses a part of it")]
mod common;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicI64, AtomicU64, Ordering},
};

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use common::Scheduling;

/// The system's allocator, with a count of what it is asked for by any thread.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

/// Bytes that are allocated now.
static BYTES: AtomicI64 = AtomicI64::new(0);

// SAFETY: hands everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        BYTES.fetch_add(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size() as i64, Ordering::Relaxed);
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

/// One row in a thousand is due in a step, and each sends something for later.
fn send_later(
    mut rows: AffineQuery<(Entity, &mut Row)>,
    mut agenda: Agenda,
    mut calendar: ResMut<Calendar<u32>>,
    mut now: Local<u64>,
    mut counted: ResMut<Counted>,
) {
    *now += 1;
    let (next, arrival) = (*now + 1_000, *now + 30);
    counting(&mut counted, || {
        rows.par_iter_mut().due(&mut agenda, *now).scatter_timed_within(
            &mut calendar,
            |outbox, (entity, row)| {
                outbox.send_at(entity, arrival, row.0);
                Some(next)
            },
            |(_, mut row), message| {
                row.0 ^= message;
                None
            },
        );
    });
}

fn spawn_due_rows(world: &mut World) {
    world.spawn_batch((0..20_000).map(|row| (Row(row), Due::<()>::at(u64::from(row) % 1_000)))).for_each(drop);
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

/// One test: the counts are the process's.
#[test]
fn memory_is_used_once() {
    warm_calls_allocate_nothing();
    rows_that_come_and_go_allocate_nothing();
    due_rows_and_messages_for_later_allocate_nothing();
    systems_that_are_gone_leave_nothing();
}

/// Whether frames end meanwhile or not.
fn systems_that_are_gone_leave_nothing() {
    for schedules_a_frame in [1, 10, usize::MAX] {
        let mut app = Scheduling::auto(2).app();
        app.init_resource::<Counted>().init_resource::<bevy::diagnostic::DiagnosticsStore>();
        spawn_one_table(app.world_mut());
        let mut run = |schedules: usize| {
            for number in 0..schedules {
                let mut schedule = Schedule::default();
                schedule.add_systems(sweep.affine());
                schedule.run(app.world_mut());
                if number % schedules_a_frame == schedules_a_frame - 1 {
                    app.update();
                }
            }
            BYTES.load(Ordering::Relaxed)
        };
        let warm = run(300);
        let growth = run(300) - warm;
        // Each system that is remembered takes more than a kilobyte.
        assert!(growth.abs() < 64 << 10, "{growth} bytes, {schedules_a_frame} schedules a frame");
    }
}

fn due_rows_and_messages_for_later_allocate_nothing() {
    for mode in [SchedulerMode::Serial, SchedulerMode::LockStep, SchedulerMode::Heartbeat] {
        let mut app = Scheduling { mode, workers: 2 }.app();
        spawn_due_rows(app.world_mut());
        app.init_resource::<Counted>().init_resource::<Calendar<u32>>().add_systems(Update, send_later.affine());
        (0..300).for_each(|_| app.update());
        app.insert_resource(Counted(0));
        (0..100).for_each(|_| app.update());
        let all = app.world().resource::<Counted>().0;
        // Queues may still grow when rows change hands.
        assert!(all < 50, "{all} allocations in 100 frames in {mode:?}");
    }
}

/// More components than fit in one place, more workers than cores, and a row more or less in each
/// frame.
fn rows_that_come_and_go_allocate_nothing() {
    #[derive(Component, Clone)]
    struct Wide<const N: usize>([u64; 4]);
    type Wides<'a> = (&'a mut Wide<0>, &'a Wide<1>, &'a Wide<2>, &'a Wide<3>, &'a Wide<4>, &'a mut Row);
    fn visit(mut rows: AffineQuery<Wides<'static>>, mut agenda: Agenda, mut counted: ResMut<Counted>) {
        counting(&mut counted, || {
            rows.par_iter_mut().for_each(|(mut wide, .., row)| wide.0[0] += u64::from(row.0));
            rows.par_iter_mut().due(&mut agenda, 1).for_each(|(mut wide, ..)| {
                wide.0[1] += 1;
                Some(0)
            });
        });
    }
    fn wides() -> impl Bundle {
        let wide = [1; 4];
        (Wide::<0>(wide), Wide::<1>(wide), Wide::<2>(wide), Wide::<3>(wide), Wide::<4>(wide), Row(1), Due::<()>::at(0))
    }
    for mode in [SchedulerMode::Serial, SchedulerMode::LockStep, SchedulerMode::Heartbeat] {
        let mut app = Scheduling { mode, workers: 5 }.app();
        (0..20_000).for_each(|_| _ = app.world_mut().spawn(wides()));
        let one = app.world_mut().spawn(wides()).id();
        app.init_resource::<Counted>().add_systems(Update, visit.affine());
        let mut one = Some(one);
        let mut frame = |app: &mut App| {
            match one.take() {
                Some(one) => _ = app.world_mut().despawn(one),
                None => one = Some(app.world_mut().spawn(wides()).id()),
            }
            app.update();
        };
        (0..200).for_each(|_| frame(&mut app));
        app.insert_resource(Counted(0));
        (0..100).for_each(|_| frame(&mut app));
        let all = app.world().resource::<Counted>().0;
        assert!(all < 50, "{all} allocations in 100 frames in {mode:?}");
    }
}

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
            // Queues of messages may still grow when rows change hands: now and then, not in every
            // call. `Auto` may try a route for the first time, which makes room for its memory in a
            // dozen steps: in few frames.
            let all: u64 = counts.iter().sum();
            let frames = counts.iter().filter(|&&count| count > 0).count();
            assert!(
                all < FRAMES as u64 * 3 / 4 || mode == SchedulerMode::Auto,
                "{all} allocations in {FRAMES} frames in {mode:?}"
            );
            assert!(frames <= FRAMES / 4, "allocations in {frames} of {FRAMES} frames in {mode:?}");
        }
    }
}
