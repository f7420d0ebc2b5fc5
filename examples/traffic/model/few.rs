//! A short list that stands in its owner, not behind a pointer.

use std::ops::{Deref, DerefMut};

/// A crossroads has four roads; few intersections have more.
const USUAL: usize = 4;

/// A list that is made once. Up to four items lie in the row itself, one cache miss nearer.
#[derive(Clone, Debug)]
pub enum Few<T> {
    Here { items: [T; USUAL], length: u8 },
    Elsewhere(Box<[T]>),
}

impl<T: Default> FromIterator<T> for Few<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let list: Vec<T> = items.into_iter().collect();
        if list.len() > USUAL {
            return Self::Elsewhere(list.into());
        }
        let (length, mut list) = (list.len() as u8, list.into_iter());
        Self::Here { items: std::array::from_fn(|_| list.next().unwrap_or_default()), length }
    }
}

impl<T> Deref for Few<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Self::Here { items, length } => &items[..usize::from(*length)],
            Self::Elsewhere(items) => items,
        }
    }
}

impl<T> DerefMut for Few<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Self::Here { items, length } => &mut items[..usize::from(*length)],
            Self::Elsewhere(items) => items,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Few;

    #[test]
    fn short_and_long_lists_hold_what_they_are_given() {
        for length in 0..10_u8 {
            let mut few: Few<u8> = (0..length).collect();
            few.iter_mut().for_each(|item| *item += 1);
            assert_eq!(*few, (1..=length).collect::<Vec<_>>());
            assert_eq!(matches!(few, Few::Here { .. }), length <= 4);
        }
    }
}
