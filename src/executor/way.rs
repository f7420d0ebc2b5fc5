//! The ways to run a schedule.

/// How a schedule runs.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::{ScheduleWay, prelude::*};
///
/// fn report(diagnostics: Res<AffinityDiagnostics>) {
///     for schedule in &diagnostics.schedules {
///         if schedule.choice == ScheduleWay::BevysThreads {
///             println!("{} runs on Bevy's threads", schedule.label);
///         }
///     }
/// }
/// # App::new().add_plugins(AffinityParallelPlugin).add_systems(Last, report).update();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ScheduleWay {
    /// By Bevy's [`SingleThreadedExecutor`](bevy_ecs::schedule::SingleThreadedExecutor): one system
    /// after another on the thread that runs the schedule.
    OneThread,
    /// By Bevy's [`MultiThreadedExecutor`](bevy_ecs::schedule::MultiThreadedExecutor): each system
    /// as a task, on Bevy's compute threads.
    BevysThreads,
    /// On the gang: systems that do not conflict run at a time, each on the same core from frame to
    /// frame but where a late worker is helped, and wide tagged ones have the whole gang in
    /// between. Systems that conflict run in the order of the single-threaded executor.
    OnTheGang,
}

impl ScheduleWay {
    /// Every way.
    pub const ALL: &[Self] = &[Self::OneThread, Self::BevysThreads, Self::OnTheGang];

    /// In words: `on one thread`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OneThread => "on one thread",
            Self::BevysThreads => "on Bevy's threads",
            Self::OnTheGang => "on the gang",
        }
    }
}

/// How many ways there are.
pub(super) const WAYS: usize = ScheduleWay::ALL.len();
