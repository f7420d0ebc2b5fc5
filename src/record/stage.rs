//! Stages of frames: what goes on outside of the workers.

use std::{sync::Arc, time::Duration};

/// Where a stage goes on.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::{StageLane, prelude::*};
///
/// fn drawing(timeline: Res<AffinityTimeline>) {
///     let stages = timeline.stages().filter(|stage| stage.lane == StageLane::Rendering);
///     println!("{} stages of rendering are known", stages.count());
/// }
/// # App::new().add_plugins(AffinityParallelPlugin).add_systems(Last, drawing).update();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StageLane {
    /// In the app's own world: its schedules.
    Main,
    /// In the world that is rendered: beside the next frame of the app, if rendering is pipelined.
    /// Known in apps with the overlay (`AffinityOverlayPlugin`).
    Rendering,
}

/// One run of a schedule, or one part of rendering. A schedule that another one runs lies inside of
/// it. All times are in nanoseconds of [`AffinityTimeline::now`](crate::AffinityTimeline::now).
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// fn report(timeline: Res<AffinityTimeline>) {
///     for stage in timeline.stages() {
///         println!("{} took {:?}, {}", stage.name, stage.duration(), stage.detail);
///     }
/// }
/// # App::new().add_plugins(AffinityParallelPlugin).add_systems(Last, report).update();
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StageSpan {
    /// Where it went on.
    pub lane: StageLane,
    /// The schedule's label, as its `Debug` shows it; or what rendering did.
    pub name: Arc<str>,
    /// Of a schedule, how it ran: `on one thread`, `on Bevy's threads`, `on the gang`. Else empty.
    pub detail: &'static str,
    /// When it began.
    pub begin: u64,
    /// When it ended.
    pub end: u64,
}

impl StageSpan {
    /// How long it took.
    pub fn duration(&self) -> Duration {
        Duration::from_nanos(self.end.saturating_sub(self.begin))
    }
}
