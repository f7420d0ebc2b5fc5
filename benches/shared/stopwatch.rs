//! A system times its own sweep, so that the cost of the schedule around it is left out.

use std::time::{Duration, Instant};

use bevy::prelude::Resource;

/// How long the last sweep took.
#[derive(Resource, Default)]
pub struct Stopwatch(pub Duration);

impl Stopwatch {
    pub fn time<T>(&mut self, sweep: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = sweep();
        self.0 = start.elapsed();
        result
    }
}
