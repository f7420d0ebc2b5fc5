//! What bevy_transform checks of its own systems, asked of ours.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bevy::{
    ecs::{
        relationship::RelationshipTarget,
        schedule::{InternedScheduleLabel, ScheduleLabel},
    },
    prelude::*,
};
use bevy_affinity::prelude::*;

use crate::common::Scheduling;

/// An app without Bevy's plugin, in each mode.
fn apps() -> impl Iterator<Item = App> {
    Scheduling::all().map(|scheduling| {
        let mut app = scheduling.app();
        app.add_plugins(AffineTransformPlugin);
        app
    })
}

/// The same without Bevy's mode, in which Bevy's own systems run.
fn apps_of_ours() -> impl Iterator<Item = App> {
    apps().filter(|app| *app.world().resource::<SchedulerMode>() != SchedulerMode::Bevy)
}

fn offset(offset: f32) -> Transform {
    Transform::from_xyz(offset, offset, offset)
}

fn global(app: &App, entity: Entity) -> GlobalTransform {
    *app.world().get(entity).expect("the entity has a place")
}

#[test]
fn a_transform_is_propagated_and_orphans_stand_alone() {
    for mut app in apps() {
        let root = app.world_mut().spawn(offset(3.3)).id();
        let parent = app.world_mut().spawn((offset(4.4), ChildOf(root))).id();
        let child = app.world_mut().spawn((offset(5.5), ChildOf(parent))).id();
        app.update();
        assert_eq!(global(&app, parent), offset(4.4 + 3.3).into());

        app.world_mut().entity_mut(parent).remove::<ChildOf>();
        app.update();
        assert_eq!(global(&app, parent), offset(4.4).into());
        assert_eq!(global(&app, child), GlobalTransform::from(offset(4.4)) * offset(5.5));

        app.world_mut().entity_mut(child).remove::<ChildOf>();
        app.update();
        assert_eq!(global(&app, child), offset(5.5).into());
    }
}

#[test]
fn siblings_and_lone_entities() {
    for mut app in apps() {
        let alone = app.world_mut().spawn(offset(1.0)).id();
        let parent = app.world_mut().spawn(Transform::from_xyz(1.0, 0.0, 0.0)).id();
        let children = [Transform::from_xyz(0.0, 2.0, 0.0), Transform::from_xyz(0.0, 0.0, 3.0)];
        let entities = children.map(|child| app.world_mut().spawn((child, ChildOf(parent))).id());
        app.update();
        assert_eq!(global(&app, alone), offset(1.0).into());
        for (child, entity) in children.into_iter().zip(entities) {
            assert_eq!(global(&app, entity), GlobalTransform::from_xyz(1.0, 0.0, 0.0) * child);
        }
    }
}

#[test]
fn children_that_move_to_a_sibling_and_go() {
    for mut app in apps() {
        let parent = app.world_mut().spawn(offset(1.0)).id();
        let [one, other] = [2.0, 3.0].map(|at| app.world_mut().spawn((offset(at), ChildOf(parent))).id());
        app.update();
        app.world_mut().entity_mut(other).add_child(one);
        app.update();
        assert_eq!(global(&app, one), offset(1.0 + 3.0 + 2.0).into());
        assert!(app.world_mut().despawn(one));
        app.update();
        assert_eq!(global(&app, other), offset(1.0 + 3.0).into());
    }
}

#[test]
fn reparenting_to_the_same_parent_changes_nothing() {
    for mut app in apps() {
        let [parent, child] = [1.0, 1.0].map(|at| app.world_mut().spawn(offset(at)).id());
        app.world_mut().entity_mut(parent).add_child(child);
        app.update();
        let before = [global(&app, parent), global(&app, child)];
        assert_eq!(before, [offset(1.0).into(), offset(2.0).into()]);
        app.world_mut().entity_mut(child).remove::<ChildOf>();
        app.world_mut().entity_mut(parent).add_child(child);
        app.update();
        assert_eq!([global(&app, parent), global(&app, child)], before);
    }
}

/// The index of what was despawned goes to what is spawned in the same frame.
#[test]
fn an_index_that_is_used_again_at_once() {
    for mut app in apps_of_ours() {
        let root = app.world_mut().spawn(offset(1.0)).id();
        let mut child = app.world_mut().spawn((offset(2.0), ChildOf(root))).id();
        app.update();
        for _ in 0..3 {
            assert!(app.world_mut().despawn(child));
            child = app.world_mut().spawn((offset(3.0), ChildOf(root))).id();
            app.update();
            assert_eq!(global(&app, child), offset(4.0).into());
        }
    }
}

#[test]
fn a_deep_chain() {
    for mut app in apps() {
        let mut last = app.world_mut().spawn(Transform::from_xyz(1.0, 0.0, 0.0)).id();
        for _ in 1..10_000 {
            last = app.world_mut().spawn((Transform::from_xyz(1.0, 0.0, 0.0), ChildOf(last))).id();
        }
        app.update();
        assert_eq!(global(&app, last).translation(), Vec3::new(10_000.0, 0.0, 0.0));
    }
}

/// As a cycle does, if it can be reached from a root. (Bevy's systems panic and then wait for each other for ever.)
#[test]
fn a_child_that_names_another_parent_panics() {
    for mut app in apps_of_ours() {
        let root = app.world_mut().spawn(offset(1.0)).id();
        let [child, other] = [1.0, 1.0].map(|at| app.world_mut().spawn((offset(at), ChildOf(root))).id());
        app.world_mut().spawn((offset(1.0), ChildOf(other)));
        let mut change = |entity, change: &dyn Fn(&mut Vec<Entity>)| {
            change(app.world_mut().get_mut::<Children>(entity).expect("it has children").collection_mut_risky());
        };
        change(root, &|children| children.retain(|&named| named != child));
        change(other, &|children| children.push(child));
        catch_unwind(AssertUnwindSafe(|| app.update())).expect_err("the hierarchy is malformed");
        assert_eq!(*app.world().get::<GlobalTransform>(child).expect("it has one"), GlobalTransform::IDENTITY);
    }
}

/// Bevy's plugin may come before or after, or not at all; its systems do not run beside ours.
#[test]
fn bevys_systems_are_replaced_whatever_the_order() {
    for scheduling in Scheduling::all() {
        for bevy_first in [true, false] {
            let mut app = scheduling.app();
            match bevy_first {
                true => app.add_plugins((TransformPlugin, AffineTransformPlugin)),
                false => app.add_plugins((AffineTransformPlugin, TransformPlugin)),
            };
            let entity = app.world_mut().spawn(offset(1.0)).id();
            app.update();
            assert_eq!(global(&app, entity), offset(1.0).into());
            for schedule in [PostStartup.intern(), PostUpdate.intern()] {
                let systems = systems_in(&app, schedule);
                assert_eq!(systems.len(), 6, "{scheduling:?}: {systems:?}");
            }
        }
    }
}

fn systems_in(app: &App, schedule: InternedScheduleLabel) -> Vec<String> {
    let schedule = app.get_schedule(schedule).expect("the schedule exists");
    schedule.systems().expect("it has run").map(|(_, system)| system.name().to_string()).collect()
}
