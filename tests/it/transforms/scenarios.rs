//! What bevy_transform checks of its own systems, asked of ours.

use bevy::{
    ecs::{schedule::ScheduleLabel, system::SystemState},
    prelude::*,
    transform::{
        helper::TransformHelper,
        systems::{mark_dirty_trees, propagate_parent_transforms, sync_simple_transforms},
    },
};
use bevy_affinity::prelude::*;

use crate::common::Scheduling;

/// An app without Bevy's plugin, in each mode.
fn apps() -> impl Iterator<Item = App> {
    Scheduling::all().map(|scheduling| {
        let mut app = scheduling.app();
        app.add_plugins(AffinityTransformPlugin);
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

/// Enough of them that Bevy, which had it wrong once, passes them between threads.
#[test]
fn many_indices_that_are_used_again_at_once() {
    const ROOTS: usize = 256;
    const CHILDREN: usize = 8;

    fn spawn_children(app: &mut App, roots: &[Entity]) -> Vec<Entity> {
        let nodes = roots.iter().flat_map(|&root| (0..CHILDREN).map(move |child| (root, child)));
        nodes.map(|(root, child)| app.world_mut().spawn((offset(1.0 + child as f32), ChildOf(root))).id()).collect()
    }

    for mut app in apps() {
        let roots: Vec<_> = (0..ROOTS).map(|root| app.world_mut().spawn(offset(10.0 + root as f32)).id()).collect();
        let old = spawn_children(&mut app, &roots);
        app.update();
        old.into_iter().for_each(|child| _ = app.world_mut().despawn(child));
        let new = spawn_children(&mut app, &roots);
        app.update();
        for (index, child) in new.into_iter().enumerate() {
            let expected = GlobalTransform::from(offset(10.0 + (index / CHILDREN) as f32));
            assert_eq!(global(&app, child), expected * offset(1.0 + (index % CHILDREN) as f32));
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

/// Spawned by commands, as most entities are; the transforms come with what is required.
#[test]
fn entities_that_systems_spawn() {
    #[derive(Resource)]
    struct Spawned([Entity; 3]);
    fn spawn(mut commands: Commands) {
        let parent = commands.spawn(Transform::from_xyz(1.0, 0.0, 0.0)).id();
        let [one, other] =
            [Vec3::Y, Vec3::Z].map(|at| commands.spawn((Transform::from_translation(at), ChildOf(parent))).id());
        commands.insert_resource(Spawned([parent, one, other]));
    }
    for schedule in [Startup.intern(), Update.intern(), PreUpdate.intern()] {
        for mut app in apps() {
            app.add_systems(schedule, spawn);
            app.update();
            let Spawned(entities) = *app.world().resource();
            let places = entities.map(|entity| global(&app, entity).translation());
            assert_eq!(places, [Vec3::X, Vec3::X + Vec3::Y, Vec3::X + Vec3::Z]);
        }
    }
}

/// And the lists of children are what the commands say.
#[test]
fn identities_below_a_parent_are_where_it_is() {
    for mut app in apps() {
        let mut below = Vec::new();
        let parent = app
            .world_mut()
            .spawn(Transform::from_xyz(1.0, 0.0, 0.0))
            .with_children(|children| {
                let mut child = children.spawn(Transform::IDENTITY);
                below.push(child.id());
                child.with_child(Transform::IDENTITY);
            })
            .id();
        for _ in 0..2 {
            app.update();
            let world = app.world_mut();
            assert_eq!(**world.get::<Children>(parent).expect("it has a child"), *below);
            let places: Vec<_> = world.query::<&GlobalTransform>().iter(world).copied().collect();
            assert_eq!(places, [GlobalTransform::from_xyz(1.0, 0.0, 0.0); 3]);
        }
    }
}

/// What `TransformHelper` computes from the transforms above an entity was propagated to it.
#[test]
fn the_helper_agrees() {
    for mut app in apps() {
        let mut parent = None;
        for level in 0..6_u8 {
            let angle = std::f32::consts::FRAC_PI_6 * f32::from(level);
            let transform = Transform::from_xyz(f32::from(level), 1.0, -1.0)
                .with_rotation(Quat::from_euler(EulerRot::YZX, angle, 0.5, -angle))
                .with_scale(Vec3::new(2.0, 0.5, 1.5));
            let mut entity = app.world_mut().spawn(transform);
            if let Some(parent) = parent {
                entity.insert(ChildOf(parent));
            }
            let entity = entity.id();
            app.update();
            let propagated = global(&app, entity);
            let mut helper = SystemState::<TransformHelper>::new(app.world_mut());
            let computed = helper.get(app.world()).expect("it reads components only").compute_global_transform(entity);
            assert!(propagated.affine().abs_diff_eq(computed.expect("all have transforms").affine(), 1e-4));
            parent = Some(entity);
        }
    }
}

/// In every mode, when the mode is another one for each of the systems.
#[test]
fn the_mode_may_change_between_the_systems() {
    #[derive(Resource)]
    struct Next(usize);
    fn change(mut mode: ResMut<SchedulerMode>, mut next: ResMut<Next>) {
        *mode = SchedulerMode::ALL[next.0 % SchedulerMode::ALL.len()];
        next.0 += 1;
    }
    fn step(mut moving: Query<&mut Transform>) {
        moving.iter_mut().for_each(|mut transform| transform.translation.x += 1.0);
    }
    fn check(placed: Query<(&Transform, &GlobalTransform, Has<ChildOf>)>) {
        for (local, global, is_child) in &placed {
            let above = if is_child { local.translation.x } else { 0.0 };
            assert_eq!(global.translation().x, local.translation.x + above);
        }
    }
    for mut app in apps() {
        app.insert_resource(Next(0)).add_systems(Update, (change, step)).add_systems(Last, (check, change));
        app.add_systems(
            PostUpdate,
            (
                change.before(mark_dirty_trees),
                change.after(mark_dirty_trees).before(propagate_parent_transforms),
                change.after(propagate_parent_transforms).before(sync_simple_transforms),
            ),
        );
        for _ in 0..20 {
            app.world_mut().spawn((Transform::default(), children![Transform::default()]));
            app.world_mut().spawn(Transform::default());
        }
        for _ in 0..40 {
            app.update();
        }
    }
}
