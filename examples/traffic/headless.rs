//! Runs a simulation without a window and takes the time.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::city::City;
use crate::cli::Options;
use crate::districts::{Square, Traffic};
use crate::model::Totals;
use crate::outcome::{Outcome, Workload};

/// A running city, whatever runs it.
pub trait Simulation {
    /// Simulates one second.
    fn step(&mut self);

    /// The measured steps begin.
    fn begin_measuring(&mut self) {}

    fn totals(&mut self) -> Totals;

    /// The same for the same state, whatever runs the simulation.
    fn state_hash(&mut self) -> u64;

    /// The part of the city with the most cars on its roads, if districts are counted.
    fn busiest_district(&mut self) -> Option<(Square, Traffic)> {
        None
    }

    /// How the time since [`begin_measuring`](Self::begin_measuring) was spent, of which `measured`
    /// was in steps.
    fn workload(&mut self, measured: Duration) -> Workload;
}

/// How long the measured steps took.
#[derive(Default)]
pub struct Timings {
    steps: Vec<Duration>,
    slices: Vec<f64>,
}

impl Timings {
    /// Measures a number of steps as one slice.
    pub fn measure(&mut self, simulation: &mut dyn Simulation, steps: u32, progress: &ProgressBar) {
        let mut slice = Duration::ZERO;
        for _ in 0..steps {
            let start = Instant::now();
            simulation.step();
            let elapsed = start.elapsed();
            self.steps.push(elapsed);
            slice += elapsed;
            progress.inc(1);
        }
        self.slices.push(slice.as_secs_f64());
    }

    pub fn steps(&self) -> u64 {
        self.steps.len() as u64
    }

    pub fn seconds(&self) -> f64 {
        self.slices.iter().sum()
    }

    pub fn slices(&self) -> &[f64] {
        &self.slices
    }

    /// The time that all but one step in a hundred stay within.
    pub fn slow_step(&self) -> Duration {
        let mut sorted = self.steps.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() * 99 / 100).copied().unwrap_or_default()
    }
}

/// Warms up and measures in one go.
pub fn run(simulation: &mut dyn Simulation, city: &City, options: &Options) -> Result<Outcome, String> {
    let mode = options.mode.to_string();
    warm_up(simulation, options.warmup, &bar(&mode, options.warmup.into(), "warming up"));
    let mut timings = Timings::default();
    let progress = bar(&mode, options.steps().into(), "measuring");
    timings.measure(simulation, options.steps(), &progress);
    progress.finish_and_clear();
    Outcome::new(simulation, city, &mode, &timings)
}

pub fn warm_up(simulation: &mut dyn Simulation, steps: u32, progress: &ProgressBar) {
    for _ in 0..steps {
        simulation.step();
        progress.inc(1);
    }
    simulation.begin_measuring();
    progress.finish_and_clear();
}

/// A live line on a terminal, nothing elsewhere.
pub fn bar(name: &str, steps: u64, action: &str) -> ProgressBar {
    let style =
        ProgressStyle::with_template("{prefix:>12} {msg:<16} {bar:30} {human_pos}/{human_len}, {per_sec}, {eta} left");
    let bar = ProgressBar::new(steps).with_prefix(name.to_owned()).with_message(action.to_owned());
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
