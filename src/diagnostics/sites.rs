//! What mode `Auto` chose, and why.

use std::{panic::Location, time::Duration};

use super::places::Places;
use crate::{
    auto::{ChoiceReason, Explanation, Figure, Site, Strategy},
    context::Context,
    pool::now,
    settings::SchedulerMode,
};

/// A place in a program that starts parallel calls in mode [`Auto`](SchedulerMode::Auto), and how
/// they run.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// fn report(diagnostics: Res<AffinityDiagnostics>) {
///     for site in &diagnostics.call_sites {
///         let serial = site.expected(SchedulerMode::Serial);
///         println!("{}: runs as {:?}; {} rows on one thread would take {serial:?}", site.location, site.choice, site.rows);
///     }
/// }
/// # App::new().add_plugins(AffinityParallelPlugin).add_systems(Last, report).update();
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct CallSiteDiagnostics {
    /// The tagged system that it is in, as an index into
    /// [`AffinityDiagnostics::systems`](super::AffinityDiagnostics::systems).
    pub system: Option<usize>,
    /// Where `par_iter`, `par_iter_mut`, `due` or `fused` is called.
    pub location: &'static Location<'static>,
    /// Calls so far, without those that ran on one thread as their system was dealt out with others
    /// ([`ScheduleWay::OnTheGang`](crate::ScheduleWay::OnTheGang)).
    pub calls: u64,
    /// How often another way to run them was tried, mostly for three calls.
    pub trials: u64,
    /// Rows of one of the last calls that had about as many as usual: calls with far fewer, or
    /// none, are decided by what these took.
    pub rows: u64,
    /// How calls run now that find the workers as the last one did, asleep or awake: those are
    /// judged apart, and the reason and the measurements are of the same kind. As in mode
    /// [`Serial`](SchedulerMode::Serial), [`LockStep`](SchedulerMode::LockStep) or
    /// [`Heartbeat`](SchedulerMode::Heartbeat).
    pub choice: SchedulerMode,
    /// Why they run so.
    pub reason: ChoiceReason,
    measurements: [Option<CallMeasurement>; Strategy::MEASURED.len()],
}

/// What calls from one place were measured to take in one mode.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// fn report(diagnostics: Res<AffinityDiagnostics>) {
///     for site in &diagnostics.call_sites {
///         if let Some(known) = site.measurement(SchedulerMode::LockStep) {
///             println!("{}: {:?} in lock step, {:?} old", site.location, known.time, known.age);
///         }
///     }
/// }
/// # App::new().add_plugins(AffinityParallelPlugin).add_systems(Last, report).update();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallMeasurement {
    /// What a call of as many rows as the last one is expected to take.
    pub time: Duration,
    /// How many measurements that rests on; 0 if the world has changed since, so that it is to be
    /// measured again.
    pub samples: u32,
    /// How long ago the last of them was.
    pub age: Duration,
}

impl CallSiteDiagnostics {
    fn new(site: &Site, explanation: Explanation, places: &Places) -> Self {
        let Explanation { strategy, reason, rows, calls, trials, figures } = explanation;
        let (system, location) = (site.system().and_then(|number| places.find(number)), site.location());
        let now = now();
        let measurements = figures.map(|figure| figure.map(|figure| CallMeasurement::new(figure, now)));
        Self { system, location, calls, trials, rows, choice: strategy.mode(), reason, measurements }
    }

    /// What a call of as many rows is expected to take in `mode`; `None` if it was never tried,
    /// because it cannot be better, or is none that `Auto` chooses from.
    pub fn expected(&self, mode: SchedulerMode) -> Option<Duration> {
        self.measurement(mode).map(|known| known.time)
    }

    /// What a call took in `mode`, as [`expected`](Self::expected), and how well that is known.
    pub fn measurement(&self, mode: SchedulerMode) -> Option<CallMeasurement> {
        let strategy = Strategy::MEASURED.into_iter().find(|strategy| strategy.mode() == mode)?;
        self.measurements[strategy as usize]
    }
}

impl CallMeasurement {
    fn new(Figure { time, samples, measured_at }: Figure, now: u64) -> Self {
        Self { time, samples, age: Duration::from_nanos(now.saturating_sub(measured_at)) }
    }
}

/// Replaces what was known by what is. One worker has no choice: then none are known.
pub(super) fn pull_sites(known: &mut Vec<CallSiteDiagnostics>, context: &Context, places: &Places) {
    known.clear();
    if context.pool.workers() > 1 {
        context.sites.for_each(|site, explanation| known.push(CallSiteDiagnostics::new(site, explanation, places)));
    }
}
