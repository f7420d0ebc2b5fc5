//! How long threads have run on a core, where the system tells.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The clocks of some threads.
#[derive(Clone, Default)]
pub struct ThreadClocks(Arc<Mutex<Vec<PathBuf>>>);

impl ThreadClocks {
    /// Adds the clock of the calling thread: on Linux a file of the thread's own.
    pub fn enlist(&self) {
        if let Ok(thread) = fs::read_link("/proc/thread-self") {
            let file = PathBuf::from("/proc").join(thread).join("schedstat");
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(file);
        }
    }

    /// The time of each thread so far; none if one of them cannot be told.
    pub fn read(&self) -> Vec<Duration> {
        let files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        files.iter().map(on_core).collect::<Option<_>>().unwrap_or_default()
    }
}

/// The first number in the file counts nanoseconds on a core.
fn on_core(file: &PathBuf) -> Option<Duration> {
    let text = fs::read_to_string(file).ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}
