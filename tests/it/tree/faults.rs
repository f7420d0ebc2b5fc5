//! Panics in closures: the caller gets the payload, and the tree can be walked again.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::{common::Scheduling, mix::mix_slowly};

#[derive(Component)]
struct Bad(bool);

#[derive(Component, Default)]
struct Count(u64);

#[derive(Resource, Default)]
struct Messages(Vec<String>);

fn message(walk: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(walk)).expect_err("the closure panics");
    payload.downcast_ref::<String>().cloned().expect("a message")
}

fn visit(entity: Entity, bad: &Bad, count: &mut Count) {
    count.0 += mix_slowly(entity.to_bits()) % 2 + 1;
    if bad.0 {
        panic!("node {}", entity.index());
    }
}

/// Values are dropped wherever a walk ends, so they own something.
fn walk_into_panics(
    mut nodes: AffineTree<(&Bad, &mut Count)>,
    roots: Query<Entity, Without<ChildOf>>,
    mut messages: ResMut<Messages>,
) {
    messages.0.push(message(|| {
        nodes.propagate(roots.iter().map(|root| (root, vec![root])), |above, entity, (bad, mut count)| {
            visit(entity, bad, &mut count);
            Some(above.iter().copied().chain([entity]).collect())
        });
    }));
    messages.0.push(message(|| {
        nodes.fold(roots, |entity, (bad, mut count), below: &[Vec<Entity>]| {
            visit(entity, bad, &mut count);
            below.iter().flatten().copied().chain([entity]).collect()
        });
    }));
}

fn walk_on(mut nodes: AffineTree<&mut Count>, roots: Query<Entity, Without<ChildOf>>) {
    nodes.propagate(roots.iter().map(|root| (root, ())), |(), _, mut count| {
        count.0 = 0;
        Some(())
    });
}

#[test]
fn a_panic_reaches_the_caller_and_the_tree_is_whole() {
    for scheduling in Scheduling::all() {
        let mut app = scheduling.app();
        app.init_resource::<Messages>().add_systems(Update, (walk_into_panics, walk_on).affine().chain());
        let world = app.world_mut();
        let mut nodes = vec![world.spawn((Bad(false), Count(0))).id()];
        for node in 1..2000 {
            let parent = ChildOf(nodes[node / 3]);
            nodes.push(world.spawn((Bad(node == 1500), Count(0), parent)).id());
        }
        for _ in 0..5 {
            app.update();
        }
        let expected = format!("node {}", nodes[1500].index());
        assert_eq!(app.world().resource::<Messages>().0, vec![expected; 10], "{scheduling:?}");
        let mut counts = app.world_mut().query::<&Count>();
        assert!(counts.iter(app.world()).all(|count| count.0 == 0), "{scheduling:?}");
    }
}
