//! How long tagged systems take.

use std::{sync::Arc, time::Duration};

use super::AffinityDiagnostics;
use crate::record::{Recent, SystemTiming};

/// How long one tagged system takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SystemDiagnostics {
    /// The system's name.
    pub name: String,
    /// How often it ran.
    pub calls: u64,
    /// All runs together.
    pub total: Duration,
    /// Mean duration of a run.
    pub mean: Duration,
    /// Mean duration of the last 128 runs; refreshed every 16 frames.
    pub recent_mean: Duration,
    /// 95 of 100 recent runs took no longer; refreshed every 16 frames.
    pub p95: Duration,
    /// The longest run.
    pub max: Duration,
}

/// How often what recent runs say is computed: some times a second, as fast as one can read it.
const FRAMES_PER_RECENT: u64 = 16;

impl AffinityDiagnostics {
    pub(super) fn pull_systems(&mut self, systems: &[Arc<SystemTiming>]) {
        self.systems.resize_with(systems.len(), SystemDiagnostics::default);
        let with_recent = self.frames % FRAMES_PER_RECENT == 1;
        for (system, timing) in self.systems.iter_mut().zip(systems) {
            system.pull(timing, with_recent);
        }
    }
}

impl SystemDiagnostics {
    fn pull(&mut self, timing: &SystemTiming, with_recent: bool) {
        if self.name.is_empty() {
            self.name = timing.name.as_ref().into();
        }
        self.calls = timing.calls();
        self.total = timing.total();
        self.mean = self.total / u32::try_from(self.calls).unwrap_or(u32::MAX).max(1);
        self.max = timing.longest();
        if with_recent {
            Recent { mean: self.recent_mean, p95: self.p95 } = timing.recent();
        }
    }
}
