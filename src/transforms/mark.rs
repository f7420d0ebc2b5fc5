//! Marking the way from each changed transform up to its root.

use std::{
    mem::take,
    ops::{Deref, DerefMut},
    sync::Mutex,
};

use bevy_ecs::{
    change_detection::DetectChangesMut,
    entity::Entities,
    prelude::{Added, Changed, ChildOf, Entity, Local, Or, ParamSet, Query, RemovedComponents, Res},
};
use bevy_transform::{
    components::{GlobalTransform, Transform, TransformTreeChanged},
    systems::StaticTransformOptimizations,
};

use crate::{query::AffineQuery, sync::lock};

type Node = (Entity, Option<&'static ChildOf>, Option<&'static mut TransformTreeChanged>);
type IsDirty = Or<(Changed<Transform>, Changed<ChildOf>, Added<GlobalTransform>)>;

/// Marks each entity whose place may have changed, and all its ancestors.
///
/// A worker marks the rows that it sweeps on the spot, and notes the ancestors: other workers could
/// be at those.
pub(super) fn mark_dirty_trees(
    mut nodes: ParamSet<(AffineQuery<Node, IsDirty>, Query<&mut TransformTreeChanged>)>,
    mut orphans: RemovedComponents<ChildOf>,
    parents: Query<&ChildOf>,
    entities: &Entities,
    optimizations: Res<StaticTransformOptimizations>,
    climbs: Local<Climbs>,
) {
    if !optimizations.is_enabled() {
        return;
    }
    nodes.p0().par_iter_mut().for_each_init(
        || climbs.lend(),
        |climb, (entity, child_of, tree)| {
            if let Some(mut tree) = tree {
                tree.set_changed();
            }
            if climb.is_first(entity)
                && let Some(child_of) = child_of
            {
                climb.ascend(child_of.parent(), &parents, entities);
            }
        },
    );
    let mut trees = nodes.p1();
    let mut mark = |entity| {
        if let Ok(mut tree) = trees.get_mut(entity) {
            tree.set_changed();
        }
    };
    // An orphan has no ancestors, unless it has a new parent: then it was swept.
    orphans.read().for_each(&mut mark);
    climbs.finish(mark);
}

/// One worker's climbs from dirty entities towards the roots.
#[derive(Default)]
struct Climb {
    /// A bit for each entity index: whether this worker has been there.
    seen: Vec<u64>,
    /// The entities that it came by on its way up.
    ancestors: Vec<Entity>,
}

impl Climb {
    /// Whether this worker comes to `entity` for the first time.
    #[inline]
    fn is_first(&mut self, entity: Entity) -> bool {
        let index = entity.index_u32() as usize;
        let (word, bit) = (index / 64, 1 << (index % 64));
        if word >= self.seen.len() {
            self.seen.resize(word + 1, 0);
        }
        let is_first = self.seen[word] & bit == 0;
        self.seen[word] |= bit;
        is_first
    }

    #[inline]
    fn has_seen(&self, entity: Entity) -> bool {
        let index = entity.index_u32() as usize;
        self.seen.get(index / 64).is_some_and(|word| word & 1 << (index % 64) != 0)
    }

    /// Goes on from `entity` to its root, or to where this worker has been.
    #[inline]
    fn ascend(&mut self, entity: Entity, parents: &Query<&ChildOf>, entities: &Entities) {
        let mut next = Some(entity);
        while let Some(entity) = next.filter(|&entity| !self.has_seen(entity)) {
            // An entity that is gone has left its index to another one.
            if !entities.contains_spawned(entity) {
                return;
            }
            self.is_first(entity);
            self.ancestors.push(entity);
            next = parents.get(entity).ok().map(ChildOf::parent);
        }
    }
}

/// The memory for climbs, kept from frame to frame.
#[derive(Default)]
pub(super) struct Climbs(Mutex<Vec<Climb>>);

impl Climbs {
    fn lend(&self) -> Lent<'_> {
        let climb = lock(&self.0).pop();
        Lent { climbs: self, climb: climb.unwrap_or_default() }
    }

    /// Calls `mark` with all that was noted, and forgets it.
    fn finish(&self, mut mark: impl FnMut(Entity)) {
        for climb in lock(&self.0).iter_mut() {
            climb.ancestors.drain(..).for_each(&mut mark);
            climb.seen.fill(0);
        }
    }
}

/// A climb that goes back when it is dropped. What it has seen stays for the next climb.
struct Lent<'a> {
    climbs: &'a Climbs,
    climb: Climb,
}

impl Deref for Lent<'_> {
    type Target = Climb;

    fn deref(&self) -> &Climb {
        &self.climb
    }
}

impl DerefMut for Lent<'_> {
    fn deref_mut(&mut self) -> &mut Climb {
        &mut self.climb
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        lock(&self.climbs.0).push(take(&mut self.climb));
    }
}
