//! What an executor and those who look at it share.

use std::sync::{
    Arc, Mutex, OnceLock,
    atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering},
};

use bevy_ecs::schedule::InternedScheduleLabel;

use super::{
    race::{Race, Standing},
    way::ScheduleWay,
};
use crate::{record::Recorder, sync::lock};

/// What the [`AffinityExecutor`](super::AffinityExecutor) of one schedule says, and is told. No
/// other data is published by these atomics, so they are all relaxed.
#[derive(Debug)]
pub(crate) struct ScheduleRecord {
    runs: AtomicU64,
    explanation: Mutex<Standing>,
    /// The way of the last run if there was no choice, as its number; otherwise [`CHOICE`].
    only_way: AtomicU8,
    /// Whether all runs are to go by Bevy's default executor.
    plain: AtomicBool,
    /// Where runs are recorded, and under which name.
    traced: OnceLock<Traced>,
}

/// There was one.
const CHOICE: u8 = u8::MAX;

/// Where the runs of a schedule are recorded.
#[derive(Debug)]
pub(super) struct Traced {
    pub(super) name: Arc<str>,
    pub(super) recorder: Arc<Recorder>,
}

impl ScheduleRecord {
    pub(super) fn new(race: &Race) -> Arc<Self> {
        let explanation = Mutex::new(race.explain());
        Arc::new(Self {
            runs: AtomicU64::new(0),
            explanation,
            only_way: AtomicU8::new(CHOICE),
            plain: AtomicBool::new(false),
            traced: OnceLock::new(),
        })
    }

    /// The executor is the only one that writes here.
    #[inline]
    pub(super) fn set_runs(&self, runs: u64) {
        self.runs.store(runs, Ordering::Relaxed);
    }

    pub(super) fn explain(&self, race: &Race) {
        *lock(&self.explanation) = race.explain();
    }

    /// How often the schedule has run since it changed.
    pub(crate) fn runs(&self) -> u64 {
        self.runs.load(Ordering::Relaxed)
    }

    /// Says whether there is a choice of ways, or only this one.
    #[inline]
    pub(super) fn set_only_way(&self, way: Option<ScheduleWay>) {
        self.only_way.store(way.map_or(CHOICE, |way| way as u8), Ordering::Relaxed);
    }

    pub(crate) fn explanation(&self) -> Standing {
        let explanation = *lock(&self.explanation);
        let only_way = ScheduleWay::ALL.get(usize::from(self.only_way.load(Ordering::Relaxed)));
        Standing { way: only_way.copied().unwrap_or(explanation.way), ..explanation }
    }

    /// Has runs recorded as those of `schedule` whenever `recorder` records.
    pub(crate) fn trace(&self, schedule: InternedScheduleLabel, recorder: &Arc<Recorder>) {
        self.traced.get_or_init(|| Traced { name: format!("{schedule:?}").into(), recorder: recorder.clone() });
    }

    /// Where a run is to be recorded, if it is.
    #[inline]
    pub(super) fn traced(&self) -> Option<&Traced> {
        self.traced.get().filter(|traced| traced.recorder.recording().is_on())
    }

    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.plain.load(Ordering::Relaxed)
    }

    /// Has all runs from now on go by Bevy's default executor, or not.
    pub(crate) fn set_plain(&self, plain: bool) {
        self.plain.store(plain, Ordering::Relaxed);
    }
}
