//! Query data and filters that are seldom seen, compared with Bevy's own iteration of the same
//! rows.

use std::sync::{Arc, Mutex};

use bevy::{
    ecs::{
        archetype::Archetype,
        entity::EntityLocation,
        entity_disabling::{DefaultQueryFilters, Disabled},
        query::{Allow, IterQueryData, NestedQuery, QueryData, QueryFilter, SpawnDetails, Spawned},
        world::{EntityMutExcept, EntityRefExcept, FilteredEntityRef},
    },
    prelude::*,
};
use bevy_affinity::prelude::*;

use crate::{MANY, Number, common::Scheduling, each_mode, message};

#[derive(Component)]
#[component(storage = "SparseSet")]
struct Sparse(u64);

#[derive(Component)]
#[component(immutable)]
struct Fixed(u64);

#[derive(Component, Clone)]
struct Empty;

/// A resource, so a component of an entity of its own.
#[derive(Resource)]
struct Shared(u64);

fn populate(world: &mut World) {
    world.insert_resource(Shared(5));
    for number in 0..MANY {
        let mut entity = world.spawn((Number(number), Fixed(number / 2)));
        if number % 3 == 0 {
            entity.insert(Sparse(number));
        }
        if number % 5 == 0 {
            entity.insert(Empty);
        }
        if number % 7 == 0 {
            entity.insert(Disabled);
        }
        if number % 11 == 0 {
            entity.remove::<Number>();
        }
    }
}

type Seen = Vec<(Entity, u64)>;

/// What Bevy's iteration sees and what ours does, call by call.
type Pairs = Arc<Mutex<Vec<(Seen, Seen)>>>;

fn sorted(mut seen: Seen) -> Seen {
    seen.sort_unstable();
    seen
}

/// What items say of their rows, in any order: by Bevy, then in two of our ways.
fn compare<D, F>(pairs: Pairs, see: fn(D::Item<'_, '_>) -> (Entity, u64)) -> impl FnMut(AffineQuery<D, F>)
where
    D: IterQueryData + 'static,
    F: QueryFilter + 'static,
{
    move |mut rows| {
        let bevys = sorted(rows.reborrow().into_iter().map(see).collect());
        let join = |mut a: Seen, b: Seen| {
            a.extend(b);
            a
        };
        let reduced = rows.par_iter_mut().map_reduce(Vec::new, |item| vec![see(item)], join);
        let collected = Mutex::new(Vec::new());
        rows.par_iter_mut().for_each(|item| {
            let seen = see(item);
            collected.lock().unwrap().push(seen);
        });
        let collected = collected.into_inner().unwrap();
        pairs.lock().unwrap().extend([(bevys.clone(), sorted(reduced)), (bevys, sorted(collected))]);
    }
}

fn check<D, F>(expected: fn(u64) -> bool, see: fn(D::Item<'_, '_>) -> (Entity, u64))
where
    D: IterQueryData + 'static,
    F: QueryFilter + 'static,
{
    let expected = (0..MANY).filter(|&number| expected(number)).count();
    for scheduling in each_mode() {
        let (mut app, pairs) = (scheduling.app(), Pairs::default());
        populate(app.world_mut());
        app.add_systems(Update, compare::<D, F>(pairs.clone(), see).affine());
        (0..2).for_each(|_| app.update());
        let pairs = pairs.lock().unwrap();
        for (bevys, ours) in &*pairs {
            assert!(bevys == ours, "{} and {} rows, {scheduling:?}", bevys.len(), ours.len());
        }
        assert_eq!(pairs[0].0.len(), expected, "{scheduling:?}");
    }
}

macro_rules! the_same_as_bevy {
    ($($test:ident: $data:ty, $filter:ty, $rows:expr, $item:pat => $seen:expr;)*) => {$(
        #[test]
        fn $test() {
            fn see($item: <$data as QueryData>::Item<'_, '_>) -> (Entity, u64) {
                $seen
            }
            check::<$data, $filter>($rows, see);
        }
    )*};
}

