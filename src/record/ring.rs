//! The last values, as many as fit.

use std::collections::VecDeque;

/// Keeps the last values, in memory that is allocated once.
#[derive(Clone, Debug)]
pub(crate) struct Ring<T> {
    values: VecDeque<T>,
    /// How many values it keeps.
    length: usize,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self { values: VecDeque::new(), length: 0 }
    }
}

impl<T> Ring<T> {
    pub(crate) fn new(length: usize) -> Self {
        Self { values: VecDeque::with_capacity(length), length }
    }

    /// Makes room for `length` values if there is less.
    pub(crate) fn reserve(&mut self, length: usize) {
        self.values.reserve_exact(length.saturating_sub(self.values.len()));
        self.length = self.length.max(length);
    }

    /// Adds a value, in place of the oldest if it is full.
    #[inline]
    pub(crate) fn push(&mut self, value: T) {
        if self.values.len() >= self.length {
            self.values.pop_front();
        }
        if self.length > 0 {
            self.values.push_back(value);
        }
    }

    /// Whether the next value takes the place of the oldest.
    pub(crate) fn is_full(&self) -> bool {
        self.values.len() >= self.length
    }

    pub(crate) fn values(&self) -> &VecDeque<T> {
        &self.values
    }

    pub(crate) fn newest_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.values.iter_mut().rev()
    }

    pub(crate) fn drain(&mut self) -> impl Iterator<Item = T> + '_ {
        self.values.drain(..)
    }

    pub(crate) fn clear(&mut self) {
        self.values.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::Ring;

    #[test]
    fn the_oldest_make_room_and_nothing_grows() {
        let mut ring = Ring::new(3);
        let capacity = ring.values.capacity();
        (0..10).for_each(|value| ring.push(value));
        assert_eq!(ring.values(), &[7, 8, 9]);
        assert_eq!(ring.values.capacity(), capacity);
        assert_eq!(ring.drain().sum::<i32>(), 24);
        assert!(ring.values().is_empty());
    }

    #[test]
    fn a_ring_without_room_keeps_nothing() {
        let mut ring = Ring::default();
        ring.push(1);
        assert!(ring.values().is_empty());
        ring.reserve(2);
        (0..5).for_each(|value| ring.push(value));
        assert_eq!(ring.values(), &[3, 4]);
    }
}
