//! The stack of a walk: the nodes on the way down, and their children that are still to come. It
//! takes the place of the call stack, so that the depth of a tree does not matter.

use bevy_ecs::{prelude::Entity, relationship::Relationship};

use super::visits::{Target, push_children};

/// Nodes whose children are being visited, each with what its walk keeps of it.
pub(super) struct Levels<N> {
    /// The highest first.
    levels: Vec<Level<N>>,
    /// No level before this one has children left.
    first: usize,
    /// The children of all levels, one level after the other.
    children: Vec<Entity>,
}

struct Level<N> {
    node: N,
    /// Its place among all `children`.
    start: usize,
    /// The next child.
    next: usize,
    end: usize,
}

/// A child that comes next.
pub(super) struct Child<'a, N> {
    pub(super) entity: Entity,
    /// What is kept of its parent.
    pub(super) parent: &'a N,
    /// Whether its parent has no more children.
    pub(super) is_last: bool,
}

/// The far half of a node's children that were left.
pub(super) struct Half<'a, N> {
    /// How many levels are above theirs.
    pub(super) depth: usize,
    /// What is kept of their parent.
    pub(super) parent: &'a N,
    pub(super) children: Vec<Entity>,
}

impl<N> Default for Levels<N> {
    fn default() -> Self {
        Self { levels: Vec::new(), first: 0, children: Vec::new() }
    }
}

impl<N> Levels<N> {
    /// One level.
    pub(super) fn of(node: N, children: Vec<Entity>) -> Self {
        let level = Level { node, start: 0, next: 0, end: children.len() };
        Self { levels: vec![level], first: 0, children }
    }

    pub(super) fn depth(&self) -> usize {
        self.levels.len()
    }

    /// Whether the lowest level has children left.
    pub(super) fn has_next(&self) -> bool {
        self.levels.last().is_some_and(|lowest| lowest.left() > 0)
    }

    /// The next child of the lowest level.
    #[inline]
    pub(super) fn next_child(&mut self) -> Option<Child<'_, N>> {
        let lowest = self.levels.last_mut()?;
        let entity = (lowest.next < lowest.end).then(|| self.children[lowest.next])?;
        lowest.next += 1;
        Some(Child { entity, parent: &lowest.node, is_last: lowest.next == lowest.end })
    }

    /// Begins the level below a node, if it has children.
    #[inline]
    pub(super) fn descend<R: Relationship>(&mut self, node: N, target: Target<'_, R>) {
        let start = self.children.len();
        push_children::<R>(&mut self.children, target);
        let end = self.children.len();
        if end > start {
            self.levels.push(Level { node, start, next: start, end });
        }
    }

    /// Leaves the lowest level, whose children have all been visited.
    #[inline]
    pub(super) fn ascend(&mut self) -> Option<N> {
        let level = self.levels.pop()?;
        self.children.truncate(level.start);
        self.first = self.first.min(self.levels.len());
        Some(level.node)
    }

    /// Splits off half of the children that are left of the highest level that has any; the last
    /// one if there are lower levels.
    pub(super) fn split_highest(&mut self) -> Option<Half<'_, N>> {
        while self.levels.get(self.first)?.left() == 0 {
            self.first += 1;
        }
        let is_lowest = self.first + 1 == self.levels.len();
        let highest = &mut self.levels[self.first];
        let half = if is_lowest { highest.left() / 2 } else { highest.left().div_ceil(2) };
        if half == 0 {
            return None;
        }
        let middle = highest.end - half;
        let children = self.children[middle..highest.end].to_vec();
        highest.end = middle;
        Some(Half { depth: self.first, parent: &highest.node, children })
    }
}

impl<N> Level<N> {
    fn left(&self) -> usize {
        self.end - self.next
    }
}
