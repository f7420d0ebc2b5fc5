//! Parameters in places where nobody expects them: states used by hand, observers, conditions, sets
//! and structs of parameters.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
};

use bevy::{
    ecs::{
        query::QueryData,
        relationship::RelationshipTarget,
        system::{StaticSystemParam, SystemParam, SystemState},
    },
    prelude::*,
};
use bevy_affinity::prelude::*;

use crate::{Count, MANY, Number, assert_counted, common::Scheduling, message, spawn_many};

type CountState = SystemState<AffineQuery<'static, 'static, &'static mut Count>>;

fn count_by_hand(state: &mut CountState, world: &mut World) {
    state.get_mut(world).unwrap().par_iter_mut().for_each(|mut count| count.0 += 1);
}

#[test]
fn a_state_on_another_world_says_so() {
    let (mut own, mut other) = (World::new(), World::new());
    spawn_many(&mut own);
    spawn_many(&mut other);
    let mut state = CountState::new(&mut own);
    let mut tree = SystemState::<AffineTree<&mut Count>>::new(&mut own);
    let failed = [
        message(|| count_by_hand(&mut state, &mut other)),
        message(|| drop(tree.get_mut(&mut other).unwrap().fold([], |_, _, _: &[()]| ()))),
    ];
    for failed in failed {
        assert!(failed.as_ref().is_some_and(|failed| failed.contains("World")), "{failed:?}");
    }
    count_by_hand(&mut state, &mut own);
    assert_counted(&mut own, 1);
    assert_counted(&mut other, 0);
}

#[test]
fn a_schedule_on_another_world_says_so() {
    for scheduling in [Scheduling::lock_step(2), Scheduling::SERIAL] {
        let (mut own, mut other) = (scheduling.app(), scheduling.app());
        spawn_many(own.world_mut());
        spawn_many(other.world_mut());
        let mut schedule = Schedule::default();
        schedule.add_systems((crate::count_up, crate::count_up).affine().chain());
        schedule.run(own.world_mut());
        assert!(message(|| schedule.run(other.world_mut())).is_some());
        assert_counted(own.world_mut(), 2);
        assert_counted(other.world_mut(), 0);
    }
}

#[test]
fn a_state_follows_what_becomes_of_its_world() {
    #[derive(Component)]
    struct Late;
    #[derive(Component)]
    #[component(storage = "SparseSet")]
    struct Sparse;

    let mut world = World::new();
    let mut state = CountState::new(&mut world);
    count_by_hand(&mut state, &mut world);
    spawn_many(&mut world);
    count_by_hand(&mut state, &mut world);
    assert_counted(&mut world, 1);
    let rows: Vec<_> = world.query_filtered::<Entity, With<Count>>().iter(&world).collect();
    for (number, &row) in rows.iter().enumerate() {
        match number % 3 {
            0 => _ = world.entity_mut(row).insert(Late),
            1 => _ = world.entity_mut(row).insert((Late, Sparse)),
            _ => {}
        }
    }
    count_by_hand(&mut state, &mut world);
    assert_counted(&mut world, 2);
    world.clear_all();
    count_by_hand(&mut state, &mut world);
    spawn_many(&mut world);
    count_by_hand(&mut state, &mut world);
    assert_counted(&mut world, 1);
}

#[test]
fn states_of_several_threads_read_one_world() {
    crate::common::start_compute_threads();
    let mut world = World::new();
    spawn_many(&mut world);
    let mut states: Vec<_> = (0..4).map(|_| SystemState::<AffineQuery<(&Number, &Count)>>::new(&mut world)).collect();
    let expected: u64 = (0..MANY).sum();
    thread::scope(|scope| {
        for state in &mut states {
            let world = &world;
            scope.spawn(move || {
                for _ in 0..20 {
                    let rows = state.get(world).unwrap();
                    let sum = rows.par_iter().map_reduce(|| 0, |(number, _)| number.0, |a, b| a + b);
                    assert_eq!(sum, expected);
                }
            });
        }
    });
}

/// One parameter, lent to threads that are in no system.
#[test]
fn threads_of_the_users_share_a_query() {
    fn share(rows: AffineQuery<&Number>, mut counts: AffineQuery<&mut Count>) {
        let sum = || rows.par_iter().map_reduce(|| 0, |number| number.0, |a, b| a + b);
        thread::scope(|scope| {
            let sums: Vec<_> = (0..3).map(|_| scope.spawn(sum)).collect();
            let own = sum();
            sums.into_iter().for_each(|sum| assert_eq!(sum.join().unwrap(), own));
        });
        counts.par_iter_mut().for_each(|mut count| count.0 += 1);
    }
    for scheduling in Scheduling::all() {
        let mut app = scheduling.app();
        spawn_many(app.world_mut());
        app.add_systems(Update, share.affine());
        (0..2).for_each(|_| app.update());
        assert_counted(app.world_mut(), 2);
    }
}

