//! From the roots to the leaves: each node sees what became of its parent.

use std::ops::Range;

use bevy_ecs::{
    prelude::Entity,
    query::{IterQueryData, QueryFilter},
    relationship::Relationship,
};

use super::{
    TreeReport,
    claims::{Rank, Threads},
    levels::Levels,
    shared_walk::{TreeCall, Walker},
    visits::{Visits, Walk},
};

/// The roots of a call, and what each gets in place of its parent's value.
pub(super) struct Roots<T> {
    pub(super) entities: Vec<Entity>,
    pub(super) values: Values<T>,
}

pub(super) enum Values<T> {
    /// In the order of the entities.
    Each(Vec<T>),
    /// The same for all.
    Same(T),
}

impl<T> Roots<T> {
    fn get(&self, index: usize) -> (Entity, &T) {
        let value = match &self.values {
            Values::Each(values) => &values[index],
            Values::Same(value) => value,
        };
        (self.entities[index], value)
    }
}

/// One call of `propagate`.
pub(super) struct Propagate<'w, 's, 'c, D: IterQueryData + 'static, F: QueryFilter + 'static, R: Relationship, T, G> {
    pub(super) walk: Walk<'w, 's, 'c, D, F, R>,
    pub(super) roots: &'c Roots<T>,
    pub(super) visit: G,
}

/// What a walker has still to do.
pub(super) struct Branches<T> {
    roots: Range<usize>,
    /// The nodes on the way down that have children left, or had some that were given away.
    levels: Levels<T>,
    pub(super) report: TreeReport,
}

impl<T> Branches<T> {
    pub(super) fn roots(roots: Range<usize>) -> Self {
        Self { roots, levels: Levels::default(), report: TreeReport::default() }
    }

    fn below(value: T, children: Vec<Entity>) -> Self {
        Self { levels: Levels::of(value, children), ..Self::roots(0..0) }
    }

    /// Half of the roots; all of them if there is other work.
    fn split_roots(&mut self) -> Option<Self> {
        let half = if self.levels.has_next() { self.roots.len().div_ceil(2) } else { self.roots.len() / 2 };
        let middle = self.roots.end - half;
        let far = middle..std::mem::replace(&mut self.roots.end, middle);
        (half > 0).then(|| Self::roots(far))
    }

    fn split_highest(&mut self) -> Option<Self>
    where
        T: Clone,
    {
        let half = self.levels.split_highest()?;
        Some(Self::below(half.parent.clone(), half.children))
    }
}

impl<'s, D, F, R, T, G> TreeCall for Propagate<'_, 's, '_, D, F, R, T, G>
where
    D: IterQueryData + 'static,
    F: QueryFilter + 'static,
    R: Relationship,
    T: Clone + Send + Sync,
    G: for<'i> Fn(&T, Entity, D::Item<'i, 's>) -> Option<T> + Sync,
{
    type Part = Branches<T>;
    type Walker<'a>
        = Propagator<'a, 's, D, F, R, T, G>
    where
        Self: 'a;

    fn walker(&self, part: Branches<T>, threads: Threads) -> Self::Walker<'_> {
        Propagator { roots: self.roots, visit: &self.visit, visits: self.walk.visits(threads), left: part }
    }
}

/// One walker of a `propagate`.
pub(super) struct Propagator<'a, 's, D: IterQueryData + 'static, F: QueryFilter + 'static, R: Relationship, T, G> {
    roots: &'a Roots<T>,
    visit: &'a G,
    visits: Visits<'a, 's, 'a, D, F, R>,
    left: Branches<T>,
}

impl<'s, D, F, R, T, G> Propagator<'_, 's, D, F, R, T, G>
where
    D: IterQueryData + 'static,
    F: QueryFilter + 'static,
    R: Relationship,
    G: for<'i> Fn(&T, Entity, D::Item<'i, 's>) -> Option<T>,
{
    /// Visits the next child of the lowest level, or the next root; false if there is neither.
    #[inline(always)]
    fn visit_next(&mut self) -> bool {
        let Self { roots, visit, visits, left } = self;
        let (entity, value, rank, is_last) = if let Some(child) = left.levels.next_child() {
            (child.entity, child.parent, Rank::Child, child.is_last)
        } else if let Some(root) = left.roots.next() {
            let (root, value) = roots.get(root);
            (root, value, Rank::Root, false)
        } else {
            return false;
        };
        let node = visits.visit(entity, rank, |item, _| visit(value, entity, item));
        if is_last {
            // Before a level is added below: a chain takes no more room than one level.
            left.levels.ascend();
        }
        if let Some((Some(value), children, _)) = node {
            left.levels.descend::<R>(value, children);
        }
        true
    }
}

impl<'s, D, F, R, T, G> Walker for Propagator<'_, 's, D, F, R, T, G>
where
    D: IterQueryData + 'static,
    F: QueryFilter + 'static,
    R: Relationship,
    T: Clone,
    G: for<'i> Fn(&T, Entity, D::Item<'i, 's>) -> Option<T>,
{
    type Part = Branches<T>;

    #[inline]
    fn advance(&mut self, nodes: u32) -> bool {
        (0..nodes).any(|_| !self.visit_next())
    }

    fn split(&mut self) -> Option<Branches<T>> {
        self.left.split_roots().or_else(|| self.left.split_highest())
    }

    fn absorb(&mut self, done: Branches<T>) {
        self.visits.report += done.report;
    }

    fn into_part(self) -> Branches<T> {
        Branches { report: self.left.report + self.visits.report, ..self.left }
    }
}
