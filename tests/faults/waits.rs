//! Code of users that waits for others in a closure or in a destructor: what it waits for never
//! needs what the call holds.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::Duration,
};

use bevy::{prelude::*, tasks::ComputeTaskPool};
use bevy_affinity::{AffinitySchedules, prelude::*};

use crate::{Count, assert_counted, child, common::Scheduling, spawn_many};

const FRAMES: u64 = 100;

/// Tasks on Bevy's threads, of which this thread runs some, and anything else that waits there:
/// what `Query::par_iter` does in a closure.
fn help_bevys_threads() {
    ComputeTaskPool::get()
        .scope(|scope| (0..4).for_each(|_| scope.spawn(async { thread::sleep(Duration::from_millis(1)) })));
}

/// Counts up, and helps Bevy's threads once a call.
fn count_and_help(mut counts: AffineQuery<&mut Count>) {
    let first = AtomicBool::new(true);
    counts.par_iter_mut().for_each(|mut count| {
        count.0 += 1;
        if first.swap(false, Ordering::Relaxed) {
            help_bevys_threads();
        }
    });
}

/// The thread that helps may come to the plugin's own systems at the frame's end.
#[test]
fn a_closure_that_helps_at_the_end_of_the_frame() {
    let body = || {
        let slow = || thread::sleep(Duration::from_millis(5));
        let mut app = Scheduling::lock_step(2).app();
        app.insert_resource(AffinitySchedules::none());
        app.add_systems(Last, (slow, slow, slow, slow, slow, slow, count_and_help.affine()));
        spawn_many(&mut app);
        (0..FRAMES).for_each(|_| app.update());
        assert_counted(&mut app, FRAMES);
    };
    let Some(ended) = child::run("waits::a_closure_that_helps_at_the_end_of_the_frame") else { return body() };
    ended.assert_passed();
}

/// A message that helps Bevy's threads when it is dropped.
struct Helpful;

impl Drop for Helpful {
    fn drop(&mut self) {
        help_bevys_threads();
    }
}

/// The thread that helps may come to another part of the same call.
#[test]
fn a_message_that_cannot_be_delivered_and_helps() {
    fn send(mut counts: AffineQuery<&mut Count>, mut calendar: ResMut<Calendar<Helpful>>, mut now: Local<u64>) {
        *now += 1;
        calendar.send_at(Entity::PLACEHOLDER, *now, Helpful);
        (0..3).for_each(|_| {
            ComputeTaskPool::get().spawn(async { thread::sleep(Duration::from_millis(5)) }).detach();
        });
        counts.par_iter_mut().scatter_timed_within(&mut calendar, *now, |_, mut count| count.0 += 1, |_, _| {});
    }
    let body = || {
        let mut app = Scheduling::BEVY.app();
        app.init_resource::<Calendar<Helpful>>().add_systems(Update, send.affine());
        spawn_many(&mut app);
        (0..FRAMES).for_each(|_| app.update());
        assert_counted(&mut app, FRAMES);
    };
    let Some(ended) = child::run("waits::a_message_that_cannot_be_delivered_and_helps") else { return body() };
    ended.assert_passed();
}

#[derive(Component)]
struct Number(u64);

/// Starts a call when it is dropped.
struct CallsAtEnd<'w, 's>(AffineQuery<'w, 's, &'static Number>);

static SUM: AtomicU64 = AtomicU64::new(0);

impl Drop for CallsAtEnd<'_, '_> {
    fn drop(&mut self) {
        self.0.par_iter().for_each(|number| _ = SUM.fetch_add(number.0, Ordering::Relaxed));
    }
}

fn by_chunks(mut counts: AffineQuery<&mut Count>, numbers: AffineQuery<&Number>) {
    let owned = CallsAtEnd(numbers);
    counts.par_iter_mut().for_each_chunk(move |counts: &mut [Count]| {
        let _ = &owned;
        counts.iter_mut().for_each(|count| count.0 += 1);
    });
}

fn with_init(mut counts: AffineQuery<&mut Count>, numbers: AffineQuery<&Number>) {
    let owned = CallsAtEnd(numbers);
    let init = move || {
        let _ = &owned;
    };
    counts.par_iter_mut().for_each_init(init, |(), mut count| count.0 += 1);
}

/// While another thread leads the gang, all of a call is on its own thread.
#[test]
fn what_a_closure_owns_starts_a_call_when_it_is_dropped() {
    let body = || {
        thread::spawn(|| {
            let pool = AffinityPool::new(&Scheduling::lock_step(2).settings());
            loop {
                pool.run(|_| thread::sleep(Duration::from_millis(30)));
            }
        });
        for scheduling in [Scheduling::lock_step(2), Scheduling::heartbeat(2), Scheduling::auto(2)] {
            let mut app = scheduling.app();
            app.add_systems(Update, (by_chunks, with_init).affine());
            spawn_many(&mut app);
            app.world_mut().spawn_batch((0..5_000).map(Number));
            (0..FRAMES).for_each(|_| app.update());
            assert_counted(&mut app, 2 * FRAMES);
        }
        assert_eq!(SUM.load(Ordering::Relaxed), 3 * 2 * FRAMES * (0..5_000).sum::<u64>());
    };
    let Some(ended) = child::run("waits::what_a_closure_owns_starts_a_call_when_it_is_dropped") else { return body() };
    ended.assert_passed();
}
