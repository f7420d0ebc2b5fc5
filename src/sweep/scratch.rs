//! Memory of any type that a query's calls leave for the next one.

use std::{
    any::{Any, TypeId},
    sync::{Mutex, MutexGuard},
};

use super::division::Parts;
use crate::sync::lock;

/// Values by type and by the parts of the call that made them: calls by different strategies take
/// turns while one is looked for. They are a handful.
#[derive(Default)]
pub(crate) struct Scratch(Mutex<Vec<Kept>>);

struct Kept {
    key: (TypeId, Parts),
    value: Box<dyn Any + Send>,
    /// How many others were kept since.
    age: u32,
}

/// A value is dropped when it was not asked for while this many others were kept: a strategy that
/// was only tried leaves no memory for good.
const LONGEST_KEPT: u32 = 4_096;

impl Scratch {
    /// What a call with as many parts has left. Of calls with another number of owners nothing is
    /// kept, but for those on one thread: they seldom come again, and many workers' values take
    /// megabytes.
    pub(crate) fn take<T: Send + 'static>(&self, parts: Parts) -> Option<Box<T>> {
        let mut kept = self.lock();
        let key = (TypeId::of::<T>(), parts);
        if let Some(place) = kept.iter().position(|kept| kept.key == key) {
            return kept.swap_remove(place).value.downcast().ok();
        }
        if parts.owners > 1 {
            kept.retain(|Kept { key: (_, kept), .. }| kept.owners == 1 || kept.owners == parts.owners);
        }
        None
    }

    /// Keeps `value`, which was taken, for the next call with as many parts.
    pub(crate) fn keep<T: Send + 'static>(&self, parts: Parts, value: Box<T>) {
        let mut kept = self.lock();
        kept.iter_mut().for_each(|kept| kept.age += 1);
        let old = kept.iter().position(|kept| kept.age > LONGEST_KEPT);
        // One in a call is enough. It is dropped without the lock.
        let old = old.map(|place| kept.swap_remove(place));
        kept.push(Kept { key: (TypeId::of::<T>(), parts), value, age: 0 });
        drop(kept);
        drop(old);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Kept>> {
        lock(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_KEPT, Parts, Scratch};

    fn call<T: Default + Send + 'static>(scratch: &Scratch, senders: usize, owners: usize) {
        let parts = Parts { senders, owners, most_stolen: 0 };
        let value = scratch.take::<T>(parts).unwrap_or_default();
        scratch.keep(parts, value);
    }

    #[test]
    fn values_of_other_numbers_of_workers_are_not_kept() {
        let scratch = Scratch::default();
        for workers in 2..20 {
            for _ in 0..2 {
                call::<u8>(&scratch, 1, 1);
                call::<u8>(&scratch, workers, workers);
                call::<u8>(&scratch, 16 * workers, workers);
                call::<u16>(&scratch, workers, workers);
            }
            assert_eq!(scratch.lock().len(), 4);
        }
    }

    #[test]
    fn what_is_not_asked_for_any_more_is_dropped() {
        let scratch = Scratch::default();
        call::<u8>(&scratch, 2, 2);
        (0..=LONGEST_KEPT).for_each(|_| call::<u8>(&scratch, 1, 1));
        assert_eq!(scratch.lock().len(), 1);
    }
}
