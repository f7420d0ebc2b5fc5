//! Runs that take much longer than the others: paths are searched in every sixteenth frame, say.
//! They may be most of what a schedule takes, so what counts then is what runs take on average.

use super::way::{ScheduleWay, WAYS};

/// A run is heavy if it takes so many times as long as usual ...
const HEAVY: f32 = 4.0;

/// ... and so much longer, in nanoseconds: less may be chance.
const MUCH_LONGER: f32 = 100_000.0;

/// So many heavy ones among the last [`WINDOW`] are no chance, if what they take longer is at least
/// this part of what runs usually take.
const FEWEST: u32 = 3;
const LEAST_PART: f32 = 0.25;

/// Runs that the share of heavy ones is taken of: after as many, both counts are halved.
const WINDOW: u32 = 1_024;

/// When so many runs on end are heavy, that is what they usually take from now on.
const NEW_LEVEL: u32 = 12;

/// Where one run in so many is as much lighter than usual ...
const LIGHT: u32 = 8;

/// ... and so many were, these are the usual ones, and the others heavy.
const NEW_USUAL: u32 = 4;

/// A new time counts as one part in this many, and as twice the mean at most.
const SMOOTHING: f32 = 8.0;

/// Whether a run is heavy that takes so many nanoseconds where one usually takes `usual`.
pub(super) fn is_heavy(nanoseconds: f32, usual: f32) -> bool {
    nanoseconds > HEAVY * usual && nanoseconds > usual + MUCH_LONGER
}

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
}

/// What runs take by each way, and how many of them are heavy.
#[derive(Clone, Debug, Default)]
pub(super) struct Bursts {
    by_way: [RunTimes; WAYS],
    /// Runs of the present way, heavy ones among them, and those among the last ones without another
    /// in between.
    seen: u32,
    heavy: u32,
    on_end: u32,
    /// Runs that were much lighter than usual, and others since the first of these.
    light: u32,
    others: u32,
    /// Whether heavy runs count.
    uneven: bool,
}

impl Bursts {
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
        let longer = RunTimes { usual: times.heavy, heavy: None };
        self.count(heavy);
        self.count_light(light);
        if self.on_end == NEW_LEVEL {
            self.begin_anew(way, longer, 0);
        } else if self.light == NEW_USUAL {
            self.begin_anew(way, RunTimes { usual: Some(nanoseconds), heavy: Some(usual) }, self.others);
        }
        self.judge(way)
    }

    /// Counts anew, for runs by this way usually take something else than they did. Seen like that,
    /// so many of the last ones were heavy.
    fn begin_anew(&mut self, way: ScheduleWay, times: RunTimes, heavy: u32) {
        self.set(way, times);
        (self.seen, self.heavy, self.on_end) = (self.light + heavy, heavy, 0);
        (self.light, self.others) = (0, 0);
    }

    fn count_light(&mut self, light: bool) {
        self.light += u32::from(light);
        self.others += u32::from(!light);
        if self.others >= LIGHT * self.light {
            (self.light, self.others) = (0, 0);
        }
    }

    fn count(&mut self, heavy: bool) {
        if self.seen == WINDOW {
            (self.seen, self.heavy) = (self.seen / 2, self.heavy / 2);
        }
        self.seen += 1;
        self.heavy += u32::from(heavy);
        self.on_end = if heavy { self.on_end + 1 } else { 0 };
    }

    /// Decides whether heavy runs count.
    fn judge(&mut self, way: ScheduleWay) -> bool {
        let before = self.uneven;
        let RunTimes { usual, heavy } = self.by_way[way as usize];
        let part = usual.zip(heavy).map_or(0.0, |(usual, heavy)| self.part_heavy() * (heavy - usual) / usual.max(1.0));
        self.uneven = match before {
            true => self.heavy > 0 && part >= LEAST_PART / 4.0,
            false => self.heavy >= FEWEST && part >= LEAST_PART,
        };
        self.uneven != before
    }

    fn part_heavy(&self) -> f32 {
        self.heavy as f32 / self.seen.max(1) as f32
    }

    /// The part of runs that are heavy, if heavy runs count.
    pub(super) fn share(&self) -> Option<f32> {
        self.uneven.then(|| self.part_heavy())
    }

    /// Whether the last run was heavy: the next ones tell whether they all are now.
    pub(super) fn was_heavy(&self) -> bool {
        self.on_end > 0
    }

    pub(super) fn times(&self, way: ScheduleWay) -> RunTimes {
        self.by_way[way as usize]
    }

    /// What a run by this way takes on average, in nanoseconds, without heavy ones where they do not
    /// count; unknown before one was timed.
    pub(super) fn mean(&self, way: ScheduleWay) -> Option<f32> {
        let RunTimes { usual, heavy } = self.times(way);
        let (usual, heavy) = (usual?, heavy.or(usual)?);
        Some(usual + self.share().unwrap_or(0.0) * (heavy - usual).max(0.0))
    }

    /// Learns what a trial found.
    pub(super) fn learn(&mut self, way: ScheduleWay, RunTimes { usual, heavy }: RunTimes) {
        let known = self.times(way);
        self.set(way, RunTimes { usual: usual.or(known.usual), heavy: heavy.or(known.heavy) });
    }

    pub(super) fn set(&mut self, way: ScheduleWay, times: RunTimes) {
        self.by_way[way as usize] = times;
    }

    /// Forgets what the other ways take.
    pub(super) fn keep_only(&mut self, way: ScheduleWay) {
        let times = self.times(way);
        self.by_way = Default::default();
        self.set(way, times);
    }
}
