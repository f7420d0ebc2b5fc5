//! Twin worlds: one is swept by plain `Query`, the others by `AffineQuery` in every mode. After
//! every frame of random spawns, despawns, insertions and removals they must be equal: components,
//! change ticks, and what each closure saw.

pub mod population;
mod shapes;
mod systems;

use bevy::prelude::*;
use proptest::{collection::vec, prelude::*};

use crate::common::{Scheduling, swept_rows};
use crate::tables::move_to_table;
use population::{Kind, Population, S, Step, steps};
use systems::{InParallel, RowByRow, Visiting, Visits, systems};

/// One world, its entities, and what its systems saw in the last frame.
struct Twin {
    name: String,
    scheduling: Scheduling,
    app: App,
    population: Population,
    visits: Visits,
}

impl Twin {
    fn new<V: Visiting>(name: &str, scheduling: Scheduling, prepare: &impl Fn(&mut World) -> bool) -> Self {
        let (mut app, visits) = (scheduling.app(), Visits::default());
        let contiguous = prepare(app.world_mut());
        app.add_systems(Update, systems::<V>(&visits, contiguous));
        Self { name: format!("{name}, {scheduling:?}"), scheduling, app, population: Population::default(), visits }
    }

    /// The reference first.
    fn all(prepare: impl Fn(&mut World) -> bool) -> Vec<Self> {
        let reference = Self::new::<RowByRow>("Query", Scheduling::SERIAL, &prepare);
        let parallel = Scheduling::all().map(|scheduling| Self::new::<InParallel>("AffineQuery", scheduling, &prepare));
        [reference].into_iter().chain(parallel).collect()
    }

    fn change(&mut self, change: impl FnOnce(&mut Population, &mut World)) {
        change(&mut self.population, self.app.world_mut());
    }
}

/// Applies `change` to all twins, runs a frame of each and compares them.
fn frame(twins: &mut [Twin], change: impl Fn(&mut Population, &mut World)) {
    for twin in &mut *twins {
        twin.change(&change);
        twin.app.update();
    }
    let Some((reference, others)) = twins.split_first() else { return };
    let (visits, snapshot) = (reference.visits.take(), reference.population.snapshot(reference.app.world()));
    for twin in others {
        let seen = twin.visits.take();
        assert_eq!(seen.len(), visits.len(), "systems that ran: {}", twin.name);
        for (system, (seen, expected)) in seen.iter().zip(&visits).enumerate() {
            assert_eq!(seen, expected, "what system {system} saw: {}", twin.name);
        }
        assert_eq!(twin.population.snapshot(twin.app.world()), snapshot, "state: {}", twin.name);
    }
}

/// Expects of an app that schedules in parallel that each worker swept more than 1,000 rows.
pub fn assert_all_swept(app: &App, scheduling: Scheduling, name: &str) {
    let swept = swept_rows(app);
    let all_swept = swept.iter().all(|&rows| rows > 1_000);
    assert!(!scheduling.is_parallel() || all_swept, "rows by worker: {swept:?}: {name}");
}

fn as_they_are(_: &mut World) -> bool {
    true
}

fn frames(twins: &mut [Twin], frames: &[Vec<Step>]) {
    for steps in frames {
        frame(twins, |population, world| steps.iter().for_each(|step| population.apply(world, step)));
    }
}

/// Fewer cases than usual, since each is a history of many frames.
fn histories(fewer: u32) -> ProptestConfig {
    ProptestConfig::with_cases((ProptestConfig::default().cases / fewer).max(1))
}

proptest! {
    #![proptest_config(histories(6))]

    #[test]
    fn random_worlds(changes in vec(vec(steps(8), 0..8), 1..40)) {
        frames(&mut Twin::all(as_they_are), &changes);
    }
}

proptest! {
    #![proptest_config(histories(16))]

    #[test]
    fn random_worlds_whose_queries_skip_a_sparse_component(changes in vec(vec(steps(8), 0..8), 1..20)) {
        let skip = |world: &mut World| {
            world.register_disabling_component::<S>();
            false
        };
        frames(&mut Twin::all(skip), &changes);
    }
}

#[test]
fn no_entities() {
    let mut twins = Twin::all(as_they_are);
    (0..3).for_each(|_| frame(&mut twins, |_, _| {}));
}

#[test]
fn one_table_of_one_row() {
    let mut twins = Twin::all(as_they_are);
    for _ in 0..3 {
        frame(&mut twins, |population, world| population.spawn(world, &[], 1));
        frame(&mut twins, |population, world| population.spawn(world, &[Kind::A, Kind::B], 1));
    }
}

#[test]
fn thousands_of_rows_are_swept_by_all_workers() {
    let mut twins = Twin::all(as_they_are);
    for kinds in [&[Kind::A, Kind::B][..], &[Kind::A, Kind::S], &[Kind::A, Kind::B, Kind::S, Kind::Z]] {
        frame(&mut twins, |population, world| population.spawn(world, kinds, 1500));
    }
    frame(&mut twins, |_, _| {});
    for twin in &twins {
        assert_all_swept(&twin.app, twin.scheduling, &twin.name);
    }
}

#[test]
fn hundreds_of_tables() {
    let mut twins = Twin::all(as_they_are);
    let spawn = |population: &mut Population, world: &mut World| {
        for table in 0..256 {
            population.spawn(world, &[Kind::A, Kind::B], 1);
            move_to_table(&mut population.last(world), table);
        }
    };
    frame(&mut twins, spawn);
    frame(&mut twins, |_, _| {});
    frame(&mut twins, spawn);
}
