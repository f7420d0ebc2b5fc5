//! Systems that take so many microseconds of work, by a count of steps that does not depend on what
//! else the machine does.

use std::{
    hint::black_box,
    sync::OnceLock,
    time::{Duration, Instant},
};

/// Steps for a measurement: a few milliseconds.
const STEPS: u32 = 2_000_000;

/// Works for about as long as `microseconds` are on a core that nobody else has.
pub fn spin(microseconds: u32) {
    steps(microseconds * per_microsecond());
}

fn steps(steps: u32) {
    let mut value = 1_u64;
    for step in 0..steps {
        value = black_box(value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(u64::from(step)));
    }
    black_box(value);
}

/// The fastest of some measurements: the others were interrupted.
fn per_microsecond() -> u32 {
    static PER_MICROSECOND: OnceLock<u32> = OnceLock::new();
    *PER_MICROSECOND.get_or_init(|| {
        let measure = |_| {
            let start = Instant::now();
            steps(STEPS);
            start.elapsed()
        };
        let fastest = (0..8).map(measure).min().unwrap_or(Duration::from_millis(1));
        (f64::from(STEPS) / (fastest.as_nanos() as f64 / 1e3)) as u32
    })
}