#[derive(SystemParam)]
struct Nested<'w, 's> {
    rows: AffineQuery<'w, 's, Row2>,
    more: StaticSystemParam<'w, 's, AffineQuery<'static, 'static, &'static Number, Without<Count>>>,
    tree: AffineTree<'w, 's, &'static Other>,
}

#[derive(QueryData)]
#[query_data(mutable)]
struct Row2 {
    entity: Entity,
    inner: Inner,
}

#[derive(QueryData)]
#[query_data(mutable)]
struct Inner {
    count: &'static mut Count,
    number: Option<&'static Number>,
}

#[derive(Component)]
struct Other;

#[derive(Event)]
struct Poke;

#[test]
fn parameters_in_structs_sets_and_options() {
    type Counts<'w, 's> = AffineQuery<'w, 's, &'static mut Count>;

    fn deep(mut deep: Nested, mut sets: ParamSet<(Query<&Name>, Option<AffineQuery<&Name>>)>) {
        deep.rows.par_iter_mut().for_each(|mut row| {
            assert!(row.inner.number.is_some() && row.entity != Entity::PLACEHOLDER);
            row.inner.count.0 += 1;
        });
        assert_eq!(deep.more.par_iter().map_reduce(|| 0, |_| 1, |a, b| a + b), 0);
        assert_eq!(deep.tree.fold([], |_, _, _: &[()]| ()).roots.len(), 0);
        let one = sets.p0().iter().count();
        assert_eq!(sets.p1().map(|names| names.par_iter().map_reduce(|| 0, |_| 1, |a, b| a + b)), Some(one));
    }
    fn in_turn(mut sets: ParamSet<(Counts, Counts, AffineQuery<EntityMut>)>) {
        sets.p0().par_iter_mut().for_each(|mut count| count.0 += 1);
        sets.p1().par_iter_mut().for_each(|mut count| count.0 += 1);
        sets.p2().par_iter_mut().for_each(|mut entity| {
            if let Some(mut count) = entity.get_mut::<Count>() {
                count.0 += 1;
            }
        });
    }
    fn by_lens(mut counts: AffineQuery<(Entity, &mut Count, &Number)>) {
        let mut query = counts.reborrow();
        let mut lens = query.transmute_lens::<&mut Count>();
        lens.query().iter_mut().for_each(|mut count| count.0 += 1);
        counts.par_iter_mut().for_each(|(_, mut count, _)| count.0 += 1);
    }
    fn any_rows(rows: AffineQuery<&Count>) -> bool {
        rows.par_iter().map_reduce(|| false, |_| true, |a, b| a || b)
    }
    for scheduling in Scheduling::all() {
        let mut app = scheduling.app();
        spawn_many(app.world_mut());
        app.world_mut().spawn(Name::new("a name"));
        app.add_systems(Update, (deep, in_turn, by_lens).affine().chain().run_if(any_rows));
        app.update();
        assert_counted(app.world_mut(), 6);
    }
}

#[test]
fn parameters_in_observers_one_shot_and_exclusive_systems() {
    fn observe(_: On<Poke>, mut counts: AffineQuery<&mut Count>, mut nodes: AffineTree<&Number, (), Owns>) {
        counts.par_iter_mut().for_each(|mut count| count.0 += 1);
        nodes.propagate([], |(), _, _| None);
    }
    fn poke(mut commands: Commands) {
        commands.trigger(Poke);
        commands.queue(|world: &mut World| {
            world.run_system_cached(crate::count_up).unwrap();
            world.trigger(Poke);
        });
    }
    fn alone(world: &mut World, mut state: Local<Option<CountState>>) {
        let state = state.get_or_insert_with(|| CountState::new(world));
        count_by_hand(state, world);
        world.run_system_cached(crate::count_up).unwrap();
        world.trigger(Poke);
    }
    for scheduling in Scheduling::all() {
        let mut app = scheduling.app();
        spawn_many(app.world_mut());
        app.add_observer(observe).add_systems(Update, (poke, alone).affine().chain());
        for frames in 1..=2 {
            app.update();
            assert_counted(app.world_mut(), 6 * frames);
        }
    }
}

