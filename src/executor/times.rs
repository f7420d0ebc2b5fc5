//! What runs of a schedule take by each way, with those that take much longer than the others.

use super::way::{ScheduleWay, WAYS};
use crate::auto::{HeavyFraction, is_heavy};

/// A way that takes this many times as long as another needs no second look.
pub(super) const HOPELESS: f32 = 2.0;

/// When this many runs on end are heavy, that is what they usually take from now on.
const NEW_LEVEL: u32 = 12;

/// Where more than one run in this many is as much lighter than usual ...
const LIGHT: u32 = 8;

/// ... and this many were, these are the usual ones, and the others heavy.
const NEW_USUAL: u32 = 4;

/// A new time counts as one part in this many, and as twice the mean at most.
pub(super) const SMOOTHING: f32 = 8.0;

/// Runs that the fraction of heavy ones is taken of: at 60 a second, one that comes every 10
/// seconds is seen as one of several.
const WINDOW: u32 = 4_096;

/// A new deviation counts as one part in this many.
const OF_DEVIATION: f32 = 16.0;

/// `mean`, if there is one, with another time.
pub(super) fn smoothed(mean: Option<f32>, nanoseconds: f32) -> f32 {
    mean.map_or(nanoseconds, |mean| mean + (nanoseconds.min(mean * 2.0) - mean) / SMOOTHING)
}

/// What runs take by one way, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct RunTimes {
    /// Usual ones; unknown before one was timed.
    pub(super) usual: Option<f32>,
    /// Heavy ones, if there are any.
    pub(super) heavy: Option<f32>,
}

impl RunTimes {
    /// Of runs that all take about as long.
    pub(super) fn even(usual: f32) -> Self {
        Self { usual: Some(usual), heavy: None }
    }

    /// Of runs that take `times` times as long.
    pub(super) fn scaled(self, times: f32) -> Self {
        Self { usual: self.usual.map(|usual| usual * times), heavy: self.heavy.map(|heavy| heavy * times) }
    }
}

/// What a trial found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) current: RunTimes,
    pub(super) other: RunTimes,
}

/// Where a trial is after one more run.
#[derive(Clone, Copy, Debug)]
pub(super) enum Progress {
    GoesOn,
    /// Over, if no more is to be paid for it: this was found, and may be chance.
    Unsure(Found),
    Over(Found),
    /// Over, and nothing was found: what it waited for does not come any more.
    InVain,
}

/// What runs take by each way, and how many of them are heavy.
#[derive(Clone, Debug, Default)]
pub(super) struct WayTimes {
    by_way: [RunTimes; WAYS],
    /// Of the current way.
    fraction: HeavyFraction,
    /// By what part of the mean usual runs differ from it.
    deviation: f32,
    /// Runs that were much lighter than usual, and others since the first of these.
    light: u32,
    others: u32,
}

impl WayTimes {
    /// Notes what a run by `way` took. Returns whether from now on heavy runs count that did not,
    /// or the other way round.
    pub(super) fn note(&mut self, way: ScheduleWay, nanoseconds: f32) -> bool {
        let times = &mut self.by_way[way as usize];
        let usual = *times.usual.get_or_insert(nanoseconds);
        let (heavy, light) = (is_heavy(nanoseconds, usual), is_heavy(usual, nanoseconds));
        if !light {
            let mean = if heavy { &mut times.heavy } else { &mut times.usual };
            *mean = Some(smoothed(*mean, nanoseconds));
        }
        if !light && !heavy {
            self.deviation += ((nanoseconds / usual.max(1.0) - 1.0).abs().min(1.0) - self.deviation) / OF_DEVIATION;
        }
        let longer = RunTimes { usual: times.heavy, heavy: None };
        self.fraction.note(heavy, WINDOW);
        self.count_light(light);
        if self.fraction.on_end() == NEW_LEVEL {
            self.begin_anew(way, longer, 0);
        } else if self.light == NEW_USUAL {
            self.begin_anew(way, RunTimes { usual: Some(nanoseconds), heavy: Some(usual) }, self.others);
        }
        let RunTimes { usual, heavy } = self.times(way);
        let usual = usual.unwrap_or(nanoseconds);
        self.fraction.judge(usual, heavy.unwrap_or(usual))
    }

    /// Counts anew, for runs by this way usually take something else than they did. Compared with
    /// the new usual time, `heavy` of the last ones were heavy.
    fn begin_anew(&mut self, way: ScheduleWay, times: RunTimes, heavy: u32) {
        self.set(way, times);
        self.fraction.restart(self.light + heavy, heavy);
        (self.light, self.others, self.deviation) = (0, 0, 0.0);
    }

    fn count_light(&mut self, light: bool) {
        self.light += u32::from(light);
        self.others += u32::from(!light);
        if self.others >= LIGHT * self.light {
            (self.light, self.others) = (0, 0);
        }
    }

    /// The part of runs that are heavy, if heavy runs count.
    pub(super) fn heavy_fraction(&self) -> Option<f32> {
        self.fraction.get()
    }

    /// Whether several of the last runs were heavy, whether or not they count.
    pub(super) fn are_some_heavy(&self) -> bool {
        self.fraction.are_some()
    }

    /// Whether the last run was heavy: the next ones tell whether they all are now.
    pub(super) fn was_heavy(&self) -> bool {
        self.fraction.on_end() > 0
    }

    /// By what part of their mean usual runs by the current way differ from it.
    pub(super) fn deviation(&self) -> f32 {
        self.deviation
    }

    pub(super) fn times(&self, way: ScheduleWay) -> RunTimes {
        self.by_way[way as usize]
    }

    /// What a run by this way takes on average, in nanoseconds, without heavy ones where they do
    /// not count; unknown before one was timed.
    pub(super) fn mean(&self, way: ScheduleWay) -> Option<f32> {
        let RunTimes { usual, heavy } = self.times(way);
        let (usual, heavy) = (usual?, heavy.or(usual)?);
        Some(self.fraction.mean(usual, heavy))
    }

    /// Learns what a trial found.
    pub(super) fn learn(&mut self, way: ScheduleWay, RunTimes { usual, heavy }: RunTimes) {
        let known = self.times(way);
        self.set(way, RunTimes { usual: usual.or(known.usual), heavy: heavy.or(known.heavy) });
    }

    pub(super) fn set(&mut self, way: ScheduleWay, times: RunTimes) {
        self.by_way[way as usize] = times;
    }

    /// Multiplies what ways other than `way` took by `times`; forgets it where that is not known.
    pub(super) fn take_others_for(&mut self, way: ScheduleWay, times: Option<f32>) {
        for (_, other) in self.by_way.iter_mut().enumerate().filter(|&(place, _)| place != way as usize) {
            *other = times.map_or_else(RunTimes::default, |times| other.scaled(times));
        }
    }
}
