//! What this crate uses of `crossbeam_deque`, over a lock that loom can watch.

use std::collections::VecDeque;

pub(crate) use crossbeam_deque::Steal;
use loom::sync::{Arc, Mutex};

use super::lock;

/// The owner's end: the newest job.
pub(crate) struct Worker<T>(Arc<Mutex<VecDeque<T>>>);

/// The others' end: the oldest job.
pub(crate) struct Stealer<T>(Arc<Mutex<VecDeque<T>>>);

impl<T> Worker<T> {
    pub(crate) fn new_lifo() -> Self {
        Self(Arc::new(Mutex::new(VecDeque::new())))
    }

    pub(crate) fn stealer(&self) -> Stealer<T> {
        Stealer(self.0.clone())
    }

    pub(crate) fn push(&self, value: T) {
        lock(&self.0).push_back(value);
    }

    pub(crate) fn pop(&self) -> Option<T> {
        lock(&self.0).pop_back()
    }
}

impl<T> Stealer<T> {
    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }

    pub(crate) fn steal(&self) -> Steal<T> {
        lock(&self.0).pop_front().map_or(Steal::Empty, Steal::Success)
    }
}
