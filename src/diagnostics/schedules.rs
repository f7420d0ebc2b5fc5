//! How each schedule runs, and why.

use std::time::Duration;

use bevy_ecs::schedule::InternedScheduleLabel;

use crate::{
    executor::{ScheduleRecord, ScheduleWay, Standing},
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
///         println!("{}: {:?}; on threads {threads:?}", schedule.label, schedule.choice);
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
    schedule: InternedScheduleLabel,
}

impl ScheduleDiagnostics {
    fn new(schedule: InternedScheduleLabel, record: &ScheduleRecord) -> Self {
        let Standing { way: choice, .. } = record.explanation();
        let mut new =
            Self { label: format!("{schedule:?}"), choice, runs: 0, trials: 0, expected: Default::default(), schedule };
        new.pull(record);
        new
    }

    fn pull(&mut self, record: &ScheduleRecord) {
        let Standing { way, trials, times } = record.explanation();
        (self.choice, self.runs, self.trials) = (way, record.runs(), trials);
        self.expected = times.map(|time| time.map(|nanoseconds| Duration::from_nanos(nanoseconds as u64)));
    }

    /// What a run is expected to take in this way, on average where some take far longer than
    /// others again and again; `None` if it was not measured since the schedule changed, because it
    /// cannot be better, or could take much longer.
    pub fn expected(&self, way: ScheduleWay) -> Option<Duration> {
        self.expected[way as usize]
    }
}

/// Brings up to date what is known. Labels are made anew only where schedules have come or gone.
pub(super) fn pull_schedules(known: &mut Vec<ScheduleDiagnostics>, looked_into: Option<&LookedInto>) {
    let Some(looked_into) = looked_into else { return known.clear() };
    let mut are_known = known.len() == looked_into.records().count();
    for schedule in &mut *known {
        match looked_into.record(schedule.schedule) {
            Some(record) => schedule.pull(record),
            None => are_known = false,
        }
    }
    if !are_known {
        *known = looked_into.records().map(|(label, record)| ScheduleDiagnostics::new(label, record)).collect();
        known.sort_unstable_by(|a, b| a.label.cmp(&b.label));
    }
}
