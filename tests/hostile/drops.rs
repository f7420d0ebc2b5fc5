//! Values that own something, in calls that fail: each is dropped once, and the next call works.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicUsize, Ordering},
    },
    thread,
};

use bevy::{ecs::system::SystemState, prelude::*};
use bevy_affinity::prelude::*;

use crate::{
    MANY, assert_counted,
    common::Scheduling,
    each_mode, message,
    verbs::{Attack, PLACES, Place, Visitor},
};

/// How many tokens were made and dropped, and which of them is a bomb.
#[derive(Clone, Debug, Default)]
struct Ledger {
    made: Arc<AtomicUsize>,
    dropped: Arc<AtomicUsize>,
    /// Tokens to be made before a bomb; negative for none.
    bomb_in: Arc<AtomicI64>,
}

impl Ledger {
    fn token(&self) -> Token {
        self.made.fetch_add(1, Ordering::Relaxed);
        let is_bomb = self.bomb_in.fetch_sub(1, Ordering::Relaxed) == 0;
        Token { ledger: self.clone(), is_bomb, _heap: Box::new(7) }
    }

    fn lay_bomb(&self, after: i64) {
        self.bomb_in.store(after, Ordering::Relaxed);
    }

    /// Tokens that are alive.
    fn alive(&self) -> i64 {
        self.made.load(Ordering::Relaxed) as i64 - self.dropped.load(Ordering::Relaxed) as i64
    }
}

struct Token {
    ledger: Ledger,
    is_bomb: bool,
    /// A second drop would free this twice.
    _heap: Box<u64>,
}

impl Clone for Token {
    fn clone(&self) -> Self {
        self.ledger.token()
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        self.ledger.dropped.fetch_add(1, Ordering::Relaxed);
        if self.is_bomb && !thread::panicking() {
            panic!("a bomb");
        }
    }
}

/// Panics at one place.
#[derive(Resource, Clone)]
struct Saboteur {
    ledger: Ledger,
    place: Option<Place>,
    /// Visits of the place before the panic; negative after it.
    left: Arc<AtomicI64>,
}

impl Saboteur {
    fn new(place: Option<Place>, left: i64) -> Self {
        let ledger = Ledger::default();
        ledger.lay_bomb(-1);
        Self { ledger, place, left: Arc::new(AtomicI64::new(left)) }
    }
}

impl Visitor for Saboteur {
    type Value = Token;

    fn visit(&self, place: Place, _number: u64) {
        if self.place == Some(place) && self.left.fetch_sub(1, Ordering::Relaxed) == 0 {
            panic!("sabotage");
        }
    }

    fn value(&self) -> Token {
        self.ledger.token()
    }
}

/// A visit of a place that is neither the first of a call nor the last, where there are several.
fn some_visit(place: Place) -> i64 {
    match place {
        Place::Init | Place::Identity => 0,
        Place::Roots => 50,
        _ => MANY as i64 / 2,
    }
}

fn fails(attack: &mut Attack) -> Option<String> {
    message(|| attack.run())
}

#[test]
fn a_closure_that_panics_anywhere_leaves_no_value_and_drops_none_twice() {
    for scheduling in each_mode() {
        for place in PLACES {
            let saboteur = Saboteur::new(Some(place), some_visit(place));
            let mut attack = Attack::new(scheduling, place, saboteur.clone());
            assert_eq!(fails(&mut attack).as_deref(), Some("sabotage"), "{place:?}, {scheduling:?}");
            assert_eq!(saboteur.ledger.alive(), 0, "{place:?}, {scheduling:?}");
            let before = counts(&mut attack);
            assert!(place != Place::Commands || before == 0, "{before} commands applied, {scheduling:?}");
            attack.run();
            assert_eq!(counts(&mut attack), before + MANY, "{place:?}, {scheduling:?}");
            assert_eq!(saboteur.ledger.alive(), 0, "{place:?}, {scheduling:?}");
        }
    }
}

