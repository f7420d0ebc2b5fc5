//! Placing entities: those in a tree by their parents, the others by themselves.

use bevy_ecs::{
    change_detection::{DetectChanges, DetectChangesMut},
    entity::EntityHashSet,
    prelude::{
        Added, Changed, ChildOf, Children, Entity, Mut, Or, ParamSet, Query, Ref, RemovedComponents, Res, With, Without,
    },
    query::QueryData,
};
use bevy_transform::{
    components::{GlobalTransform, Transform, TransformTreeChanged},
    systems::StaticTransformOptimizations,
};

use crate::{query::AffineQuery, tree::AffineTree};

/// Where an entity is, as its children see it.
#[derive(Clone)]
struct Place {
    entity: Entity,
    global: GlobalTransform,
    /// Whether children have to be placed anew that are not marked themselves.
    changed: bool,
}

type Node = (
    Ref<'static, Transform>,
    &'static mut GlobalTransform,
    Ref<'static, TransformTreeChanged>,
    Option<&'static ChildOf>,
);

type NodeItem<'w, 's> = <Node as QueryData>::Item<'w, 's>;

type IsRoot = (Without<ChildOf>, With<Children>, With<Transform>, With<GlobalTransform>);

/// All others are placed by themselves, as in Bevy: systems that are only about these may run
/// beside this one.
type IsInTree = Or<(With<ChildOf>, With<Children>)>;

/// Places the trees that were marked, from their roots down.
pub(super) fn propagate_parent_transforms(
    mut nodes: AffineTree<Node, IsInTree>,
    roots: Query<(Entity, Ref<TransformTreeChanged>), IsRoot>,
    optimizations: Res<StaticTransformOptimizations>,
) {
    let skip_unmarked = optimizations.is_enabled();
    let marked = || {
        let marked = roots.iter().filter(|(_, tree)| !skip_unmarked || tree.is_changed());
        marked.map(|(root, _)| root).collect::<Vec<_>>()
    };
    let met = nodes.propagate_from_tops(marked(), None, |parent: &Option<Place>, entity, node| {
        place(parent.as_ref(), entity, node, skip_unmarked).map(Some)
    });
    if met.repeated > 0 {
        place_one_by_one(&mut nodes.nodes(), marked(), skip_unmarked);
    }
}

/// Places what the walk has missed, if several entities name the same child: a user has edited
/// [`Children`] by hand.
///
/// The walk visits a node once, for the first that comes by, and that may be one that does not
/// place it. Here all who name it are asked, as Bevy asks them: each places it, or leaves it, or
/// panics. What has been placed stays as it is. This takes longer, on one thread.
fn place_one_by_one(nodes: &mut Query<(Node, Option<&Children>), IsInTree>, roots: Vec<Entity>, skip_unmarked: bool) {
    let mut descended = EntityHashSet::new();
    let mut left: Vec<_> = roots.into_iter().map(|root| (root, None)).collect();
    while let Some((entity, parent)) = left.pop() {
        if let Ok((node, children)) = nodes.get_mut(entity)
            && let Some(placed) = place(parent.as_ref(), entity, node, skip_unmarked)
            && let Some(children) = children
            // Unless its parent names it twice.
            && descended.insert(entity)
        {
            left.extend(children.iter().map(|&child| (child, Some(placed.clone()))));
        }
    }
}

/// Places a node below `parent`, or as a root. `None` if neither it nor what is below changes.
#[inline]
fn place(
    parent: Option<&Place>,
    entity: Entity,
    (transform, global, tree, child_of): NodeItem,
    skip_unmarked: bool,
) -> Option<Place> {
    match (parent, child_of) {
        (Some(parent), Some(child_of)) => {
            if skip_unmarked && !tree.is_changed() && !parent.changed {
                return None;
            }
            parent.check(entity, child_of);
            Some(place_child(parent, entity, &transform, global))
        }
        (None, _) => Some(place_root(entity, &transform, global)),
        // A root that is named by hand: it is placed as the root that it is.
        (Some(_), None) => None,
    }
}

impl Place {
    #[inline]
    fn check(&self, child: Entity, child_of: &ChildOf) {
        let (parent, named) = (self.entity, child_of.parent());
        assert!(
            named == parent,
            "{child} is a child of {parent} but names another parent, {named}: a relationship was edited by hand, or makes a cycle"
        );
    }
}

fn place_root(entity: Entity, transform: &Transform, mut global: Mut<GlobalTransform>) -> Place {
    *global = GlobalTransform::from(*transform);
    Place { entity, global: *global, changed: true }
}

#[inline]
fn place_child(parent: &Place, entity: Entity, transform: &Transform, mut global: Mut<GlobalTransform>) -> Place {
    global.set_if_neq(parent.global.mul_transform(*transform));
    Place { entity, global: *global, changed: global.is_changed() }
}

type Lone = (&'static Transform, &'static mut GlobalTransform);
type LoneOrphan<'w> = (Ref<'w, Transform>, &'static mut GlobalTransform);
type IsAlone = (Without<ChildOf>, Without<Children>);
type IsAloneAndMoved = (Or<(Changed<Transform>, Added<GlobalTransform>)>, IsAlone);

/// Places the entities that are in no tree.
pub(super) fn sync_simple_transforms(
    mut nodes: ParamSet<(AffineQuery<Lone, IsAloneAndMoved>, Query<LoneOrphan, IsAlone>)>,
    mut orphans: RemovedComponents<ChildOf>,
) {
    let place = |(transform, mut global): (&Transform, Mut<GlobalTransform>)| {
        *global = GlobalTransform::from(*transform);
    };
    nodes.p0().par_iter_mut().for_each(place);
    let mut nodes = nodes.p1();
    let mut orphans = nodes.iter_many_mut(orphans.read()).matched();
    while let Some((transform, mut global)) = orphans.fetch_next() {
        if !transform.is_changed() && !global.is_added() {
            *global = GlobalTransform::from(*transform);
        }
    }
}
