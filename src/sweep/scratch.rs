//! Memory of any type that a query's calls leave for the next one.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::division::Parts;

/// Values by type and by the parts of the call that made them: calls by different strategies take
/// turns while one is looked for.
#[derive(Default)]
pub(crate) struct Scratch(Mutex<HashMap<(TypeId, Parts), Box<dyn Any + Send>>>);

impl Scratch {
    /// What a call with as many parts has left. Of calls with another number of owners nothing is
    /// kept, but for those on one thread: they seldom come again, and many workers' values take
    /// megabytes.
    pub(crate) fn take<T: Send + 'static>(&self, parts: Parts) -> Option<Box<T>> {
        let mut kept = self.lock();
        let found = kept.remove(&(TypeId::of::<T>(), parts)).and_then(|value| value.downcast().ok());
        if found.is_none() && parts.owners > 1 {
            kept.retain(|(_, kept), _| kept.owners == 1 || kept.owners == parts.owners);
        }
        found
    }

    /// Keeps `value` for the next call with as many parts.
    pub(crate) fn keep<T: Send + 'static>(&self, parts: Parts, value: Box<T>) {
        self.lock().insert((TypeId::of::<T>(), parts), value);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(TypeId, Parts), Box<dyn Any + Send>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::{Parts, Scratch};

    fn call<T: Default + Send + 'static>(scratch: &Scratch, senders: usize, owners: usize) {
        let parts = Parts { senders, owners, stolen: 0 };
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
}
