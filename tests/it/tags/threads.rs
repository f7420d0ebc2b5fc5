//! Where tagged systems and their rows run.

use std::{
    sync::{Arc, Mutex},
    thread::{self, ThreadId},
};

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::tags::{Count, MANY, assert_counted, count_up, spawn_many};
use crate::{
    common::{Scheduling, swept_rows},
    mix::mix_slowly,
};

/// The threads that systems ran on.
#[derive(Resource, Default)]
struct Threads(Vec<ThreadId>);

fn note_thread(mut threads: ResMut<Threads>) {
    threads.0.push(thread::current().id());
}

fn untagged() {}

#[test]
fn tagged_systems_run_on_the_main_thread() {
    for scheduling in Scheduling::all() {
        let mut app = scheduling.app();
        app.init_resource::<Threads>();
        app.add_systems(Update, ((untagged, untagged), (note_thread, note_thread).affine(), untagged));
        (0..20).for_each(|_| app.update());
        let threads = &app.world().resource::<Threads>().0;
        assert_eq!(threads.len(), 40);
        assert!(threads.iter().all(|&thread| thread == thread::current().id()), "{scheduling:?}");
    }
}

#[test]
fn non_send_data_can_be_used() {
    struct Unsendable(*const u8, u32);

    fn use_it(mut data: NonSendMut<Unsendable>) {
        assert!(data.0.is_null());
        data.1 += 1;
    }

    let mut app = Scheduling::lock_step(3).app();
    app.insert_non_send(Unsendable(std::ptr::null(), 0)).add_systems(Update, (use_it.affine(), untagged));
    (0..3).for_each(|_| app.update());
    assert_eq!(app.world().non_send::<Unsendable>().1, 3);
}

#[test]
fn only_lock_step_and_heartbeat_sweep_on_the_gang() {
    for scheduling in Scheduling::all() {
        let mut app = scheduling.app();
        spawn_many(&mut app);
        app.add_systems(Update, count_up.affine()).update();
        let swept = swept_rows(&app);
        let on_gang = scheduling.workers > 1;
        assert_eq!(swept.iter().sum::<u64>(), if on_gang { MANY as u64 } else { 0 }, "{scheduling:?}");
        // In heartbeat mode a worker that comes late may find nothing left.
        assert!(!scheduling.is_parallel() || swept.iter().all(|&rows| rows > 0), "{scheduling:?}: {swept:?}");
        assert_counted(&mut app, 1);
    }
}

#[test]
fn rows_are_swept_by_several_threads() {
    let mut app = Scheduling::lock_step(2).app();
    spawn_many(&mut app);
    let threads = Arc::new(Mutex::new(Vec::new()));
    let seen = threads.clone();
    let note = move |counts: AffineQuery<&Count>| {
        counts.par_iter().for_each_init(
            || seen.lock().expect("noted").push(thread::current().id()),
            |(), count| assert_ne!(mix_slowly(count.0), 0),
        );
    };
    app.add_systems(Update, note.affine());
    // The leader takes over from workers that are late, so one round proves nothing; that all of
    // these are late is not to be expected.
    let others = |threads: &[ThreadId]| threads.iter().any(|&thread| thread != thread::current().id());
    let parallel = (0..10_000).any(|_| {
        app.update();
        others(&threads.lock().expect("noted"))
    });
    assert!(parallel, "no round had a second thread");
}
