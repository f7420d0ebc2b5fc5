//! The numbers that the panel shows: a copy, taken some times a second into buffers that are used
//! again.

use std::time::Duration;

use crate::{
    diagnostics::{
        AffinityDiagnostics, CallSiteDiagnostics, ModeDiagnostics, ScheduleDiagnostics, SystemDiagnostics,
        WorkerDiagnostics,
    },
    record::FrameSpan,
    settings::SchedulerMode,
};

#[derive(Debug, Default)]
pub(super) struct Snapshot {
    pub(super) modes: Vec<ModeDiagnostics>,
    pub(super) workers: Vec<WorkerDiagnostics>,
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
    pub(super) schedules: Vec<ScheduleDiagnostics>,
    /// Frames so far, and when the last one began on the pool's clock.
    pub(super) taken: (u64, u64),
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
    /// All calls of a frame together, and that as a part of the time from frame to frame; smoothed.
    pub(super) per_frame: Duration,
    pub(super) share: f64,
    /// All calls so far.
    pub(super) total: Duration,
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
        self.modes.clone_from(&diagnostics.modes);
        self.workers.clone_from(&diagnostics.workers);
        self.schedules.clone_from(&diagnostics.schedules);
        self.refresh_systems(diagnostics);
        self.frames.clear();
        let next = diagnostics.history().skip(1);
        self.frames.extend(diagnostics.history().zip(next).map(|(frame, next)| frame_row(frame, next)));
    }
}

/// What has passed from one refresh to the next.
#[derive(Clone, Copy)]
struct Passed {
    frames: u64,
    time: Duration,
}

/// A refresh counts as one part in this many: the figures follow in about a second.
const SMOOTHING: f64 = 4.0;

impl Snapshot {
    fn refresh_systems(&mut self, diagnostics: &AffinityDiagnostics) {
        let begin = diagnostics.history().next_back().map_or(0, |frame| frame.begin);
        let passed = Passed {
            frames: diagnostics.frames.saturating_sub(self.taken.0),
            time: Duration::from_nanos(begin.saturating_sub(self.taken.1)),
        };
        self.taken = (diagnostics.frames, begin);
        self.systems.resize_with(diagnostics.systems.len(), SystemRow::default);
        for (index, (row, system)) in self.systems.iter_mut().zip(&diagnostics.systems).enumerate() {
            row.refresh(index, system, passed);
        }
    }
}

fn frame_row(frame: &FrameSpan, next: &FrameSpan) -> FrameRow {
    FrameRow { number: frame.number, frame: next.delta(), tagged: frame.tagged_time(), mode: frame.mode }
}

impl SystemRow {
    fn refresh(&mut self, index: usize, system: &SystemDiagnostics, passed: Passed) {
        if self.full_name != system.name {
            *self = Self { name: short_name(&system.name), full_name: system.name.clone(), ..Self::default() };
        } else if passed.frames > 0 && !passed.time.is_zero() {
            self.note(system.total.saturating_sub(self.total), passed);
        }
        self.total = system.total;
        self.index = index;
        self.calls = system.calls;
        self.mean = system.recent_mean;
        self.p95 = system.p95;
        self.max = system.max;
    }

    /// Takes in what the calls since the last refresh took.
    fn note(&mut self, spent: Duration, passed: Passed) {
        let per_frame = spent.as_secs_f64() / passed.frames as f64;
        let share = spent.div_duration_f64(passed.time);
        // The first figure is taken as it is.
        let weight = if self.share == 0.0 { 1.0 } else { 1.0 / SMOOTHING };
        let before = self.per_frame.as_secs_f64();
        self.per_frame = Duration::from_secs_f64(before + (per_frame - before) * weight);
        self.share += (share - self.share) * weight;
    }
}

/// A system's name with the last module of its path, and none in its parameters:
/// `game::ai::think<game::Car>` becomes `ai::think<Car>`.
fn short_name(name: &str) -> String {
    let last = |part: &str, keep: usize| {
        let start = part.rmatch_indices("::").nth(keep).map_or(0, |(at, _)| at + 2);
        part[start..].to_string()
    };
    let mut parts = name.split_inclusive(['<', '>', ',', '(', ')', ' ']);
    let own = parts.next().map_or_else(String::new, |part| last(part, 1));
    own + &parts.map(|part| last(part, 0)).collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_one_module_of_their_paths() {
        assert_eq!(short_name("game::ai::think<game::Car, f32>"), "ai::think<Car, f32>");
        assert_eq!(short_name("game::think"), "game::think");
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
        assert_eq!(names, [(0, "game::a", 2), (1, "game::b", 2)]);
    }

    #[test]
    fn a_system_has_its_part_of_the_frame() {
        let mut row = SystemRow::default();
        let passed = Passed { frames: 10, time: Duration::from_millis(160) };
        let after = |milliseconds| SystemDiagnostics {
            name: "game::a".to_string(),
            total: Duration::from_millis(milliseconds),
            ..Default::default()
        };
        row.refresh(0, &after(1_000), passed);
        assert_eq!(row.per_frame, Duration::ZERO, "what was before is not of this frame");
        // 4 ms in each frame of 16 ms.
        (1..20).for_each(|refresh| row.refresh(0, &after(1_000 + 40 * refresh), passed));
        assert!((row.share - 0.25).abs() < 1e-6 && row.per_frame.abs_diff(Duration::from_millis(4)).as_nanos() < 100);
    }
}
