//! Tagged systems while a thread ends: its locals are dropped one after another, those of this
//! crate too.

use std::{
    cell::RefCell,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use bevy::{ecs::schedule::SingleThreadedExecutor, prelude::*};
use bevy_affinity::prelude::*;

use crate::{Count, MANY, common::Scheduling, count_up, spawn_many};

thread_local! {
    /// Dropped after this crate's locals, and before them.
    static LAST: RefCell<Vec<Late>> = const { RefCell::new(Vec::new()) };
    static FIRST: RefCell<Vec<Late>> = const { RefCell::new(Vec::new()) };
}

/// Runs a schedule when it is dropped. On one thread: Bevy's multi-threaded executor has locals of
/// its own.
struct Late {
    world: World,
    schedule: Schedule,
    done: Arc<AtomicU64>,
}

impl Late {
    fn new(scheduling: Scheduling, done: &Arc<AtomicU64>) -> Self {
        let mut app = scheduling.app();
        spawn_many(&mut app);
        let mut schedule = Schedule::default();
        schedule.set_executor(SingleThreadedExecutor::new()).add_systems(count_up.affine());
        let mut late = Self { world: std::mem::take(app.world_mut()), schedule, done: done.clone() };
        late.schedule.run(&mut late.world);
        late
    }
}

impl Drop for Late {
    fn drop(&mut self) {
        self.world.resource_mut::<AffinityTimeline>().record(true);
        (0..3).for_each(|_| self.schedule.run(&mut self.world));
        let mut counts = self.world.query::<&Count>();
        if counts.iter(&self.world).filter(|count| count.0 == 4).count() == MANY {
            self.done.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[test]
fn systems_in_destructors_of_thread_locals() {
    for scheduling in Scheduling::all().filter(|scheduling| scheduling.mode != SchedulerMode::Bevy) {
        let done = Arc::new(AtomicU64::new(0));
        thread::scope(|scope| {
            let ends = scope.spawn(|| {
                // Locals are dropped in the order in which they were first used, or against it: one
                // of the two is dropped last.
                LAST.with_borrow_mut(|last| last.reserve(1));
                let late = Late::new(scheduling, &done);
                FIRST.with_borrow_mut(|first| first.push(late));
                LAST.with_borrow_mut(|last| last.push(Late::new(scheduling, &done)));
            });
            // Joined by its handle, which waits for the destructors too.
            ends.join().expect("no destructor panics");
        });
        assert_eq!(done.load(Ordering::Relaxed), 2, "{scheduling:?}");
    }
}
