//! Methods of iterators that a parallel sweep has not, for a message that says what there is.

use std::iter::{Empty, empty};

use bevy_ecs::query::{IterQueryData, QueryFilter};

use super::par_iter::AffineParIter;

/// Never there, but for the message.
impl<'w, 's, D: IterQueryData, F: QueryFilter> AffineParIter<'w, 's, D, F> {
    #[doc(hidden)]
    pub fn map<T, G: Fn(D::Item<'w, 's>) -> T + IteratorOnly>(self, _: G) -> Empty<T> {
        empty()
    }

    #[doc(hidden)]
    pub fn filter<G: Fn(&D::Item<'w, 's>) -> bool + IteratorOnly>(self, _: G) -> Empty<D::Item<'w, 's>> {
        empty()
    }

    #[doc(hidden)]
    pub fn filter_map<T, G: Fn(D::Item<'w, 's>) -> Option<T> + IteratorOnly>(self, _: G) -> Empty<T> {
        empty()
    }

    #[doc(hidden)]
    pub fn fold<T, G: Fn(T, D::Item<'w, 's>) -> T + IteratorOnly>(self, start: T, _: G) -> T {
        start
    }

    #[doc(hidden)]
    pub fn any<G: Fn(D::Item<'w, 's>) -> bool + IteratorOnly>(self, _: G) -> bool {
        false
    }

    #[doc(hidden)]
    pub fn all<G: Fn(D::Item<'w, 's>) -> bool + IteratorOnly>(self, _: G) -> bool {
        false
    }

    #[doc(hidden)]
    pub fn find<G: Fn(&D::Item<'w, 's>) -> bool + IteratorOnly>(self, _: G) -> Option<D::Item<'w, 's>> {
        None
    }

    #[doc(hidden)]
    pub fn count(self) -> usize
    where
        Self: IteratorOnly,
    {
        0
    }
}

/// Nothing is this.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a parallel sweep is no iterator",
    label = "not a method of a parallel sweep",
    note = "for one value out of all rows: `.map_reduce(|| identity, |item| value, |a, b| a + b)`",
    note = "for a list: `.fold_reduce(Vec::new, |list, item| list.push(item), append)`",
    note = "for a part of the rows: a filter of the query, or an `if` in `for_each`",
    note = "Bevy's iterator on one thread: `.iter()` in the place of `.par_iter()`"
)]
pub trait IteratorOnly {}
