//! All kinds of relationships, data and filters.

use bevy::{ecs::entity::EntityHashSet, prelude::*};
use bevy_affinity::prelude::*;

use crate::{common::Scheduling, mix::mix_slowly};

/// A relationship of its own, whose targets are kept in no order.
#[derive(Component)]
#[relationship(relationship_target = Ports)]
struct PluggedInto(Entity);

#[derive(Component)]
#[relationship_target(relationship = PluggedInto)]
struct Ports(EntityHashSet);

/// One after the other.
#[derive(Component)]
#[relationship(relationship_target = Follower)]
struct Follows(Entity);

#[derive(Component)]
#[relationship_target(relationship = Follows)]
struct Follower(Entity);

#[derive(Component, Default, Clone, Copy, PartialEq, Debug)]
#[component(storage = "SparseSet")]
struct Sum(u64);

#[derive(Component, Clone, Copy)]
struct Load(u64);

#[derive(Component)]
struct Off;

#[derive(Resource)]
struct Root(Entity);

/// Runs `system` in all modes on a world that `build` makes, and returns the sums.
fn sums<M>(build: impl Fn(&mut World) -> Entity, system: impl IntoAffine<M> + Copy) -> Vec<Sum> {
    let in_mode = |scheduling: Scheduling| {
        let mut app = scheduling.app();
        let root = build(app.world_mut());
        app.insert_resource(Root(root)).add_systems(Update, system.affine());
        app.update();
        app.update();
        let mut sums: Vec<_> = app.world_mut().query::<(Entity, &Sum)>().iter(app.world()).collect();
        sums.sort_unstable_by_key(|(entity, _)| entity.index_u32());
        sums.into_iter().map(|(_, sum)| *sum).collect::<Vec<_>>()
    };
    let serial = in_mode(Scheduling::SERIAL);
    for scheduling in Scheduling::all() {
        assert!(in_mode(scheduling) == serial, "{scheduling:?}");
    }
    serial
}

#[test]
fn another_relationship_whose_targets_have_no_order() {
    fn add_up(mut nodes: AffineTree<(&Load, &mut Sum), (), PluggedInto>, root: Res<Root>) {
        nodes.fold([root.0], |_, (load, mut sum), below: &[u64]| {
            sum.0 = mix_slowly(load.0) % 100 + below.iter().sum::<u64>();
            sum.0
        });
    }
    let build = |world: &mut World| {
        let root = world.spawn((Load(0), Sum(0))).id();
        for load in 0..20 {
            let node = world.spawn((Load(load), Sum(0), PluggedInto(root))).id();
            (0..20).for_each(|load| _ = world.spawn((Load(load), Sum(0), PluggedInto(node))));
        }
        root
    };
    let sums = sums(build, add_up);
    let loads = |range: std::ops::Range<u64>| range.map(|load| mix_slowly(load) % 100).sum::<u64>();
    assert_eq!(sums[0], Sum(mix_slowly(0) % 100 + 21 * loads(0..20)));
}

#[test]
fn one_to_one() {
    fn count(mut nodes: AffineTree<&mut Sum, (), Follows>, root: Res<Root>) {
        nodes.propagate([(root.0, 0)], |before, _, mut sum| {
            sum.0 = before + 1;
            Some(sum.0)
        });
    }
    let build = |world: &mut World| {
        let root = world.spawn(Sum(0)).id();
        let mut last = root;
        (1..1000).for_each(|_| last = world.spawn((Sum(0), Follows(last))).id());
        root
    };
    assert!(sums(build, count).into_iter().eq((1..=1000).map(Sum)));
}

#[test]
fn filters_and_optional_data() {
    type IsNew = (Without<Off>, Changed<Load>);
    fn pass_on(mut nodes: AffineTree<(Option<&Load>, &mut Sum, Has<Children>), IsNew>, root: Res<Root>) {
        nodes.propagate([(root.0, 1)], |above, _, (load, mut sum, is_inner)| {
            sum.0 += above + mix_slowly(load.map_or(0, |load| load.0)) % 7;
            is_inner.then_some(sum.0)
        });
    }
    let build = |world: &mut World| {
        let root = world.spawn((Load(1), Sum(0))).id();
        for load in 0..300 {
            let mut child = world.spawn((Load(load), Sum(0), ChildOf(root)));
            if load % 3 == 0 {
                child.insert(Off);
            }
        }
        root
    };
    let sums = sums(build, pass_on);
    assert_eq!(sums.iter().filter(|sum| sum.0 == 0).count(), 100, "only the first call finds changes");
}

#[test]
#[should_panic(expected = "conflicts")]
fn data_that_another_parameter_writes() {
    fn conflict(_nodes: AffineTree<&mut Sum>, _sums: Query<&mut Sum>) {}
    let mut app = Scheduling::SERIAL.app();
    app.add_systems(Update, conflict.affine());
    app.update();
}

#[test]
fn an_untagged_system_walks_serially() {
    fn count(mut nodes: AffineTree<&mut Sum>, roots: Query<Entity, Without<ChildOf>>) {
        nodes.fold(roots, |_, mut sum, below: &[u64]| {
            sum.0 = 1 + below.iter().sum::<u64>();
            sum.0
        });
    }
    let mut app = Scheduling::heartbeat(3).app();
    let root = app.world_mut().spawn((Sum(0), children![Sum(0), (Sum(0), children![Sum(0)])])).id();
    app.add_systems(Update, count);
    app.update();
    assert_eq!(app.world().get::<Sum>(root), Some(&Sum(4)));
}
