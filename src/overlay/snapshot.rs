//! What the panel shows: a copy of the numbers, taken some times a second into buffers that are used again.

use std::{ops::Range, time::Duration};

use bevy::prelude::World;

use crate::{
    diagnostics::{AffinityDiagnostics, SystemDiagnostics, WorkerDiagnostics},
    settings::SchedulerMode,
    topology::{CoreId, Topology},
};

/// The numbers.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    pub(super) modes: Vec<ModeRow>,
    pub(super) workers: Vec<WorkerRow>,
    /// How much longer than the mean the busiest worker was busy.
    pub(super) imbalance: Option<f64>,
    pub(super) same_core: Option<f64>,
    pub(super) migrated_rows: u64,
    pub(super) systems: Vec<SystemRow>,
    /// The oldest first.
    pub(super) frames: Vec<FrameRow>,
}

/// The times of a mode when it was last on.
#[derive(Clone, Debug)]
pub(super) struct ModeRow {
    pub(super) mode: SchedulerMode,
    pub(super) frame: Duration,
    pub(super) tagged: Duration,
    pub(super) frames: u64,
}

/// Shares of the last second, 0 to 1.
#[derive(Clone, Debug, Default)]
pub(super) struct WorkerRow {
    pub(super) name: String,
    pub(super) busy: f32,
    pub(super) wait: f32,
}

#[derive(Clone, Debug, Default)]
pub(super) struct SystemRow {
    pub(super) index: usize,
    /// Without the path of its module.
    pub(super) name: String,
    pub(super) full_name: String,
    pub(super) calls: u64,
    pub(super) mean: Duration,
    pub(super) p95: Duration,
    pub(super) max: Duration,
}

#[derive(Clone, Debug)]
pub(super) struct FrameRow {
    pub(super) number: u64,
    pub(super) frame: Duration,
    pub(super) tagged: Duration,
    pub(super) mode: SchedulerMode,
}

/// A stretch of the recording. Times are nanoseconds from the begin of the frame on show.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    pub(super) lanes: Vec<Lane>,
    /// Where frames begin.
    pub(super) borders: Vec<f64>,
    /// From the first to the last tagged system of the frame on show.
    pub(super) busy: Range<f64>,
    names: Vec<String>,
}

/// What one worker did.
#[derive(Debug, Default)]
pub(super) struct Lane {
    /// `worker 1`
    pub(super) name: String,
    /// `core 3, SMT of 1, cache 0`
    pub(super) place: String,
    /// By begin.
    pub(super) bars: Vec<Bar>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bar {
    pub(super) kind: BarKind,
    pub(super) begin: f64,
    pub(super) end: f64,
    /// The system's index.
    pub(super) system: usize,
    pub(super) core: Option<CoreId>,
    pub(super) rows: u64,
    /// How many late workers' shares are in it.
    pub(super) taken_over: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BarKind {
    /// A whole run of a system, on the leader.
    System,
    /// A worker's share of a round.
    Work,
    /// Waiting for others at the end of a round, or starting late.
    Wait,
    /// Asleep between rounds.
    Parked,
}

impl BarKind {
    pub(super) const FROM_BACK: [Self; 4] = [Self::System, Self::Parked, Self::Wait, Self::Work];
}

impl Snapshot {
    pub(super) fn refresh(&mut self, world: &World) {
        let diagnostics = world.resource::<AffinityDiagnostics>();
        self.same_core = diagnostics.same_core_share();
    }
}

impl Recorded {
    pub(super) fn busy_part(&self) -> Range<f64> {
        self.busy.clone()
    }

    /// What a bar is about.
    pub(super) fn name(&self, bar: &Bar) -> &str {
        match bar.kind {
            BarKind::Parked => "parked",
            BarKind::Wait => "waiting at the barrier",
            BarKind::System | BarKind::Work => self.names.get(bar.system).map_or("a system", String::as_str),
        }
    }
}

/// A system's name without the paths of modules: `game::ai::think<game::Car>` becomes `think<Car>`.
fn short_name(name: &str) -> String {
    let mut short = String::new();
    for part in name.split_inclusive(['<', '>', ',', '(', ')', ' ']) {
        short.push_str(part.rsplit_once("::").map_or(part, |(_, last)| last));
    }
    short
}
