//! Headless apps with plugins of others, each once as their users write it and once with tagged
//! systems.
//!
//! A [`Scenario`] has wide systems of its own beside the plugin. Its state must be the same to the
//! bit after every number of frames, whichever [`Way`] it runs.

pub mod hash;
pub mod physics;
pub mod replication;
pub mod space;

use std::time::Duration;

use bevy::{
    prelude::*,
    tasks::{ComputeTaskPool, TaskPoolBuilder},
    time::TimeUpdateStrategy,
};
use bevy_affinity::prelude::*;

/// Threads of the gang, and of Bevy's compute pool: both sides get the same.
const THREADS: usize = 2;

/// One step at Bevy's 64 Hz, exact in nanoseconds: each frame has one fixed step.
const STEP: Duration = Duration::from_micros(15_625);

/// How an app's wide systems run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// With `Query` and without our plugin.
    Plain,
    /// Tagged, with `AffineQuery` and our plugin.
    Tagged(SchedulerMode),
}

impl Way {
    /// Tagged, in each mode.
    pub fn tagged() -> impl Iterator<Item = Self> {
        SchedulerMode::ALL.iter().copied().map(Self::Tagged)
    }

    /// An app without plugins of others, whose frames take one step each.
    pub fn app(self) -> App {
        // Bevy keeps the first pool of a process.
        ComputeTaskPool::get_or_init(|| TaskPoolBuilder::new().num_threads(THREADS).build());
        let mut app = App::new();
        app.add_plugins(MinimalPlugins).insert_resource(TimeUpdateStrategy::ManualDuration(STEP));
        if let Self::Tagged(mode) = self {
            app.insert_resource(settings()).insert_resource(mode).add_plugins(AffinityParallelPlugin);
        }
        app
    }
}

/// Two workers that take part however busy the machine is.
pub fn settings() -> AffinitySettings {
    AffinitySettings { workers: WorkerCount::Exactly(THREADS), avoid_busy_cores: false, ..default() }
}

/// An app, or several, with a plugin of others.
pub trait Scenario {
    const NAME: &str;

    fn new(way: Way) -> Self;

    fn frame(&mut self);

    /// Of everything that may depend on how systems ran.
    fn state_hash(&mut self) -> u64;

    /// Those whose wide systems the scenario is about.
    fn apps(&self) -> Vec<&App>;
}

/// What an entity is called in every run, whatever Bevy calls it.
#[derive(Component, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct Id(pub u32);

/// What the wide systems of these apps take in a frame, all runs of late. Known of tagged ones
/// only.
pub fn time_of_tagged(apps: &[&App]) -> Duration {
    let diagnostics = apps.iter().filter_map(|app| app.world().get_resource::<AffinityDiagnostics>());
    diagnostics.flat_map(|diagnostics| &diagnostics.systems).map(|system| system.recent_mean).sum()
}

/// Rows that workers other than the leader swept.
pub fn rows_of_followers(diagnostics: &AffinityDiagnostics) -> u64 {
    diagnostics.workers.iter().skip(1).map(|worker| worker.swept_rows).sum()
}

/// Plugins of others set up resources when an app is finished, which only `App::run` does by
/// itself.
fn finish(app: &mut App) {
    app.finish();
    app.cleanup();
}
