//! In what words a [`Model`](super::model::Model) says what it chose, and why.

use std::time::Duration;

use super::Strategy;

/// Why calls from one place run as they do.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::{ChoiceReason, prelude::*};
///
/// fn report(diagnostics: Res<AffinityDiagnostics>) {
///     for site in &diagnostics.call_sites {
///         println!("{}: {}, {}", site.location, site.reason, site.reason == ChoiceReason::TooShort);
///     }
/// }
/// # App::new().add_plugins(AffinityParallelPlugin).add_systems(Last, report).update();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ChoiceReason {
    /// There is no worker besides the leader, or all others are left out.
    Alone,
    /// It was not measured often enough yet to compare.
    Unmeasured,
    /// Another way is being tried.
    Trial,
    /// On one thread it takes no longer than a round would at best.
    TooShort,
    /// It takes least of the ways that were measured.
    Fastest,
    /// One thread would take less, but the calls that follow gain because this one wakes the
    /// workers.
    ForOthers,
}

impl std::fmt::Display for ChoiceReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Alone => "no other worker at hand",
            Self::Unmeasured => "not measured yet",
            Self::Trial => "trying another way",
            Self::TooShort => "too short for a round",
            Self::Fastest => "least of those measured",
            Self::ForOthers => "wakes workers for the calls that follow",
        })
    }
}

/// What is known of one way to run calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figure {
    pub(crate) time: Duration,
    pub(crate) samples: u32,
    /// On the pool's clock.
    pub(crate) measured_at: u64,
}

/// What a model would say of itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Explanation {
    pub(crate) strategy: Strategy,
    pub(crate) reason: ChoiceReason,
    pub(crate) rows: u64,
    pub(crate) calls: u64,
    pub(crate) trials: u64,
    /// What a call is expected to take by each strategy, if it was ever taken.
    pub(crate) figures: [Option<Figure>; Strategy::MEASURED_COUNT],
}
