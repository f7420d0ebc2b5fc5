//! How each schedule runs, and why.

use std::time::Duration;

use crate::{
    executor::{Explanation, ScheduleRecord, ScheduleWay},
    schedule::LookedInto,
};

/// How one schedule runs that the plugin gave an [`AffinityExecutor`](crate::AffinityExecutor).
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::{ScheduleWay, prelude::*};
///
/// fn report(diagnostics: Res<AffinityDiagnostics>) {
///     for schedule in &diagnostics.schedules {
///         let threads = schedule.expected(ScheduleWay::BevysThreads);
///         println!("{}: runs by {:?}; on threads it would take {threads:?}", schedule.label, schedule.choice);
///     }
/// }
/// # App::new().add_plugins(AffinityParallelPlugin).add_systems(Last, report).update();
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ScheduleDiagnostics {
    /// The schedule's label, as its `Debug` shows it.
    pub label: String,
    /// How it runs now.
    pub choice: ScheduleWay,
    /// Runs since the schedule changed.
    pub runs: u64,
    /// How often another way was tried since then, for up to four runs each time.
    pub trials: u64,
    expected: [Option<Duration>; ScheduleWay::ALL.len()],
}

impl ScheduleDiagnostics {
    fn new(label: String, record: &ScheduleRecord) -> Self {
        let Explanation { way, trials, times } = record.explanation();
        let expected = times.map(|time| time.map(|nanoseconds| Duration::from_nanos(nanoseconds as u64)));
        Self { label, choice: way, runs: record.runs(), trials, expected }
    }

    /// What a run is expected to take in this way; `None` if it was not measured since the schedule
    /// changed, because it cannot be better, or could take much longer.
    pub fn expected(&self, way: ScheduleWay) -> Option<Duration> {
        self.expected[way as usize]
    }
}

/// Replaces what was known by what is.
pub(super) fn pull_schedules(known: &mut Vec<ScheduleDiagnostics>, looked_into: Option<&LookedInto>) {
    let records = looked_into.into_iter().flat_map(LookedInto::records);
    *known = records.map(|(label, record)| ScheduleDiagnostics::new(format!("{label:?}"), record)).collect();
    known.sort_unstable_by(|a, b| a.label.cmp(&b.label));
}
