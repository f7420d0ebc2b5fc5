//! Queries that are built at run time: the rows that Bevy's visits, with what it may touch there,
//! and changed as it does; in one order however they run.

use std::mem::take;

use bevy::{
    ecs::{
        component::ComponentId,
        query::QueryBuilder,
        system::{ParamBuilder, QueryParamBuilder},
        world::FilteredEntityMut,
    },
    prelude::*,
};
use bevy_affinity::{AffineQueryParamBuilder, affine_system, prelude::*};
use proptest::{collection::vec, prelude::*};

use crate::common::Scheduling;

/// Of all that is visited, and of nothing that the plugin keeps in the world.
#[derive(Component)]
struct Number(u32);

#[derive(Component)]
struct A(u32);

#[derive(Component)]
struct B(u32);

#[derive(Component)]
#[component(storage = "SparseSet")]
struct InASet(u32);

/// What visited entities hold, in the order of the visits, and the numbers of those that changed.
#[derive(Resource, Default, Debug, PartialEq)]
struct Log {
    visited: Vec<Vec<u32>>,
    changed: Vec<u32>,
}

/// One call of a builder.
#[derive(Clone, Debug)]
enum Step {
    With(usize),
    Without(usize),
    /// With this or without that.
    Either(usize, usize),
    Read(usize),
    Write(usize),
    /// What may be read where it is there.
    Maybe(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let id = || 0..3_usize;
    vec(
        prop_oneof![
            id().prop_map(Step::With),
            id().prop_map(Step::Without),
            (id(), id()).prop_map(|(with, without)| Step::Either(with, without)),
            id().prop_map(Step::Read),
            id().prop_map(Step::Write),
            id().prop_map(Step::Maybe),
        ],
        0..5,
    )
}

/// Which components each run of equal entities has.
fn entities() -> impl Strategy<Value = Vec<(u32, [bool; 3])>> {
    vec((1..400_u32, any::<[bool; 3]>()), 1..8)
}

fn build(
    builder: &mut QueryBuilder<(&Number, FilteredEntityMut), With<Number>>,
    steps: &[Step],
    ids: [ComponentId; 3],
) {
    for step in steps {
        match *step {
            Step::With(id) => builder.with_id(ids[id]),
            Step::Without(id) => builder.without_id(ids[id]),
            Step::Either(with, without) => builder.or(|either| {
                either.with_id(ids[with]).without_id(ids[without]);
            }),
            Step::Read(id) => builder.ref_id(ids[id]),
            Step::Write(id) => builder.mut_id(ids[id]),
            Step::Maybe(id) => builder.optional(|maybe| {
                maybe.ref_id(ids[id]);
            }),
        };
    }
}

/// Writes what may be written; tells all that may be read.
fn visit((number, mut entity): (&Number, FilteredEntityMut)) -> Vec<u32> {
    if let Some(mut a) = entity.get_mut::<A>() {
        a.0 += 1;
    }
    if let Some(mut in_a_set) = entity.get_mut::<InASet>() {
        in_a_set.0 += 1;
    }
    let read = [
        entity.get::<A>().map(|a| a.0),
        entity.get::<B>().map(|b| b.0),
        entity.get::<InASet>().map(|in_a_set| in_a_set.0),
    ];
    read.into_iter().flatten().chain([number.0]).collect()
}

fn affine(mut entities: AffineQuery<(&Number, FilteredEntityMut), With<Number>>, mut log: ResMut<Log>) {
    log.visited = entities.par_iter_mut().fold_reduce(
        Vec::new,
        |list, entity| list.push(visit(entity)),
        |mut list, mut more| {
            list.append(&mut more);
            list
        },
    );
}

fn plain(mut entities: Query<(&Number, FilteredEntityMut), With<Number>>, mut log: ResMut<Log>) {
    log.visited = entities.iter_mut().map(visit).collect();
}

type AnyChanged = Or<(Changed<A>, Changed<B>, Changed<InASet>)>;

fn note_changed(changed: Query<&Number, AnyChanged>, mut log: ResMut<Log>) {
    log.changed = changed.iter().map(|number| number.0).collect();
}

fn spawn(world: &mut World, entities: &[(u32, [bool; 3])]) {
    for (number, &has) in entities.iter().flat_map(|(count, has)| (0..*count).map(move |number| (number, has))) {
        let mut entity = world.spawn(Number(number));
        for (component, has) in has.into_iter().enumerate() {
            match component {
                0 if has => drop(entity.insert(A(number))),
                1 if has => drop(entity.insert(B(number))),
                2 if has => drop(entity.insert(InASet(number))),
                _ => {}
            }
        }
    }
}

/// What three frames see, between which entities come.
fn logs(scheduling: Option<Scheduling>, steps: &[Step], entities: &[(u32, [bool; 3])]) -> Vec<Log> {
    let mut app = scheduling.map_or_else(App::new, Scheduling::app);
    let world = app.init_resource::<Log>().world_mut();
    let ids = [world.register_component::<A>(), world.register_component::<B>(), world.register_component::<InASet>()];
    if scheduling.is_some() {
        let entities = AffineQueryParamBuilder::new(|builder| build(builder, steps, ids));
        let system = (entities, ParamBuilder).build_state(world).build_system(affine);
        app.add_systems(Update, (affine_system(system), note_changed).chain());
    } else {
        let entities = QueryParamBuilder::new(|builder| build(builder, steps, ids));
        let system = (entities, ParamBuilder).build_state(world).build_system(plain);
        app.add_systems(Update, (system, note_changed).chain());
    }
    let frame = |_| {
        spawn(app.world_mut(), entities);
        app.update();
        take(&mut *app.world_mut().resource_mut::<Log>())
    };
    (0..3).map(frame).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..default() })]

    #[test]
    fn a_built_query_is_bevys(steps in steps(), entities in entities()) {
        let one_way = logs(Some(Scheduling::SERIAL), &steps, &entities);
        for scheduling in Scheduling::all().filter(|scheduling| scheduling.workers <= 3) {
            prop_assert_eq!(&logs(Some(scheduling), &steps, &entities), &one_way, "{:?}", scheduling);
        }
        // Bevy's order of tables that were there before the query is another one in each process.
        let sorted = |logs: Vec<Log>| {
            let sorted = |mut log: Log| {
                log.visited.sort_unstable();
                log.changed.sort_unstable();
                log
            };
            logs.into_iter().map(sorted).collect::<Vec<_>>()
        };
        prop_assert_eq!(sorted(one_way), sorted(logs(None, &steps, &entities)));
    }
}

/// Which of two built queries may write rows that the other one may write too is found out as for
/// queries of types that say it.
#[test]
fn built_queries_of_one_system_may_not_conflict() {
    let build = |disjoint: bool| {
        let mut world = World::new();
        let (a, b) = (world.register_component::<A>(), world.register_component::<B>());
        let first = AffineQueryParamBuilder::new_box(|builder: &mut QueryBuilder<FilteredEntityMut>| {
            builder.mut_id(a).with_id(b);
        });
        let second = AffineQueryParamBuilder::new_box(move |builder: &mut QueryBuilder<FilteredEntityMut>| {
            builder.mut_id(a);
            if disjoint {
                builder.without_id(b);
            }
        });
        let system = |_: Vec<AffineQuery<FilteredEntityMut>>| {};
        (vec![first, second],).build_state(&mut world).build_system(system);
    };
    build(true);
    let conflict = std::panic::catch_unwind(|| build(false)).unwrap_err();
    let message = conflict.downcast_ref::<String>().unwrap();
    assert!(message.contains("error[B0001]: AffineQuery<FilteredEntityMut"), "{message}");
}
