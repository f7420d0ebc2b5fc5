//! Closures that start parallel calls, run worlds and lead rounds themselves, wherever they are
//! called.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

use bevy::{ecs::system::SystemState, prelude::*};
use bevy_affinity::prelude::*;

use crate::{
    Count, Watch, assert_counted,
    common::Scheduling,
    each_mode,
    verbs::{Attack, PLACES, Place, Visitor},
};

/// Runs another world, and everything that a pool can do, now and then.
#[derive(Resource, Clone)]
struct Reentrant {
    pool: AffinityPool,
    inner: Arc<Mutex<Inner>>,
    /// How often it did.
    times: Arc<AtomicU64>,
}

/// A world that is run by whoever has the lock.
struct Inner {
    world: World,
    schedule: Schedule,
    state: SystemState<(AffineQuery<'static, 'static, &'static mut Count>, Res<'static, Factor>)>,
}

#[derive(Resource)]
struct Factor(u64);

const INNER_ROWS: u64 = 100;

impl Reentrant {
    fn new(scheduling: Scheduling) -> Self {
        let mut inner = scheduling.app();
        let mut world = std::mem::take(inner.world_mut());
        world.insert_resource(Factor(1));
        world.spawn_batch((0..INNER_ROWS).map(|_| Count(0)));
        let state = SystemState::new(&mut world);
        let mut schedule = Schedule::default();
        schedule.add_systems(crate::count_up.affine());
        let inner = Arc::new(Mutex::new(Inner { world, schedule, state }));
        Self { pool: AffinityPool::new(&scheduling.settings()), inner, times: Arc::default() }
    }

    fn enter(&self) {
        self.times.fetch_add(1, Ordering::Relaxed);
        let called = AtomicU64::new(0);
        self.pool.run(|worker| _ = called.fetch_add(1 << worker.index(), Ordering::Relaxed));
        assert_eq!(called.into_inner(), (1 << self.pool.workers()) - 1);
        assert_eq!(self.pool.heartbeat(|scope| scope.join(|s| s.join(|_| 1, |_| 2), |_| 3)), ((1, 2), 3));
        let (calls, answers) = self.pool.batched(|n: u64| n + 1, |calls| (0..9).map(|n| calls.call(n, n)).count());
        assert_eq!((calls, answers.iter().sum()), (9, 45));
        // Who has it elsewhere is not waited for: no lock of a user's is held across a call.
        if let Ok(mut inner) = self.inner.try_lock() {
            let Inner { world, schedule, state } = &mut *inner;
            schedule.run(world);
            let (mut counts, factor) = state.get_mut(world).unwrap();
            counts.par_iter_mut().for_each(|mut count| count.0 += factor.0);
        }
    }

    /// Asserts that the inner world was swept as a whole, however often.
    fn assert_whole(&self) {
        let mut inner = self.inner.lock().unwrap();
        let mut counts = inner.world.query::<&Count>();
        let counts: Vec<_> = counts.iter(&inner.world).map(|count| count.0).collect();
        assert!(counts.len() as u64 == INNER_ROWS && counts.iter().all(|&count| count == counts[0] && count > 1));
        assert!(self.times.load(Ordering::Relaxed) > 1);
    }
}

/// Does it when it is dropped too.
struct Baggage(Option<Reentrant>);

impl Clone for Baggage {
    fn clone(&self) -> Self {
        Self(None)
    }
}

impl Drop for Baggage {
    fn drop(&mut self) {
        self.0.iter().for_each(Reentrant::enter);
    }
}

impl Visitor for Reentrant {
    type Value = Arc<Baggage>;

    fn visit(&self, place: Place, number: u64) {
        // The first visits, and some rows.
        let seldom = matches!(place, Place::Init | Place::Identity | Place::Roots | Place::Combine);
        let times = self.times.load(Ordering::Relaxed);
        if times < 3 || (!seldom && number % 1000 == 999) {
            self.enter();
        }
    }

    fn value(&self) -> Self::Value {
        let is_loaded = self.times.load(Ordering::Relaxed) % 16 == 5;
        if is_loaded {
            self.times.fetch_add(1, Ordering::Relaxed);
        }
        Arc::new(Baggage(is_loaded.then(|| self.clone())))
    }
}

fn every_closure_enters(schedulings: impl Iterator<Item = Scheduling>) {
    for scheduling in schedulings {
        for place in PLACES {
            let reentrant = Reentrant::new(scheduling);
            let mut attack = Attack::new(scheduling, place, reentrant.clone());
            for frames in 1..=2 {
                attack.run();
                assert_counted(attack.world_mut(), frames);
            }
            reentrant.assert_whole();
        }
    }
}

#[test]
fn every_closure_and_every_drop_starts_calls_of_its_own() {
    let _watch = Watch::over("reentry");
    every_closure_enters(each_mode());
}

/// What a call holds while it runs where it was made, because somebody else leads, must not be
/// waited for by what is nested in it.
#[test]
fn the_same_while_another_thread_leads() {
    let _watch = Watch::over("reentry beside a leader");
    let over = Arc::new(AtomicBool::new(false));
    let leader = thread::spawn({
        let over = over.clone();
        move || {
            let pool = AffinityPool::new(&Scheduling::lock_step(4).settings());
            while !over.load(Ordering::Relaxed) {
                pool.run(|_| (0..50).for_each(|_| thread::yield_now()));
                pool.heartbeat(|scope| scope.for_each(0..50, |_, _| thread::yield_now()));
            }
        }
    });
    every_closure_enters([Scheduling::lock_step(3), Scheduling::heartbeat(3), Scheduling::auto(2)].into_iter());
    over.store(true, Ordering::Relaxed);
    leader.join().unwrap();
}
