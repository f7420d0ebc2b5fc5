//! A slice cut into one contiguous run per worker.

use std::sync::{Mutex, PoisonError};

use crossbeam_utils::CachePadded;

/// One exclusive run per worker. The lock of a run is only ever taken by its own worker, so it
/// costs two uncontended atomic operations a round; every pool that needs it pays the same.
pub struct Runs<'a, T> {
    runs: Vec<CachePadded<Mutex<&'a mut [T]>>>,
}

impl<'a, T> Runs<'a, T> {
    pub fn cut(rows: &'a mut [T], workers: usize) -> Self {
        let length = rows.len().div_ceil(workers).max(1);
        let runs = rows.chunks_mut(length).map(|run| CachePadded::new(Mutex::new(run)));
        Self { runs: runs.collect() }
    }

    /// Lets a worker sweep its own run; a worker beyond the last run has nothing to do.
    pub fn sweep(&self, worker: usize, sweep: impl FnOnce(&mut [T])) {
        if let Some(run) = self.runs.get(worker) {
            sweep(&mut run.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }
}
