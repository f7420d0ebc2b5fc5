//! From the leaves to the roots: each node sees what became of its children.

use std::marker::PhantomData;

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
    visits::{ClaimedNode, Visits, Walk, is_leaf},
};

/// One call of `fold`.
pub(super) struct Fold<'w, 's, 'c, D: IterQueryData + 'static, F: QueryFilter + 'static, R: Relationship, T, G> {
    pub(super) walk: Walk<'w, 's, 'c, D, F, R>,
    pub(super) visit: G,
    pub(super) value: PhantomData<fn() -> T>,
}

/// What a walker has still to do, and the values of what it has done.
pub(super) struct Sums<T> {
    /// The first level stands for who wants the values of this part.
    levels: Levels<Begun>,
    /// The depths of levels in which a part was split off that is not back: the walk ends where the
    /// last one has no more children.
    open: Vec<usize>,
    /// The values of nodes that are done, for parents that are not, in the order of the
    /// relationship.
    pub(super) values: Vec<T>,
    /// Whether the first level's children are roots.
    of_roots: bool,
    /// The roots that are done, in the order of their values.
    pub(super) roots: Vec<Entity>,
    pub(super) report: TreeReport,
}

/// A node that is visited when its children are done; none in the first level.
struct Begun {
    node: Option<ClaimedNode>,
    /// Where its children's values begin.
    values: usize,
}

impl<T> Sums<T> {
    pub(super) fn of_roots(roots: Vec<Entity>) -> Self {
        Self { of_roots: true, ..Self::of(roots) }
    }

    fn of(children: Vec<Entity>) -> Self {
        Self {
            levels: Levels::of(Begun { node: None, values: 0 }, children),
            open: Vec::new(),
            values: Vec::new(),
            of_roots: false,
            roots: Vec::new(),
            report: TreeReport::default(),
        }
    }

    #[inline]
    fn in_roots(&self) -> bool {
        self.of_roots && self.levels.depth() == 1
    }

    /// Whether the walk ends when the lowest level has no more children.
    #[inline]
    fn is_lowest_last(&self) -> bool {
        self.levels.depth() == self.open.last().map_or(1, |depth| depth + 1)
    }

    /// Takes over the value of a node, a child of the lowest level.
    #[inline]
    fn add(&mut self, entity: Entity, value: T) {
        if self.in_roots() {
            self.roots.push(entity);
        }
        self.values.push(value);
    }

    fn split_highest(&mut self) -> Option<Self> {
        let half = self.levels.split_highest()?;
        self.open.push(half.depth);
        Some(Self { of_roots: self.of_roots && half.depth == 0, ..Self::of(half.children) })
    }
}

impl<'s, D, F, R, T, G> TreeCall for Fold<'_, 's, '_, D, F, R, T, G>
where
    D: IterQueryData + 'static,
    F: QueryFilter + 'static,
    R: Relationship,
    T: Send,
    G: for<'i> Fn(Entity, D::Item<'i, 's>, &[T]) -> T + Sync,
{
    type Part = Sums<T>;
    type Walker<'a>
        = Folder<'a, 's, D, F, R, T, G>
    where
        Self: 'a;

    fn walker(&self, part: Sums<T>, threads: Threads) -> Self::Walker<'_> {
        Folder { visit: &self.visit, visits: self.walk.visits(threads), sums: part }
    }
}

/// One walker of a `fold`.
pub(super) struct Folder<'a, 's, D: IterQueryData + 'static, F: QueryFilter + 'static, R: Relationship, T, G> {
    visit: &'a G,
    visits: Visits<'a, 's, 'a, D, F, R>,
    sums: Sums<T>,
}

impl<'s, D, F, R, T, G> Folder<'_, 's, D, F, R, T, G>
where
    D: IterQueryData + 'static,
    F: QueryFilter + 'static,
    R: Relationship,
    G: for<'i> Fn(Entity, D::Item<'i, 's>, &[T]) -> T,
{
    /// Finishes a leaf, or begins the level below a node.
    #[inline]
    fn begin(&mut self, entity: Entity) {
        let Self { visit, visits, sums } = self;
        let visit_leaf = |item: D::Item<'_, 's>, children| is_leaf::<R>(children).then(|| visit(entity, item, &[]));
        let rank = if sums.in_roots() { Rank::Root } else { Rank::Child };
        match visits.visit(entity, rank, visit_leaf) {
            Some((Some(value), _, _)) => sums.add(entity, value),
            Some((None, children, node)) => {
                sums.levels.descend::<R>(Begun { node: Some(node), values: sums.values.len() }, children);
            }
            None => {}
        }
    }

    /// Finishes the node of the lowest level, whose children are done.
    #[inline]
    fn finish(&mut self) {
        let Self { visit, visits, sums } = self;
        let Some(Begun { node: Some(node), values }) = sums.levels.ascend() else { return };
        let entity = node.entity;
        let value = visits.again(node, |item| visit(entity, item, &sums.values[values..]));
        sums.values.truncate(values);
        if let Some(value) = value {
            sums.add(entity, value);
        }
    }
}

impl<'s, D, F, R, T, G> Walker for Folder<'_, 's, D, F, R, T, G>
where
    D: IterQueryData + 'static,
    F: QueryFilter + 'static,
    R: Relationship,
    G: for<'i> Fn(Entity, D::Item<'i, 's>, &[T]) -> T,
{
    type Part = Sums<T>;

    #[inline]
    fn advance(&mut self, nodes: u32) -> bool {
        for _ in 0..nodes {
            match self.sums.levels.next_child().map(|child| child.entity) {
                Some(child) => self.begin(child),
                None if self.sums.is_lowest_last() => return true,
                None => self.finish(),
            }
        }
        false
    }

    fn split(&mut self) -> Option<Sums<T>> {
        self.sums.split_highest()
    }

    fn absorb(&mut self, done: Sums<T>) {
        self.sums.open.pop();
        self.sums.values.extend(done.values);
        self.sums.roots.extend(done.roots);
        self.visits.report += done.report;
    }

    fn into_part(self) -> Sums<T> {
        Sums { report: self.sums.report + self.visits.report, ..self.sums }
    }
}
