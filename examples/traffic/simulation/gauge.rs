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
    let mut busy: Vec<_> = pairs().map(|(end, start)| end.busy - start.busy).collect();
    if let (Some(busy), Some((end_leader, start_leader))) = (busy.first_mut(), pairs().next()) {
        // The leader also sweeps alone what is not worth a round: it is busy in systems whenever it
        // does not wait for others.
        *busy = (in_systems(end) - in_systems(start)).saturating_sub(end_leader.wait - start_leader.wait);
    }
    Workload {
        workers: busy.len(),
        busy_share: busy.into_iter().map(|busy| share(busy, measured)).collect(),
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
        busy_share: end.iter().zip(start).map(|(end, start)| share(*end - *start, measured)).collect(),
        same_core_share: None,
    }
}

fn share(part: Duration, whole: Duration) -> f64 {
    part.as_secs_f64() / whole.as_secs_f64()
}
