//! Random senders in several tables, random receivers, in every mode.

use std::collections::HashMap;

use bevy::{ecs::world::EntityRef, prelude::*};
use bevy_affinity::prelude::*;
use proptest::{collection::vec, prelude::*};

use crate::scatter::{Received, ReceivedSparsely, Sender, chain};
use crate::{
    common::{Scheduling, swept_rows},
    mix::mix_slowly,
};

#[derive(Component)]
struct Left;

#[derive(Component)]
#[component(storage = "SparseSet")]
struct Right;

/// A random entity: its tables, and the numbers of the entities that it writes to, beyond all
/// entities for one that is despawned.
#[derive(Clone, Debug)]
struct Origin {
    left: bool,
    right: bool,
    receives: bool,
    receives_sparsely: bool,
    targets: Vec<usize>,
}

fn origins() -> impl Strategy<Value = Vec<Origin>> {
    let flags = any::<(bool, bool, bool, bool)>();
    let origin = (flags, vec(0..90_usize, 0..6)).prop_map(|((left, right, receives, receives_sparsely), targets)| {
        Origin { left, right, receives, receives_sparsely, targets }
    });
    vec(origin, 1..80)
}

/// The state and the report of every frame.
#[derive(Resource, Default)]
struct Reports(Vec<ScatterReport>);

fn spawn(world: &mut World, origins: &[Origin]) -> Vec<Entity> {
    let entities: Vec<_> = origins.iter().map(|_| world.spawn_empty().id()).collect();
    let despawned = world.spawn_empty().id();
    world.despawn(despawned);
    for (number, (origin, &entity)) in origins.iter().zip(&entities).enumerate() {
        let targets = origin.targets.iter().map(|&target| entities.get(target).copied().unwrap_or(despawned)).collect();
        let mut entity = world.entity_mut(entity);
        entity.insert(Sender { targets, message: number as u64 });
        origin.left.then(|| entity.insert(Left));
        origin.right.then(|| entity.insert(Right));
        origin.receives.then(|| entity.insert(Received::default()));
        origin.receives_sparsely.then(|| entity.insert(ReceivedSparsely::default()));
    }
    entities
}

/// Where an entity is in the order of a query.
type Place = fn(EntityRef) -> (usize, usize);

/// Queries over whole tables go by table.
fn by_table(entity: EntityRef) -> (usize, usize) {
    let location = entity.location();
    (location.table_id.as_usize(), location.table_row.index())
}

/// Queries with anything in sparse sets go by archetype.
fn by_archetype(entity: EntityRef) -> (usize, usize) {
    let location = entity.location();
    (location.archetype_id.index(), location.archetype_row.index())
}

/// One frame of the model: each sender's messages, one after another.
fn scatter_serially(
    world: &World,
    entities: &[Entity],
    place: Place,
    sends: impl Fn(EntityRef) -> bool,
    states: &mut HashMap<Entity, u64>,
) -> ScatterReport {
    let mut senders: Vec<_> =
        entities.iter().map(|&entity| world.entity(entity)).filter(|&entity| sends(entity)).collect();
    senders.sort_by_key(|&entity| place(entity));
    let mut report = ScatterReport::default();
    for sender in senders.iter().filter_map(|entity| entity.get::<Sender>()) {
        for target in &sender.targets {
            match states.get_mut(target) {
                Some(state) => {
                    *state = chain(*state, sender.message);
                    report.delivered += 1;
                }
                None if world.get_entity(*target).is_ok() => report.unmatched += 1,
                None => report.despawned += 1,
            }
        }
    }
    report
}

fn send(outbox: &mut Outbox<u64>, sender: &Sender) {
    // Dear enough that the second frame goes parallel.
    std::hint::black_box(mix_slowly(sender.message));
    sender.targets.iter().for_each(|&target| outbox.send(target, sender.message));
}

fn between_tables(
    senders: AffineQuery<&Sender>,
    mut receivers: AffineQuery<&mut Received>,
    mut reports: ResMut<Reports>,
) {
    let receive = |mut received: Mut<Received>, message| received.0 = chain(received.0, message);
    reports.0.push(senders.par_iter().scatter(&mut receivers, send, receive));
}

