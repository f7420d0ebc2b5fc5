//! Twin worlds: in one plain Bevy systems are chained, in the others they are fused kernels, in
//! every mode. After every frame of random changes they must be equal: components and their change
//! ticks.

use bevy::prelude::*;
use bevy_affinity::prelude::*;
use proptest::{collection::vec, prelude::*};

use crate::differential::{
    assert_all_swept,
    population::{Kind, Population, Step, steps},
};
use crate::fused::kernels::{
    Landmark, Seed, added, all_of_it, either, follow, look_back, plain, shared, shared_plainly, sparse, stir,
};
use crate::{common::Scheduling, tables::move_to_table};

/// One world and its entities.
struct Twin {
    name: String,
    scheduling: Scheduling,
    app: App,
    population: Population,
}

/// Whether the systems run in this frame.
#[derive(Resource, Clone, Copy)]
struct Running(bool);

fn is_running(running: Res<Running>) -> bool {
    running.0
}

/// As many change ticks as a tag takes.
fn tag() {}

impl Twin {
    fn new(name: &str, scheduling: Scheduling, add: impl FnOnce(&mut App)) -> Self {
        let mut app = scheduling.app();
        app.insert_resource(Seed(11)).insert_resource(Running(true));
        app.world_mut().spawn_batch((0..3).map(Landmark));
        add(&mut app);
        Self { name: format!("{name}, {scheduling:?}"), scheduling, app, population: Population::default() }
    }

    /// The reference first.
    fn all() -> Vec<Self> {
        let reference = Self::new("chained", Scheduling::SERIAL, |app| {
            let tables = (tag, plain::look_back, plain::stir, shared_plainly, plain::follow).chain();
            let archetypes = (tag, plain::sparse, plain::either, plain::follow, plain::added, plain::look_back).chain();
            let entities = (tag, plain::all_of_it, plain::stir).chain();
            app.add_systems(Update, (tables, archetypes, entities).chain().run_if(is_running));
        });
        let fused = Scheduling::all().map(|scheduling| {
            Self::new("fused", scheduling, |app| {
                let tables = fused((look_back, stir, shared, follow));
                let archetypes = fused((sparse, either, follow, added, look_back));
                let entities = fused((all_of_it, stir));
                app.add_systems(Update, (tables, archetypes, entities).affine().chain().run_if(is_running));
            })
        });
        [reference].into_iter().chain(fused).collect()
    }
}

/// Applies `change` to all twins, runs a frame of each and compares them.
fn frame(twins: &mut [Twin], change: impl Fn(&mut Population, &mut World)) {
    for twin in &mut *twins {
        change(&mut twin.population, twin.app.world_mut());
        twin.app.update();
    }
    let Some((reference, others)) = twins.split_first() else { return };
    let snapshot = reference.population.snapshot(reference.app.world());
    for twin in others {
        assert_eq!(twin.population.snapshot(twin.app.world()), snapshot, "{}", twin.name);
    }
}

/// Fewer cases than usual, since each is a history of many frames.
fn histories() -> ProptestConfig {
    ProptestConfig::with_cases((ProptestConfig::default().cases / 8).max(1))
}

proptest! {
    #![proptest_config(histories())]

    #[test]
    fn random_worlds(changes in vec((vec(steps(8), 0..8), prop::bool::weighted(0.8)), 1..30)) {
        let mut twins = Twin::all();
        for (steps, running) in &changes {
            frame(&mut twins, |population, world| {
                world.insert_resource(Running(*running));
                steps.iter().for_each(|step: &Step| population.apply(world, step));
            });
        }
    }
}

#[test]
fn no_entities() {
    let mut twins = Twin::all();
    (0..3).for_each(|_| frame(&mut twins, |_, _| {}));
}

#[test]
fn thousands_of_rows_are_swept_by_all_workers() {
    let mut twins = Twin::all();
    for kinds in [&[Kind::A, Kind::B][..], &[Kind::A, Kind::B, Kind::S], &[Kind::A, Kind::Z], &[Kind::S]] {
        frame(&mut twins, |population, world| population.spawn(world, kinds, 2500));
    }
    (0..3).for_each(|_| frame(&mut twins, |_, _| {}));
    for twin in &twins {
        assert_all_swept(&twin.app, twin.scheduling, &twin.name);
    }
}

#[test]
fn hundreds_of_tables() {
    let mut twins = Twin::all();
    for _ in 0..2 {
        frame(&mut twins, |population, world| {
            for table in 0..200 {
                population.spawn(world, &[Kind::A, Kind::B], 1);
                move_to_table(&mut population.last(world), table);
            }
        });
        frame(&mut twins, |_, _| {});
    }
}
