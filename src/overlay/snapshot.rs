//! The numbers that the panel shows: a copy, taken some times a second into buffers that are used
//! again.

use std::time::Duration;

use crate::{
    diagnostics::{AffinityDiagnostics, CallSiteDiagnostics, SystemDiagnostics, WorkerDiagnostics},
    record::FrameSpan,
    settings::SchedulerMode,
};

#[derive(Debug, Default)]
pub(super) struct Snapshot {
    pub(super) modes: Vec<ModeRow>,
    pub(super) workers: Vec<WorkerRow>,
    /// How much longer than the mean the busiest worker was busy.
    pub(super) imbalance: Option<f64>,
    pub(super) same_core: Option<f64>,
    pub(super) migrated_rows: u64,
    pub(super) migrations: u64,
    pub(super) systems: Vec<SystemRow>,
    /// What mode `Auto` chose where, in the order of the first calls.
    pub(super) call_sites: Vec<CallSiteDiagnostics>,
    /// The oldest first.
    pub(super) frames: Vec<FrameRow>,
}

/// The times of a mode when it was last on.
#[derive(Clone, Debug)]
pub(super) struct ModeRow {
    pub(super) mode: SchedulerMode,
    pub(super) frame: Duration,
    pub(super) tagged: Duration,
    /// Over serial; `None` until both have been on.
    pub(super) speed_up: Option<f64>,
    pub(super) frames: u64,
}

/// Shares of the last second, 0 to 1; the rest since the settings changed.
#[derive(Clone, Debug)]
pub(super) struct WorkerRow {
    pub(super) index: usize,
    pub(super) busy: f64,
    pub(super) wait: f64,
    pub(super) idle: f64,
    pub(super) stolen_rows: u64,
    pub(super) rounds_left_out: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct SystemRow {
    pub(super) index: usize,
    /// Without the path of its module.
    pub(super) name: String,
    pub(super) full_name: String,
    pub(super) calls: u64,
    /// Of the recent calls.
    pub(super) mean: Duration,
    pub(super) p95: Duration,
    pub(super) max: Duration,
}

#[derive(Clone, Debug)]
pub(super) struct FrameRow {
    pub(super) number: u64,
    /// Until the next frame began.
    pub(super) frame: Duration,
    pub(super) tagged: Duration,
    pub(super) mode: SchedulerMode,
}

impl Snapshot {
    pub(super) fn refresh(&mut self, diagnostics: &AffinityDiagnostics) {
        self.imbalance = diagnostics.imbalance();
        self.same_core = diagnostics.same_core_share();
        self.migrated_rows = diagnostics.migrated_rows;
        self.migrations = diagnostics.migrations;
        self.call_sites.clone_from(&diagnostics.call_sites);
        self.modes.clear();
        self.modes.extend(SchedulerMode::ALL.iter().filter_map(|&mode| mode_row(diagnostics, mode)));
        self.workers.clear();
        self.workers.extend(diagnostics.workers.iter().map(worker_row));
        self.systems.resize_with(diagnostics.systems.len(), SystemRow::default);
        for (index, (row, system)) in self.systems.iter_mut().zip(&diagnostics.systems).enumerate() {
            row.refresh(index, system);
        }
        self.frames.clear();
        let next = diagnostics.history().skip(1);
        self.frames.extend(diagnostics.history().zip(next).map(|(frame, next)| frame_row(frame, next)));
    }
}

fn mode_row(diagnostics: &AffinityDiagnostics, mode: SchedulerMode) -> Option<ModeRow> {
    let known = diagnostics.mode(mode).filter(|known| known.frames > 0)?;
    Some(ModeRow {
        mode,
        frame: known.frame_time,
        tagged: known.tagged_time,
        speed_up: diagnostics.speed_up(mode),
        frames: known.frames,
    })
}

fn worker_row(worker: &WorkerDiagnostics) -> WorkerRow {
    let recent = worker.recent;
    WorkerRow {
        index: worker.index,
        busy: recent.busy,
        wait: recent.wait,
        idle: recent.idle,
        stolen_rows: worker.stolen_rows,
        rounds_left_out: worker.rounds_left_out,
    }
}

fn frame_row(frame: &FrameSpan, next: &FrameSpan) -> FrameRow {
    FrameRow { number: frame.number, frame: next.delta(), tagged: frame.tagged_time(), mode: frame.mode }
}

impl SystemRow {
    fn refresh(&mut self, index: usize, system: &SystemDiagnostics) {
        if self.full_name != system.name {
            self.full_name.clone_from(&system.name);
            self.name = short_name(&system.name);
        }
        self.index = index;
        self.calls = system.calls;
        self.mean = system.recent_mean;
        self.p95 = system.p95;
        self.max = system.max;
    }
}

/// A system's name without the paths of modules: `game::ai::think<game::Car>` becomes `think<Car>`.
fn short_name(name: &str) -> String {
    name.split_inclusive(['<', '>', ',', '(', ')', ' '])
        .map(|part| part.rsplit_once("::").map_or(part, |(_, last)| last))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_their_paths() {
        assert_eq!(short_name("game::ai::think<game::Car, f32>"), "think<Car, f32>");
        assert_eq!(short_name("drive"), "drive");
    }

    #[test]
    fn a_refresh_replaces_what_was_there() {
        let mut diagnostics = AffinityDiagnostics::default();
        let mut snapshot = Snapshot::default();
        let system = |name: &str| SystemDiagnostics { name: name.to_string(), calls: 2, ..Default::default() };
        diagnostics.systems = vec![system("game::a"), system("game::b")];
        snapshot.refresh(&diagnostics);
        snapshot.refresh(&diagnostics);
        let names: Vec<_> = snapshot.systems.iter().map(|row| (row.index, row.name.as_str(), row.calls)).collect();
        assert_eq!(names, [(0, "a", 2), (1, "b", 2)]);
    }
}