fn counts(attack: &mut Attack) -> u64 {
    let world = attack.world_mut();
    world.query::<&crate::Count>().iter(world).map(|count| count.0).sum()
}

#[test]
fn a_value_whose_drop_panics_is_reported_and_all_others_are_dropped() {
    let with_values = [Place::InitRow, Place::Map, Place::Fold, Place::Send, Place::Down, Place::Up];
    for scheduling in each_mode() {
        for place in with_values {
            for after in [10, MANY as i64 / 2] {
                let saboteur = Saboteur::new(None, -1);
                let mut attack = Attack::new(scheduling, place, saboteur.clone());
                saboteur.ledger.lay_bomb(after);
                let failed = fails(&mut attack);
                assert_eq!(failed.as_deref(), Some("a bomb"), "{place:?} {after}, {scheduling:?}");
                assert_eq!(saboteur.ledger.alive(), 0, "{place:?} {after}, {scheduling:?}");
                let before = counts(&mut attack);
                attack.run();
                assert_eq!(counts(&mut attack), before + MANY, "{place:?} {after}, {scheduling:?}");
            }
        }
    }
}

#[test]
fn values_of_calls_that_succeed_are_dropped_by_their_end() {
    for scheduling in each_mode() {
        for place in PLACES {
            let saboteur = Saboteur::new(None, -1);
            let mut attack = Attack::new(scheduling, place, saboteur.clone());
            for frames in 1..=3 {
                attack.run();
                assert_eq!(saboteur.ledger.alive(), 0, "{place:?}, {scheduling:?}");
                assert_counted(attack.world_mut(), frames);
            }
        }
    }
}

/// Commands that were recorded by hand and that nobody applies.
#[test]
fn a_world_that_is_dropped_with_commands_drops_them_once() {
    let ledger = Ledger::default();
    ledger.lay_bomb(-1);
    let mut world = World::new();
    crate::spawn_many(&mut world);
    let tokens = ledger.clone();
    let mut state = SystemState::<(AffineQuery<&crate::Number>, AffineCommands)>::new(&mut world);
    let (rows, mut commands) = state.get_mut(&mut world).unwrap();
    rows.par_iter().for_each_with_commands(&mut commands, |commands, _| {
        let token = tokens.token();
        commands.queue(move |_: &mut World| drop(token));
    });
    assert_eq!(ledger.alive(), MANY as i64);
    drop(state);
    drop(world);
    assert_eq!(ledger.alive(), 0);
}

#[test]
fn values_of_workers_outlive_a_round_that_panics() {
    let pool = AffinityPool::new(&Scheduling::lock_step(4).settings());
    let ledger = Ledger::default();
    ledger.lay_bomb(-1);
    let mut tokens = PerWorker::new(&pool, |_| Vec::new());
    for round in 0..20 {
        let failed = catch_unwind(AssertUnwindSafe(|| {
            pool.run(|worker| {
                tokens.with(worker, |tokens| {
                    tokens.push(ledger.token());
                    assert!(worker.index() != round % 5, "a worker fails");
                });
            });
        }));
        assert_eq!(failed.is_err(), round % 5 < 4);
        assert!(tokens.iter_mut().all(|tokens| tokens.len() == round + 1));
    }
    assert_eq!(ledger.alive(), 80);
    let first = tokens.into_iter().next().unwrap();
    assert_eq!((first.len(), ledger.alive()), (20, 20));
    drop(first);
    assert_eq!(ledger.alive(), 0);
}

#[test]
fn making_values_of_workers_fails_halfway() {
    let pool = AffinityPool::new(&Scheduling::lock_step(4).settings());
    let ledger = Ledger::default();
    ledger.lay_bomb(-1);
    let make = |index| {
        assert!(index < 2, "no third value");
        ledger.token()
    };
    assert_eq!(message(|| drop(PerWorker::new(&pool, make))).as_deref(), Some("no third value"));
    assert_eq!(ledger.alive(), 0);
}
