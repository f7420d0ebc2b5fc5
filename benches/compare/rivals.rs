//! The pools of others, set up with the same number of workers.

use std::num::NonZeroUsize;

use rayon::ThreadPoolBuilder;

pub fn rayon(workers: usize) -> Result<rayon::ThreadPool, String> {
    let pool = ThreadPoolBuilder::new().num_threads(workers).build();
    pool.map_err(|error| format!("rayon: {workers} threads: {error}"))
}

pub fn chili(workers: usize) -> chili::ThreadPool {
    let thread_count = NonZeroUsize::new(workers);
    chili::ThreadPool::with_config(chili::Config { thread_count, ..chili::Config::default() })
}

/// Lends a fork_union pool for one turn. Its threads spin until it is dropped, and would take the
/// cores from whoever has the next turn.
#[cfg(feature = "rivals")]
pub fn with_fork_union(workers: usize, body: impl FnOnce(&mut fork_union::ThreadPool)) {
    match fork_union::ThreadPool::try_spawn(workers) {
        Ok(mut pool) => body(&mut pool),
        Err(error) => eprintln!("fork_union: {workers} threads: {error}; its turn is left out"),
    }
}
