//! How the models are run.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// Runs a model in every schedule with at most so many preemptions, and says how many there were.
pub fn model(preemptions: usize, test: impl Fn() + Sync + Send + 'static) {
    explore(Some(preemptions), test);
}

/// Runs a model in every schedule there is.
pub fn exhaust(test: impl Fn() + Sync + Send + 'static) {
    explore(None, test);
}

fn explore(preemptions: Option<usize>, test: impl Fn() + Sync + Send + 'static) {
    let schedules = Arc::new(AtomicUsize::new(0));
    let counted = schedules.clone();
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        test();
    });
    let thread = std::thread::current();
    println!("{}: {} schedules", thread.name().unwrap_or("a model"), schedules.load(Ordering::Relaxed));
}
