//! Rows that cost what is asked of them.

use std::hint::black_box;
use std::time::Instant;

use bevy::prelude::Component;

/// A row whose visit takes as long as its steps.
#[derive(Component, Clone, Copy)]
pub struct Row {
    steps: u32,
    pub visits: u32,
}

impl Row {
    pub fn new(steps: u32) -> Self {
        Self { steps, visits: 0 }
    }

    #[inline]
    pub fn visit(&mut self) {
        let mix = |state: u64, step| (state ^ u64::from(step)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        black_box((0..self.steps).fold(self.visits.into(), mix));
        self.visits += 1;
    }
}

/// How many steps a row takes that costs so much in a long row of its like: processors begin the
/// next rows before one is done.
#[derive(Clone, Copy)]
pub struct Steps {
    pub one_ns: u32,
    pub ten_ns: u32,
    pub twenty_ns: u32,
    pub one_us: u32,
}

impl Steps {
    /// Tries out on this machine how many it takes.
    pub fn measure() -> Result<Self, String> {
        Ok(Self {
            one_ns: steps_for(1.0)?,
            ten_ns: steps_for(10.0)?,
            twenty_ns: steps_for(20.0)?,
            one_us: steps_for(1_000.0)?,
        })
    }

    pub fn describe(&self) -> String {
        let Self { one_ns, ten_ns, twenty_ns, one_us } = self;
        format!(
            "Rows of 1, 10, 20 and 1,000 ns are {one_ns}, {ten_ns}, {twenty_ns} and {one_us} steps, as tried out without an ECS"
        )
    }
}

/// Rows in a trial: they fit the first-level cache.
const TRIAL_ROWS: usize = 1_000;

/// The fastest of so many passes counts.
const PASSES: usize = 7;

/// More steps than any processor does in the time of a row.
const MOST_STEPS: u32 = 1_000_000;

/// The fewest steps of which a row takes `nanoseconds`, less a tenth.
fn steps_for(nanoseconds: f64) -> Result<u32, String> {
    let mut steps = 1;
    while steps < MOST_STEPS {
        if cost_of(steps) >= 0.9 * nanoseconds {
            return Ok(steps);
        }
        steps += 1 + steps / 10;
    }
    Err(format!("this machine does {MOST_STEPS} steps in less than {nanoseconds} ns"))
}

fn cost_of(steps: u32) -> f64 {
    let mut rows = vec![Row::new(steps); TRIAL_ROWS];
    let pass = || {
        let began = Instant::now();
        black_box(&mut rows).iter_mut().for_each(Row::visit);
        began.elapsed()
    };
    let fastest = std::iter::repeat_with(pass).take(PASSES).min().unwrap_or_default();
    fastest.as_nanos() as f64 / TRIAL_ROWS as f64
}
