//! How the measured time was spent.

use std::time::Duration;

use bevy::prelude::World;
use bevy::tasks::ComputeTaskPool;
use bevy_affinity::prelude::*;
use bevy_affinity::topology::{CoreId, current_core};

use super::threads::ThreadClocks;
use crate::measure::Workload;

/// Reads what the workers have done since the measured steps began.
pub enum Gauge {
    Gang { start: Box<AffinityDiagnostics>, leader: Whereabouts },
    ComputeThreads { start: Vec<Duration>, clocks: ThreadClocks },
}

impl Gauge {
    /// The plugin's own diagnostics.
    pub fn gang() -> Self {
        Self::Gang { start: Box::default(), leader: Whereabouts::default() }
    }

    /// The clocks of Bevy's compute threads. The main thread only waits for them.
    pub fn compute_threads(clocks: ThreadClocks) -> Self {
        Self::ComputeThreads { start: Vec::new(), clocks }
    }

    /// Counts from here on. Diagnostics must be up to date.
    pub fn restart(&mut self, world: &World) {
        match self {
            Self::Gang { start, leader } => {
                **start = world.resource::<AffinityDiagnostics>().clone();
                *leader = Whereabouts::default();
            }
            Self::ComputeThreads { start, clocks } => *start = clocks.read(),
        }
    }

    /// To be called after each step.
    pub fn note_step(&mut self) {
        if let Self::Gang { leader, .. } = self {
            leader.note(current_core());
        }
    }

    /// What was done in the time that was `measured`. Diagnostics must be up to date.
    pub fn read(&self, world: &World, measured: Duration) -> Workload {
        match self {
            Self::Gang { start, leader } => gang(start, world.resource::<AffinityDiagnostics>(), leader, measured),
            Self::ComputeThreads { start, clocks } => compute_threads(start, &clocks.read(), measured),
        }
    }
}

/// Whether a thread stays on its core, looked at once in a step.
#[derive(Default)]
pub struct Whereabouts {
    last: Option<CoreId>,
    looks: u64,
    stays: u64,
}

impl Whereabouts {
    fn note(&mut self, core: Option<CoreId>) {
        if let (Some(last), Some(core)) = (self.last, core) {
            self.looks += 1;
            self.stays += u64::from(core == last);
        }
        self.last = core;
    }

    fn share(&self) -> Option<f64> {
        (self.looks > 0).then(|| self.stays as f64 / self.looks as f64)
    }
}

fn gang(start: &AffinityDiagnostics, end: &AffinityDiagnostics, leader: &Whereabouts, measured: Duration) -> Workload {
    let pairs = || end.workers.iter().zip(&start.workers);
    let rows: u64 = pairs().map(|(end, start)| end.swept_rows - start.swept_rows).sum();
    let same_core: u64 = pairs().map(|(end, start)| end.same_core_rows - start.same_core_rows).sum();
    let mut times: Vec<_> = pairs().map(|(end, start)| (end.busy - start.busy, end.wait - start.wait)).collect();
    if let Some((busy, wait)) = times.first_mut() {
        // The leader also sweeps alone what is not worth a round: it is busy in systems whenever it
        // does not wait for others.
        *busy = (in_systems(end) - in_systems(start)).saturating_sub(*wait);
    }
    Workload {
        workers: times.len(),
        busy_share: times.into_iter().map(|(busy, wait)| share(busy, wait, measured)).collect(),
        // One worker makes no rounds: all rows are where the leader is.
        same_core_share: if rows > 0 { Some(same_core as f64 / rows as f64) } else { leader.share() },
    }
}

/// The time in all tagged systems.
fn in_systems(diagnostics: &AffinityDiagnostics) -> Duration {
    diagnostics.systems.iter().map(|system| system.total).sum()
}

/// Bevy does not tell which thread sweeps which rows, so their cores stay unknown.
fn compute_threads(start: &[Duration], end: &[Duration], measured: Duration) -> Workload {
    Workload {
        workers: ComputeTaskPool::get().thread_num(),
        busy_share: end.iter().zip(start).map(|(end, start)| share(*end - *start, Duration::ZERO, measured)).collect(),
        same_core_share: None,
    }
}

/// The part of the `measured` time that was `busy`. Times are sampled: a heavy step among light
/// ones may count several times, and together they are more than there was. Then they are parts of
/// that.
fn share(busy: Duration, wait: Duration, measured: Duration) -> f64 {
    busy.as_secs_f64() / measured.max(busy + wait).as_secs_f64().max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::city::{City, Travel};
    use crate::measure::Simulation;
    use crate::model::TripRequest;
    use crate::simulation::CityApp;
    use crate::tests::grid;

    #[test]
    fn shares_are_parts_of_what_was_counted() {
        let ms = Duration::from_millis;
        assert_eq!(share(ms(30), ms(10), ms(100)), 0.3);
        let sampled = share(ms(300), ms(100), ms(100));
        assert!((sampled - 0.75).abs() < 1e-9, "times of samples may be more than the measured one: {sampled}");
        assert_eq!(share(ms(0), ms(0), ms(0)), 0.0);
    }

    /// All cars set out in one second, and the others are nearly empty.
    #[test]
    fn a_heavy_step_among_light_ones_is_no_more_than_all_of_the_time() {
        let trip = |traveller| TripRequest { traveller, depart: 40, from: 0, to: 15, via: None };
        let trips: Vec<_> = (0..20_000).map(trip).collect();
        let city = City::with_trips(grid(4), Travel::default(), &trips, &indicatif::ProgressBar::hidden()).unwrap();
        let city = Arc::new(city);
        for workers in 1..=2 {
            let settings = AffinitySettings { workers: WorkerCount::Exactly(workers), ..Default::default() };
            let mut app = CityApp::on_gang(Arc::clone(&city), SchedulerMode::Auto, settings);
            app.begin_measuring();
            let start = std::time::Instant::now();
            (0..100).for_each(|_| app.step());
            let shares = app.workload(start.elapsed()).busy_share;
            assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)), "{workers}: {shares:?}");
        }
    }
}
