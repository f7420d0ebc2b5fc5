//! A running city and how long its steps take, whatever runs it.

use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use serde::{Deserialize, Serialize};

use crate::districts::{Square, Traffic};
use crate::interrupt;
use crate::model::{EndedTrip, LinkState, Order, Refusal, Totals};
use crate::step_times::StepTimes;

/// A running city, whatever runs it.
pub trait Simulation {
    /// Has orders given at the begin of stated seconds, or says which of them the city does not
    /// take.
    fn plan(&mut self, orders: &[(u32, Order)]) -> Result<(), Refusal>;

    /// Simulates one second.
    fn step(&mut self);

    /// The measured steps begin.
    fn begin_measuring(&mut self) {}

    fn totals(&mut self) -> Totals;

    /// From now on trips that end are remembered.
    fn record(&mut self);

    /// Those that have ended since the last call: in the order of seconds, in no order within one.
    fn take_ended(&mut self) -> Vec<EndedTrip>;

    /// Visits all links, in the order of their numbers.
    fn links(&mut self, visit: &mut dyn FnMut(u32, LinkState));

    /// How many trips have taken each number of seconds since the start.
    fn travel_times(&mut self) -> Vec<u64>;

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

/// Runs after each step of a city.
pub type AfterStep<'a> = dyn FnMut(&mut dyn Simulation) -> Result<(), String> + 'a;

/// How long the measured steps took.
#[derive(Default)]
pub struct Timings {
    steps: StepTimes,
    slices: Vec<f64>,
}

impl Timings {
    /// Measures a number of steps as one slice. What `after` does after each step does not count.
    pub fn measure(
        &mut self,
        simulation: &mut dyn Simulation,
        steps: u32,
        progress: &ProgressBar,
        after: &mut AfterStep,
    ) -> Result<(), String> {
        let mut slice = Duration::ZERO;
        for _ in 0..steps {
            // There is at least one step to tell of.
            if interrupt::is_asked() && self.steps.count() > 0 {
                break;
            }
            let start = Instant::now();
            simulation.step();
            let elapsed = start.elapsed();
            self.steps.add(elapsed);
            slice += elapsed;
            after(simulation)?;
            progress.inc(1);
        }
        self.slices.push(slice.as_secs_f64());
        Ok(())
    }

    pub fn steps(&self) -> u64 {
        self.steps.count()
    }

    pub fn seconds(&self) -> f64 {
        self.slices.iter().sum()
    }

    pub fn slices(&self) -> &[f64] {
        &self.slices
    }

    /// The time that all but one step in a hundred stay within.
    pub fn slow_step(&self) -> Duration {
        self.steps.slow()
    }
}

/// How the work was spread over threads.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Workload {
    pub workers: usize,
    /// For each worker the share of the measured time in which it worked; empty where that is not
    /// known.
    pub busy_share: Vec<f64>,
    /// Share of the rows that were swept by the worker that swept them last time, on the same core,
    /// where that is known.
    pub same_core_share: Option<f64>,
}
