//! Hierarchies that somebody has edited by hand: `Children` and `ChildOf` say different things.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bevy::{ecs::relationship::RelationshipTarget, prelude::*};
use bevy_affinity::prelude::*;

use crate::common::{Scheduling, start_compute_threads};

/// Bevy's plugin alone first, then with ours in every mode.
fn apps() -> impl Iterator<Item = (String, App)> {
    start_compute_threads();
    let mut bevys = App::new();
    bevys.add_plugins(TransformPlugin);
    let ours = Scheduling::all().map(|scheduling| {
        let mut app = scheduling.app();
        app.add_plugins((TransformPlugin, AffinityTransformPlugin));
        (format!("{scheduling:?}"), app)
    });
    [("Bevy".to_owned(), bevys)].into_iter().chain(ours)
}

/// Those in which our systems run. (Bevy's panic in one thread, and the others may wait for it for
/// ever.)
fn apps_of_ours() -> impl Iterator<Item = (String, App)> {
    apps().skip(1).filter(|(_, app)| *app.world().resource::<SchedulerMode>() != SchedulerMode::Bevy)
}

fn spawn(app: &mut App, x: f32, parent: Option<Entity>) -> Entity {
    let mut entity = app.world_mut().spawn(Transform::from_xyz(x, 0.0, 0.0));
    if let Some(parent) = parent {
        entity.insert(ChildOf(parent));
    }
    entity.id()
}

/// Lets an entity that has children name one more.
fn name(app: &mut App, parent: Entity, child: Entity) {
    let mut children = app.world_mut().get_mut::<Children>(parent).expect("it has children");
    children.collection_mut_risky().push(child);
}

fn place_at(app: &mut App, entity: Entity, x: f32) {
    app.world_mut().get_mut::<Transform>(entity).expect("it has one").translation.x = x;
}

fn at(app: &App, entity: Entity) -> f32 {
    app.world().get::<GlobalTransform>(entity).expect("it has a place").translation().x
}

/// Earlier and later ones, so that whatever the order the root is sometimes met below another
/// first.
#[test]
fn roots_that_others_name_are_placed_as_roots() {
    for (case, mut app) in apps() {
        let trees: [_; 3] = std::array::from_fn(|tree| {
            let root = spawn(&mut app, 10.0 * tree as f32, None);
            let child = spawn(&mut app, 1.0, Some(root));
            (root, child, spawn(&mut app, 2.0, Some(child)))
        });
        let [(a, below_a, _), (b, ..), (c, below_c, _)] = trees;
        name(&mut app, a, b);
        name(&mut app, below_c, b);
        name(&mut app, below_a, c);
        name(&mut app, below_a, a);
        for shift in [0.0, 5.0] {
            trees
                .iter()
                .enumerate()
                .for_each(|(tree, &(root, ..))| place_at(&mut app, root, 10.0 * tree as f32 + shift));
            app.update();
            for (tree, &(root, child, grandchild)) in trees.iter().enumerate() {
                let x = 10.0 * tree as f32 + shift;
                assert_eq!(
                    [root, child, grandchild].map(|node| at(&app, node)),
                    [x, x + 1.0, x + 3.0],
                    "{case} {tree}"
                );
            }
        }
        // One that is not to be placed itself is not placed for who names it.
        place_at(&mut app, below_a, 2.0);
        app.update();
        assert_eq!((at(&app, below_a), at(&app, b)), (7.0, 15.0), "{case}");
    }
}

/// Who names it by hand has not moved, nor has the child: Bevy does not look at it there. Its own
/// parent has, and places it.
#[test]
fn a_child_that_another_names_is_placed_by_its_parent() {
    for by_hand_first in [true, false] {
        for (case, mut app) in apps() {
            let root = spawn(&mut app, 1.0, None);
            let [one, other] = [10.0, 20.0].map(|x| spawn(&mut app, x, Some(root)));
            let (parent, stranger) = if by_hand_first { (other, one) } else { (one, other) };
            let [child, _] = [parent, stranger].map(|above| spawn(&mut app, 100.0, Some(above)));
            let grandchild = spawn(&mut app, 1000.0, Some(child));
            app.update();
            name(&mut app, stranger, child);
            for x in [30.0, 40.0] {
                place_at(&mut app, parent, x);
                app.update();
                assert_eq!(
                    [child, grandchild].map(|node| at(&app, node)),
                    [x + 101.0, x + 1101.0],
                    "{case} {by_hand_first}"
                );
            }
        }
    }
}

/// If the child or who names it has moved, it is an error, whoever of the two is asked first.
#[test]
fn a_child_that_names_another_parent_panics() {
    for by_hand_first in [true, false] {
        for (case, mut app) in apps_of_ours() {
            let root = spawn(&mut app, 1.0, None);
            let [one, other] = [10.0, 20.0].map(|x| spawn(&mut app, x, Some(root)));
            let (parent, stranger) = if by_hand_first { (other, one) } else { (one, other) };
            let [child, _] = [parent, stranger].map(|above| spawn(&mut app, 100.0, Some(above)));
            app.update();
            name(&mut app, stranger, child);
            place_at(&mut app, stranger, 50.0);
            let payload = catch_unwind(AssertUnwindSafe(|| app.update())).expect_err(&case);
            let message = payload.downcast_ref::<String>().expect("a message");
            assert!(message.contains("names another parent"), "{case}: {message}");
            assert_eq!(
                at(&app, child),
                111.0 + if by_hand_first { 10.0 } else { 0.0 },
                "{case}: not placed by who is not its parent"
            );
        }
    }
}

#[test]
fn a_cycle_panics() {
    for (case, mut app) in apps_of_ours() {
        let root = spawn(&mut app, 1.0, None);
        let child = spawn(&mut app, 1.0, Some(root));
        let grandchild = spawn(&mut app, 1.0, Some(child));
        spawn(&mut app, 1.0, Some(grandchild));
        name(&mut app, grandchild, child);
        catch_unwind(AssertUnwindSafe(|| app.update())).expect_err(&case);
    }
}

/// Entities that are gone, that have no transform, or only half of one.
#[test]
fn names_of_nothing() {
    for (case, mut app) in apps() {
        let root = spawn(&mut app, 1.0, None);
        let child = spawn(&mut app, 1.0, Some(root));
        let gone = app.world_mut().spawn_empty().id();
        let bare = app.world_mut().spawn_empty().id();
        let half = app.world_mut().spawn(GlobalTransform::IDENTITY).id();
        [gone, bare, half].into_iter().for_each(|named| name(&mut app, root, named));
        app.world_mut().despawn(gone);
        app.update();
        assert_eq!((at(&app, child), at(&app, half)), (2.0, 0.0), "{case}");
    }
}