/// A relationship of the user's.
#[derive(Component)]
#[relationship(relationship_target = Owned)]
struct Owns(Entity);

#[derive(Component)]
#[relationship_target(relationship = Owns)]
struct Owned(Vec<Entity>);

/// In an exclusive system another world may be swept while this one's context is entered: rows of
/// one are placed by what is known of the other.
#[test]
fn two_worlds_in_one_tagged_system() {
    #[derive(Resource)]
    struct Elsewhere(World, CountState);

    fn sweep_both(world: &mut World, mut state: Local<Option<CountState>>, mut frame: Local<u64>) {
        *frame += 1;
        world.resource_scope(|world, mut elsewhere: Mut<Elsewhere>| {
            let Elsewhere(other, other_state) = &mut *elsewhere;
            let state = state.get_or_insert_with(|| CountState::new(world));
            for _ in 0..3 {
                count_by_hand(state, world);
                count_by_hand(other_state, other);
            }
            // Now one of them has more rows, now the other.
            let growing = if frame.is_multiple_of(2) { world } else { other };
            growing.spawn_batch((0..*frame * 3000).map(|number| (Number(number), Count(0))));
        });
    }
    for scheduling in Scheduling::all() {
        let mut app = scheduling.app();
        spawn_many(app.world_mut());
        let mut other = World::new();
        other.spawn_batch((0..100).map(|_| Count(0)));
        let state = CountState::new(&mut other);
        app.insert_resource(Elsewhere(other, state)).add_systems(Update, sweep_both.affine());
        (0..6).for_each(|_| app.update());
        let sum = |world: &mut World| world.query::<&Count>().iter(world).map(|count| count.0).sum::<u64>();
        assert_eq!(sum(app.world_mut()), 18 * MANY + 3 * 3000 * (2 * 4 + 4 * 2), "{scheduling:?}");
        let mut elsewhere = app.world_mut().resource_mut::<Elsewhere>();
        assert_eq!(sum(&mut elsewhere.0), 18 * 100 + 3 * 3000 * (5 + 3 * 3 + 5), "{scheduling:?}");
    }
}

#[test]
fn access_conflicts_are_found_as_bevy_finds_them() {
    #[derive(Resource, Default)]
    struct Shared;

    fn resource_as_component(_: AffineQuery<&mut Shared>, _: ResMut<Shared>) {}
    fn entities_and_components(_: AffineQuery<EntityMut>, _: AffineQuery<&Count>) {}
    fn twice(_: AffineQuery<&mut Count>, _: Query<&Count>) {}
    fn in_itself(_: AffineQuery<(&mut Count, &Count)>) {}
    fn children(_: AffineTree<&mut Children>) {}
    fn all_of_a_node(_: AffineTree<EntityMut>) {}
    fn apart(_: AffineQuery<&mut Count, With<Number>>, _: AffineQuery<&mut Count, Without<Number>>) {}

    fn conflicts<M>(system: impl IntoAffine<M>) -> bool {
        let run = || {
            let (mut world, mut schedule) = (World::new(), Schedule::default());
            world.init_resource::<Shared>();
            schedule.add_systems(system.affine()).run(&mut world);
        };
        catch_unwind(AssertUnwindSafe(run)).is_err()
    }
    assert!(conflicts(resource_as_component) && conflicts(entities_and_components) && conflicts(twice));
    assert!(conflicts(in_itself) && conflicts(children) && conflicts(all_of_a_node));
    assert!(!conflicts(apart));
}

#[test]
fn children_that_are_edited_while_rows_are_swept() {
    fn reverse(mut parents: AffineQuery<&mut Children>) {
        parents.par_iter_mut().for_each(|mut children| {
            let rows = children.collection_mut_risky();
            rows.reverse();
        });
    }
    for scheduling in Scheduling::all() {
        let mut app = scheduling.app();
        let mut expected = Vec::new();
        for _ in 0..100 {
            let parent = app.world_mut().spawn_empty().id();
            let children: Vec<_> = (0..3).map(|_| app.world_mut().spawn(ChildOf(parent)).id()).collect();
            expected.push((parent, children));
        }
        app.add_systems(Update, reverse.affine());
        (0..3).for_each(|_| app.update());
        for (parent, mut children) in expected {
            children.reverse();
            assert!(app.world().get::<Children>(parent).unwrap().iter().eq(children));
        }
    }
}
