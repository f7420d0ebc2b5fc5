//! [`PerWorker`]: a value for each worker.

use std::sync::{Mutex, MutexGuard};

use crossbeam_utils::CachePadded;

use super::{AffinityPool, Worker};
use crate::sync;

/// A value for each worker of a pool, on cache lines of its own: counters, scratch memory, partial
/// results. Filled in a round, read after it.
///
/// ```
/// use bevy_affinity::prelude::*;
///
/// let pool = AffinityPool::new(&AffinitySettings::default());
/// let mut found = PerWorker::new(&pool, |_| Vec::new());
/// pool.run(|worker| found.with(worker, |found| found.push(worker.index())));
/// let found: Vec<_> = found.into_iter().flatten().collect();
/// assert_eq!(found, (0..pool.workers()).collect::<Vec<_>>());
/// ```
///
/// One that is kept from frame to frame is to [fit](Self::fit) the pool of the frame: settings,
/// cores that come and go, and a CPU quota change how many workers there are.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// fn count(pool: Res<AffinityPool>, mut rounds: Local<PerWorker<u64>>) {
///     rounds.fit(&pool, |_| 0);
///     pool.run(|worker| rounds.with(worker, |rounds| *rounds += 1));
/// }
/// # App::new().add_plugins(AffinityParallelPlugin).add_systems(Update, count.affine()).update();
/// ```
#[derive(Debug)]
pub struct PerWorker<T> {
    values: Vec<CachePadded<Mutex<T>>>,
}

/// No values, until it [fits](PerWorker::fit) a pool.
impl<T> Default for PerWorker<T> {
    fn default() -> Self {
        Self { values: Vec::new() }
    }
}

impl<T> PerWorker<T> {
    /// A value for each worker of `pool`: `init` is called with the indices of workers, in order.
    pub fn new(pool: &AffinityPool, init: impl FnMut(usize) -> T) -> Self {
        let mut values = Self::default();
        values.fit(pool, init);
        values
    }

    /// Sees to it that each worker of `pool` has a value: `init` is called with the indices of
    /// those that have none, in order. Values that are there stay, also of workers that this pool
    /// has not: what they found is not lost.
    ///
    /// ```
    /// # use bevy_affinity::prelude::*;
    /// let pool = AffinityPool::new(&AffinitySettings::default());
    /// let mut found = PerWorker::default();
    /// found.fit(&pool, |index| vec![index]);
    /// // All have a value: they stay.
    /// found.fit(&pool, |_| Vec::new());
    /// assert_eq!(found.len(), pool.workers());
    /// assert!(found.into_iter().all(|found| found.len() == 1));
    /// ```
    pub fn fit(&mut self, pool: &AffinityPool, mut init: impl FnMut(usize) -> T) {
        let missing = self.values.len()..pool.workers();
        self.values.extend(missing.map(|index| CachePadded::new(Mutex::new(init(index)))));
    }

    /// How many values there are: one for each worker of the largest pool that this was made for or
    /// fitted to.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none yet.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Lends the value of `worker` to `f`. In a round no other worker asks for it, so this costs
    /// some nanoseconds: once in a round, not once for each item.
    ///
    /// ```
    /// # use bevy_affinity::prelude::*;
    /// let pool = AffinityPool::new(&AffinitySettings::default());
    /// let scratch = PerWorker::new(&pool, |_| Vec::<usize>::new());
    /// pool.run(|worker| {
    ///     let sum: usize = scratch.with(worker, |numbers| {
    ///         numbers.extend(0..10);
    ///         numbers.drain(..).sum()
    ///     });
    ///     assert_eq!(sum, 45);
    /// });
    /// ```
    ///
    /// # Panics
    /// If the value is in use: inside another `with` for the same worker, in a round that another
    /// thread leads at the same time, or in rounds inside a round, each of which calls all indices
    /// on its thread. Two systems may be in such rounds at a time if Bevy may run them at a time:
    /// tag them, or put them in order. Tagged ones that ask for `Res<AffinityPool>` are in such
    /// rounds one after the other; those that have the pool from elsewhere may not be. And if the
    /// pool has more workers than the one it was made for, or was last [fitted](Self::fit) to.
    #[track_caller]
    pub fn with<R>(&self, worker: Worker, f: impl FnOnce(&mut T) -> R) -> R {
        let index = worker.index();
        let Some(value) = self.values.get(index) else {
            panic!(
                "PerWorker: made for {} workers, asked for worker {index}: call `fit` with this pool before the round",
                self.values.len()
            )
        };
        f(&mut lock_free(value, index))
    }

    /// The values by worker.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = &mut T> {
        self.values.iter_mut().map(|value| sync::get_mut(value))
    }
}

/// A panic while a value was in use leaves it as it was then: no reason to deny it to those who
/// read it afterwards.
#[track_caller]
fn lock_free<T>(value: &Mutex<T>, index: usize) -> MutexGuard<'_, T> {
    let Some(value) = sync::try_lock(value) else {
        panic!(
            "PerWorker: the value of worker {index} is in use: do not call `with` inside `with`, nor share it between systems or threads that run at the same time (tagged ones with `Res<AffinityPool>` do not)"
        )
    };
    value
}

impl<T> IntoIterator for PerWorker<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    /// The values by worker.
    fn into_iter(self) -> Self::IntoIter {
        let values = self.values.into_iter().map(|value| sync::into_inner(value.into_inner()));
        values.collect::<Vec<_>>().into_iter()
    }
}
