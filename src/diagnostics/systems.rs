//! How long tagged systems take.

use std::time::Duration;

use super::{
    AffinityDiagnostics,
    places::{Placed, Places},
};
use crate::record::{Recent, SystemTiming};

/// How long one tagged system takes.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// fn report(diagnostics: Res<AffinityDiagnostics>) {
///     for system in &diagnostics.systems {
///         println!("{}: {} calls of {:?}, at most {:?}", system.name, system.calls, system.mean, system.max);
///     }
/// }
/// # App::new().add_plugins(AffinityParallelPlugin).add_systems(Last, report).update();
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SystemDiagnostics {
    /// The system's name. No two systems have the same: if a function was tagged more than once,
    /// all but the first have `#2`, `#3` and so on behind it. `_` if it has none, empty in a vacant
    /// place.
    pub name: String,
    /// How often it ran. A system that is skipped, by a run condition or because a parameter is
    /// missing, does not run.
    pub calls: u64,
    /// All runs together. Of runs of less than 4 us one in eight is timed, of less than 1 us one in
    /// 25, while the [`AffinityTimeline`](crate::AffinityTimeline) does not record; the others
    /// count as long as these are on average. After a longer run the next 128 are all timed.
    pub total: Duration,
    /// Mean duration of a run.
    pub mean: Duration,
    /// Mean duration of the last 128 runs; refreshed some times a second.
    pub recent_mean: Duration,
    /// 95 of 100 recent runs took no longer; refreshed some times a second.
    pub p95: Duration,
    /// The longest run that was timed.
    pub max: Duration,
    /// Which system it is; `None` in a vacant place.
    pub(crate) number: Option<usize>,
    /// Whether what recent runs say was computed in this frame.
    pub(crate) is_fresh: bool,
}

impl AffinityDiagnostics {
    /// `with_recent` says whether it is time to compute what recent runs say.
    pub(super) fn pull_systems(&mut self, places: &Places, with_recent: bool) {
        self.systems.resize_with(places.len(), SystemDiagnostics::default);
        // All of them: the diagnostics may be of another moment than the places.
        for (place, system) in self.systems.iter_mut().enumerate() {
            if system.number.is_some() && places.is_vacant(place) {
                *system = SystemDiagnostics::default();
            }
        }
        for Placed { place, name, system: timing } in places.systems() {
            let system = &mut self.systems[place];
            let is_new = system.number != Some(timing.number());
            if is_new {
                let number = Some(timing.number());
                *system = SystemDiagnostics { name: name.to_string(), number, ..Default::default() };
            }
            system.pull(&timing, with_recent || is_new);
        }
    }
}

impl SystemDiagnostics {
    fn pull(&mut self, timing: &SystemTiming, with_recent: bool) {
        self.calls = timing.calls();
        self.total = timing.total();
        self.mean = Duration::from_nanos_u128(self.total.as_nanos() / u128::from(self.calls.max(1)));
        self.max = timing.longest();
        self.is_fresh = with_recent;
        if with_recent {
            Recent { mean: self.recent_mean, p95: self.p95 } = timing.recent();
        }
    }
}
