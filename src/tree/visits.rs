//! The contract with the ECS: the item of an entity, for the thread that has claimed it.

use bevy_ecs::{
    prelude::Entity,
    query::{IterQueryData, QueryFilter},
    relationship::{Relationship, RelationshipTarget},
};

use super::{
    TreeReport,
    claims::{NodeClaims, Rank, Threads},
};
use crate::{
    placement::Storage,
    sweep::{Missing, RowLookup, Sweep},
};

/// What is fetched of a node: the item for the closure, and whose parent it is.
pub(super) type Node<D, R> = (D, Option<&'static <R as Relationship>::RelationshipTarget>);

/// One call over a tree, as each walker of it sees it.
///
/// # Invariant (walk)
/// `claims` was begun for this call, and the call borrows the `AffineTree` mutably. Items are made
/// by [`Visits`] alone, for the thread whose claim of the entity succeeded, and passed to
/// closures that take items of any lifetime: so no two items of a row are alive at a time. Only the
/// relationship, which `D` cannot write, is handed on, by a shared reference.
pub(super) struct Walk<'w, 's, 'c, D: IterQueryData + 'static, F: QueryFilter + 'static, R: Relationship> {
    pub(super) sweep: Sweep<'w, 's, Node<D, R>, F>,
    pub(super) claims: &'c NodeClaims,
}

impl<D: IterQueryData + 'static, F: QueryFilter + 'static, R: Relationship> Clone for Walk<'_, '_, '_, D, F, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: IterQueryData + 'static, F: QueryFilter + 'static, R: Relationship> Copy for Walk<'_, '_, '_, D, F, R> {}

impl<'w, 's, 'c, D: IterQueryData + 'static, F: QueryFilter + 'static, R: Relationship> Walk<'w, 's, 'c, D, F, R> {
    pub(super) fn visits(&self, threads: Threads) -> Visits<'w, 's, 'c, D, F, R> {
        Visits { walk: *self, lookup: self.sweep.lookup(), threads, report: TreeReport::default() }
    }
}

/// One walker's visits.
pub(super) struct Visits<'w, 's, 'c, D: IterQueryData + 'static, F: QueryFilter + 'static, R: Relationship> {
    walk: Walk<'w, 's, 'c, D, F, R>,
    lookup: RowLookup<'w, 's, Node<D, R>, F>,
    threads: Threads,
    pub(super) report: TreeReport,
}

/// The children of a visited node, if it has any.
pub(super) type Target<'w, R> = Option<&'w <R as Relationship>::RelationshipTarget>;

/// The right to see the item of a node that was visited once more: there is one for each.
pub(super) struct ClaimedNode {
    pub(super) entity: Entity,
    storage: Storage,
    row: u32,
}

impl<'w, 's, D: IterQueryData + 'static, F: QueryFilter + 'static, R: Relationship> Visits<'w, 's, '_, D, F, R> {
    /// Calls `visit` with the item of an entity; `None` if it is not to be visited, which is
    /// counted.
    ///
    /// Called in one place of each walk, with roots and children alike, so that `visit` is inlined
    /// however long it is.
    #[inline(always)]
    pub(super) fn visit<V>(
        &mut self,
        entity: Entity,
        rank: Rank,
        visit: impl for<'i> FnOnce(D::Item<'i, 's>, Target<'w, R>) -> V,
    ) -> Option<(V, Target<'w, R>, ClaimedNode)> {
        let (storage, row) = match self.walk.sweep.rows.find(entity) {
            Ok(place) => place,
            Err(missing) => {
                self.report.count_missing(missing);
                return None;
            }
        };
        if !self.walk.claims.claim(entity.index_u32(), rank, self.threads) {
            self.report.repeated += 1;
            return None;
        }
        let claimed = ClaimedNode { entity, storage, row };
        let Some((item, target)) = self.item(&claimed) else {
            self.report.unmatched += 1;
            return None;
        };
        self.report.visited += 1;
        Some((visit(D::shrink(item), target), target, claimed))
    }

    /// Calls `visit` with the item of a node that was visited before.
    #[inline]
    pub(super) fn again<V>(
        &mut self,
        claimed: ClaimedNode,
        visit: impl for<'i> FnOnce(D::Item<'i, 's>) -> V,
    ) -> Option<V> {
        let (item, _) = self.item(&claimed)?;
        Some(visit(D::shrink(item)))
    }

    #[inline(always)]
    fn item(&mut self, claimed: &ClaimedNode) -> Option<(D::Item<'w, 's>, Target<'w, R>)> {
        // SAFETY: 'access' on `Sweep`; 'walk' on `Walk`: the row was claimed, and no item of it has
        // outlived its closure.
        unsafe { self.lookup.item(claimed.storage, claimed.row) }.map(|(item, ..)| item)
    }
}

impl TreeReport {
    #[cold]
    pub(super) fn count_missing(&mut self, missing: Missing) {
        match missing {
            Missing::Despawned => self.despawned += 1,
            Missing::Unmatched => self.unmatched += 1,
        }
    }
}

/// Whether a node names no children.
#[inline]
pub(super) fn is_leaf<R: Relationship>(target: Target<'_, R>) -> bool {
    target.is_none_or(|target| target.iter().next().is_none())
}

/// Adds the children that a node names, in the order of the relationship.
#[inline]
pub(super) fn push_children<R: Relationship>(children: &mut Vec<Entity>, target: Target<'_, R>) {
    if let Some(target) = target {
        children.extend(target.iter());
    }
}