fn to_sparse(
    senders: AffineQuery<&Sender, With<Right>>,
    mut receivers: AffineQuery<&mut ReceivedSparsely>,
    mut reports: ResMut<Reports>,
) {
    let receive = |mut received: Mut<ReceivedSparsely>, message| received.0 = chain(received.0, message);
    reports.0.push(senders.par_iter().scatter(&mut receivers, send, receive));
}

fn within(mut both: AffineQuery<(&Sender, &mut Received), Without<Left>>, mut reports: ResMut<Reports>) {
    let report = both.par_iter_mut().scatter_within(
        |outbox, (sender, _)| send(outbox, sender),
        |(_, mut received), message| received.0 = chain(received.0, message),
    );
    reports.0.push(report);
}

/// Each system's senders in the order that the model visits them, and who receives.
struct Model {
    place: Place,
    sends: fn(EntityRef) -> bool,
    state: fn(EntityRef) -> Option<u64>,
}

const BETWEEN_TABLES: Model =
    Model { place: by_table, sends: |_| true, state: |entity| entity.get::<Received>().map(|received| received.0) };

const TO_SPARSE: Model = Model {
    place: by_archetype,
    sends: |entity| entity.contains::<Right>(),
    state: |entity| entity.get::<ReceivedSparsely>().map(|received| received.0),
};

const WITHIN: Model = Model {
    place: by_table,
    sends: |entity| entity.contains::<Received>() && !entity.contains::<Left>(),
    state: |entity| entity.get::<Received>().filter(|_| !entity.contains::<Left>()).map(|received| received.0),
};

/// Three frames of one app against the model; returns the rows that each worker swept.
fn compare<M>(scheduling: Scheduling, origins: &[Origin], model: &Model, system: impl IntoAffine<M>) -> Vec<u64> {
    let mut app = scheduling.app();
    let entities = spawn(app.world_mut(), origins);
    app.init_resource::<Reports>().add_systems(Update, system.affine());
    let states = |world: &World| -> HashMap<Entity, u64> {
        entities.iter().filter_map(|&entity| Some((entity, (model.state)(world.entity(entity))?))).collect()
    };
    let mut expected = states(app.world());
    for frame in 0..3 {
        let report = scatter_serially(app.world(), &entities, model.place, model.sends, &mut expected);
        app.update();
        assert_eq!(states(app.world()), expected, "frame {frame}, {scheduling:?}");
        assert_eq!(app.world().resource::<Reports>().0.last(), Some(&report), "frame {frame}, {scheduling:?}");
    }
    swept_rows(&app)
}

proptest! {
    // Fewer cases than usual: most of their time goes into new apps.
    #![proptest_config(ProptestConfig::with_cases((ProptestConfig::default().cases / 4).max(1)))]

    #[test]
    fn messages_between_tables(origins in origins()) {
        Scheduling::all().for_each(|scheduling| drop(compare(scheduling, &origins, &BETWEEN_TABLES, between_tables)));
    }

    #[test]
    fn messages_to_sparse_sets(origins in origins()) {
        Scheduling::all().for_each(|scheduling| drop(compare(scheduling, &origins, &TO_SPARSE, to_sparse)));
    }

    #[test]
    fn messages_within_a_query(origins in origins()) {
        Scheduling::all().for_each(|scheduling| drop(compare(scheduling, &origins, &WITHIN, within)));
    }
}

/// Many senders, all of which write to the same few entities as well as to others.
#[test]
fn thousands_of_senders() {
    let origins: Vec<_> = (0..6000)
        .map(|number| Origin {
            left: number % 3 == 0,
            right: number % 5 == 0,
            receives: number % 2 == 0,
            receives_sparsely: true,
            targets: vec![number % 7, number * 31 % 6000],
        })
        .collect();
    for scheduling in Scheduling::all() {
        let swept = compare(scheduling, &origins, &BETWEEN_TABLES, between_tables);
        assert!(!scheduling.is_parallel() || swept.iter().all(|&rows| rows > 1000), "{scheduling:?}: {swept:?}");
        compare(scheduling, &origins, &TO_SPARSE, to_sparse);
        compare(scheduling, &origins, &WITHIN, within);
    }
}
