//! Hierarchies that Bevy would not make: every entity is visited once at most, and what is skipped
//! is counted.

use std::sync::atomic::{AtomicU64, Ordering};

use bevy::{ecs::relationship::RelationshipTarget, prelude::*};
use bevy_affinity::{TreeReport, prelude::*};

use crate::{common::Scheduling, mix::mix_slowly};

/// How often an entity was visited on the way down and on the way up.
#[derive(Component, Default, Debug, PartialEq)]
struct Visited {
    down: u32,
    up: u32,
}

#[derive(Resource)]
struct Roots(Vec<Entity>);

#[derive(Resource, Default)]
struct Reports([TreeReport; 2]);

fn visit(mut nodes: AffineTree<&mut Visited>, roots: Res<Roots>, mut reports: ResMut<Reports>) {
    let sum = AtomicU64::new(0);
    let down = nodes.propagate(roots.0.iter().map(|&root| (root, ())), |(), entity, mut visited| {
        sum.fetch_add(mix_slowly(entity.to_bits()), Ordering::Relaxed);
        visited.down += 1;
        Some(())
    });
    let up = nodes.fold(roots.0.iter().copied(), |entity, mut visited, _: &[()]| {
        sum.fetch_add(mix_slowly(entity.to_bits()), Ordering::Relaxed);
        visited.up += 1;
    });
    reports.0 = [down, up.report];
}

/// Visits what `build` makes from the roots that it returns, in all modes. Some frames, since each
/// is a race.
fn check(build: impl Fn(&mut World) -> Vec<Entity>, expected: TreeReport) {
    for scheduling in Scheduling::all() {
        let mut app = scheduling.app();
        let roots = build(app.world_mut());
        app.insert_resource(Roots(roots)).init_resource::<Reports>().add_systems(Update, visit.affine());
        for frame in 1..=5 {
            app.update();
            assert_eq!(app.world().resource::<Reports>().0, [expected; 2], "{scheduling:?}");
            let mut visited = app.world_mut().query::<&Visited>();
            let times: u64 = visited.iter(app.world()).map(|visited| u64::from(visited.down + visited.up)).sum();
            let most = visited.iter(app.world()).map(|visited| visited.down.max(visited.up)).max();
            assert_eq!((times, most), (2 * frame * expected.visited, Some(frame as u32)), "{scheduling:?}");
        }
    }
}

fn name_child(world: &mut World, parent: Entity, child: Entity) {
    let mut children = world.get_mut::<Children>(parent).expect("the parent has children");
    children.collection_mut_risky().push(child);
}

/// A root with many children.
fn family(world: &mut World, size: usize) -> (Entity, Vec<Entity>) {
    let root = world.spawn(Visited::default()).id();
    let children = (0..size).map(|_| world.spawn((Visited::default(), ChildOf(root))).id()).collect();
    (root, children)
}

#[test]
fn an_entity_that_is_named_twice() {
    let build = |world: &mut World| {
        let (root, children) = family(world, 500);
        children.iter().for_each(|child| name_child(world, root, *child));
        vec![root]
    };
    check(build, TreeReport { visited: 501, repeated: 500, ..default() });
}

#[test]
fn entities_with_two_parents() {
    let build = |world: &mut World| {
        let ((one, children), (other, others)) = (family(world, 500), family(world, 500));
        children.iter().for_each(|child| name_child(world, other, *child));
        others.iter().for_each(|child| name_child(world, one, *child));
        vec![one, other]
    };
    check(build, TreeReport { visited: 1002, repeated: 1000, ..default() });
}

#[test]
fn cycles() {
    let build = |world: &mut World| {
        let (root, children) = family(world, 300);
        for child in children {
            let grandchild = world.spawn((Visited::default(), ChildOf(child))).id();
            world.spawn((Visited::default(), ChildOf(grandchild)));
            name_child(world, grandchild, child);
            name_child(world, grandchild, root);
        }
        vec![root]
    };
    check(build, TreeReport { visited: 901, repeated: 600, ..default() });
}

#[test]
fn dangling_children_and_roots() {
    let build = |world: &mut World| {
        let (root, _) = family(world, 300);
        let gone = world.spawn_empty().id();
        world.despawn(gone);
        // The new entity has the index of the old one.
        let (other, _) = family(world, 1);
        name_child(world, root, gone);
        name_child(world, root, Entity::from_raw_u32(1_000_000).expect("a valid index"));
        vec![root, other, gone]
    };
    check(build, TreeReport { visited: 303, despawned: 3, ..default() });
}

#[test]
fn roots_below_roots_and_roots_named_twice() {
    let build = |world: &mut World| {
        let (root, children) = family(world, 300);
        let below = world.spawn((Visited::default(), ChildOf(children[7]))).id();
        vec![children[7], root, children[200], root, below]
    };
    check(build, TreeReport { visited: 302, repeated: 4, ..default() });
}

#[test]
fn entities_that_do_not_match_are_left_out_with_all_below() {
    let build = |world: &mut World| {
        let (root, children) = family(world, 300);
        world.spawn((Visited::default(), ChildOf(children[0])));
        world.entity_mut(children[0]).remove::<Visited>();
        let other = world.spawn_empty().id();
        vec![root, other]
    };
    check(build, TreeReport { visited: 300, unmatched: 2, ..default() });
}
