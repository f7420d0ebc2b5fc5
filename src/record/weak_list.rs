//! A list that forgets what only it still refers to.

use std::sync::{Arc, Weak};

/// What was added and still exists, in the order in which it was added.
#[derive(Debug)]
pub(crate) struct WeakList<T>(Vec<Weak<T>>);

impl<T> Default for WeakList<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> WeakList<T> {
    /// Adds `element`. Before the list would grow it forgets what is gone, so that it stays short
    /// where it is never looked at.
    pub(crate) fn push(&mut self, element: &Arc<T>) {
        if self.0.len() == self.0.capacity() {
            self.0.retain(|element| element.strong_count() > 0);
            // As much room again: looking through it costs each element a constant time.
            self.0.reserve(self.0.len().max(4));
        }
        self.0.push(Arc::downgrade(element));
    }

    /// Keeps those that `keep` says so of, and forgets what is gone.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&Arc<T>) -> bool) {
        self.0.retain(|element| element.upgrade().is_some_and(|element| keep(&element)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_takes_no_room() {
        let mut list = WeakList::default();
        let kept: Vec<_> = (0..10).map(Arc::new).collect();
        for element in &kept {
            list.push(element);
            (0..1_000).for_each(|number| list.push(&Arc::new(number)));
        }
        assert!(list.0.capacity() < 64, "{} places", list.0.capacity());
        let mut seen = Vec::new();
        list.retain(|element| {
            seen.push(**element);
            true
        });
        assert_eq!(seen, (0..10).collect::<Vec<_>>());
        list.retain(|element| **element > 7);
        assert_eq!(list.0.len(), 2);
    }
}