the_same_as_bevy! {
    entities_as_they_are:
    EntityRef<'static>, With<Number>,
    |n| n % 7 > 0 && n % 11 > 0,
    entity => (entity.id(), entity.get::<Sparse>().map_or(0, |sparse| sparse.0 + 1));

    entities_to_be_changed:
    EntityMut<'static>, (With<Number>, Without<Sparse>),
    |n| n % 3 > 0 && n % 7 > 0 && n % 11 > 0,
    mut entity => (entity.id(), entity.get_mut::<Number>().unwrap().0);

    entities_but_for_some_components:
    EntityMutExcept<'static, 'static, (Number, Sparse)>, With<Empty>,
    |n| n % 5 == 0 && n % 7 > 0,
    entity => (entity.id(), u64::from(entity.get::<Number>().is_some()) + entity.get::<Fixed>().unwrap().0);

    entities_with_another_part:
    (&'static mut Number, EntityRefExcept<'static, 'static, Number>), (),
    |n| n % 7 > 0 && n % 11 > 0,
    (number, entity) => (entity.id(), number.0 + entity.get::<Sparse>().map_or(0, |sparse| sparse.0));

    filtered_entities:
    (FilteredEntityRef<'static, 'static>, &'static Fixed), (),
    |n| n % 7 > 0,
    (entity, fixed) => (entity.id(), fixed.0 + entity.get::<Fixed>().map_or(0, |fixed| fixed.0));

    disabled_ones_too:
    (Entity, Has<Disabled>, &'static Number), Allow<Disabled>,
    |n| n % 11 > 0,
    (entity, disabled, number) => (entity, number.0 * 2 + u64::from(disabled));

    only_disabled_ones:
    (Entity, &'static Fixed), With<Disabled>,
    |n| n % 7 == 0,
    (entity, fixed) => (entity, fixed.0);

    without_size:
    (Entity, &'static mut Empty), (),
    |n| n % 5 == 0 && n % 7 > 0,
    (entity, _) => (entity, 0);

    where_they_lie:
    (Entity, EntityLocation, &'static Archetype), With<Fixed>,
    |n| n % 7 > 0,
    (entity, location, archetype) => (entity, (archetype.id() == location.archetype_id).into());

    when_they_were_spawned:
    (Entity, SpawnDetails), (With<Fixed>, Or<(Spawned, Changed<Number>)>),
    |n| n % 7 > 0,
    (entity, details) => (entity, details.spawn_tick().get().into());

    queries_in_rows:
    (Entity, NestedQuery<(&'static Sparse, &'static Fixed)>), With<Empty>,
    |n| n % 5 == 0 && n % 7 > 0,
    (entity, others) => (entity, others.iter().take(3).map(|(sparse, fixed)| sparse.0 + fixed.0).sum());

    any_of_some_and_optional_data:
    (Entity, AnyOf<(&'static Sparse, &'static Empty)>, Option<Ref<'static, Number>>), (),
    |n| (n % 3 == 0 || n % 5 == 0) && n % 7 > 0,
    (entity, (sparse, _), number) => {
        let changed = number.map_or(0, |number| u64::from(number.last_changed().get()));
        (entity, sparse.map_or(0, |sparse| sparse.0) + changed)
    };
}

/// The rows of a resource: one entity that a query finds like others.
#[test]
fn resources_are_rows() {
    fn double(mut shared: AffineQuery<&mut Shared>) {
        shared.par_iter_mut().for_each(|mut shared| shared.0 *= 2);
    }
    for scheduling in Scheduling::all() {
        let mut app = scheduling.app();
        app.insert_resource(Shared(5)).add_systems(Update, double.affine()).update();
        assert_eq!(app.world().resource::<Shared>().0, 10);
    }
}

/// A component in a sparse set that disables: rows of a table are then not all visited.
#[test]
fn disabled_by_a_component_in_a_sparse_set() {
    #[derive(Component)]
    #[component(storage = "SparseSet")]
    struct Asleep;

    fn count(mut rows: AffineQuery<&mut Number>, hidden: AffineQuery<&Number, With<Asleep>>) {
        rows.par_iter_mut().for_each(|mut number| number.0 += 1);
        assert_eq!(hidden.par_iter().map_reduce(|| 0, |_| 1, |a, b| a + b), MANY / 2);
    }
    fn in_chunks(mut rows: AffineQuery<&mut Number>) {
        rows.par_iter_mut().for_each_chunk(|_| {});
    }
    for scheduling in Scheduling::all() {
        let mut app = scheduling.app();
        let asleep = app.world_mut().register_component::<Asleep>();
        app.world_mut().resource_mut::<DefaultQueryFilters>().register_disabling_component(asleep);
        for number in 0..MANY {
            let mut entity = app.world_mut().spawn(Number(0));
            if number % 2 == 0 {
                entity.insert(Asleep);
            }
        }
        app.add_systems(Update, count.affine());
        (0..2).for_each(|_| app.update());
        let mut all = app.world_mut().query_filtered::<(&Number, Has<Asleep>), Allow<Asleep>>();
        assert!(all.iter(app.world()).all(|(number, asleep)| number.0 == if asleep { 0 } else { 2 }));
        app.add_systems(Last, in_chunks.affine());
        let failed = message(|| app.update());
        assert!(failed.is_some_and(|failed| failed.contains("use for_each")));
    }
}

/// One that disables only from now on: queries that exist go on as they are, as Bevy's do.
#[test]
fn a_disabling_component_that_comes_late() {
    #[derive(Component)]
    #[component(storage = "SparseSet")]
    struct Late;

    let mut world = World::new();
    crate::common::start_compute_threads();
    world.spawn_batch((0..MANY).map(|number| (Number(number), Late)));
    let mut bevys = world.query::<&Number>();
    let mut ours = bevy::ecs::system::SystemState::<AffineQuery<&Number>>::new(&mut world);
    let late = world.register_component::<Late>();
    world.resource_mut::<DefaultQueryFilters>().register_disabling_component(late);
    world.spawn((Number(0), Late, Empty));
    let counted = |ours: AffineQuery<&Number>| ours.par_iter().map_reduce(|| 0, |_| 1, |a, b| a + b);
    assert_eq!(counted(ours.get(&world).unwrap()), bevys.iter(&world).count());
    let mut new = bevy::ecs::system::SystemState::<AffineQuery<&Number>>::new(&mut world);
    assert_eq!(counted(new.get(&world).unwrap()), 0);
}
