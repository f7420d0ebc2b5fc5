//! Which way of running a schedule takes least. Pure: times in, a decision out.

#[cfg(test)]
mod tests;

use super::{
    trial::{Found, HOPELESS, RUNS, Trial},
    way::ScheduleWay,
};

/// One run in this many is timed: two readings of the clock take half as long as a schedule with
/// one empty system.
const RUNS_PER_SAMPLE: u32 = 8;

/// Trials may cost one part in this many of the time that runs take: 1.6%.
const BUDGET: f32 = 64.0;

/// What the trials of a schedule may cost at first, in nanoseconds: most schedules are decided
/// within a dozen runs.
const FIRST_BUDGET: f32 = 4_000_000.0;

/// No single run is put at risk of taking this much longer, in nanoseconds: about a frame.
const LARGEST_RISK: f32 = 20_000_000.0;

/// Another way is taken if it needs less than this part of what the present one needs.
const BETTER: f32 = 0.97;

/// Bevy's threads need this long for the smallest schedule, in nanoseconds: a task and a wake-up.
/// What takes less on one thread stays there.
const LEAST_OF_THREADS: f32 = 4_000.0;

/// What a run on Bevy's threads may take longer before any was timed: 50 us for 100 empty systems
/// on two cores, twice that while they wake up.
const UNKNOWN_OF_THREADS: f32 = 100_000.0;

/// Systems of a schedule seldom keep more threads than this busy at a time, so one thread takes no
/// longer than that many times what they take.
const BUSIEST: usize = 4;

/// Runs between trials: doubles each time the answer is the same. What comes close may soon be
/// better; what is hopeless is not tried again for a quarter of an hour at 60 runs a second.
const FIRST_INTERVAL: u32 = 8;
const LONGEST_INTERVAL_OF_THE_CLOSE: u32 = 1 << 11;
const LONGEST_INTERVAL: u32 = 1 << 14;
const LONGEST_INTERVAL_OF_THE_HOPELESS: u32 = 1 << 16;
const CLOSE: f32 = 1.25;

/// When runs take this many times as long as in the last trial, or one part in it, the schedule
/// does something else than then.
const DRIFT: f32 = 1.5;

/// A new time counts as one part in this many, and as twice the mean at most.
const SMOOTHING: f32 = 8.0;

/// What is to be done with one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decision {
    pub(super) way: ScheduleWay,
    pub(super) timed: bool,
}

/// What is known of the runs of one schedule.
#[derive(Debug)]
pub(super) struct Race {
    present: ScheduleWay,
    /// What a run takes by each way, in nanoseconds; unknown before it was timed.
    times: [Option<f32>; ScheduleWay::ALL.len()],
    trial: Option<Trial>,
    /// What the present way took when the last trial ended.
    at_trial: Option<f32>,
    /// Runs until the next trial, and between two.
    wait: u32,
    interval: u32,
    /// Nanoseconds that trials may cost.
    budget: f32,
    /// Runs since one was timed outside of a trial.
    untimed: u32,
    /// Since the schedule changed.
    runs: u64,
    trials: u64,
}

impl Race {
    /// Begins with Bevy's default: a schedule that runs once, as `Startup` does, takes no longer
    /// than it would.
    pub(super) fn new() -> Self {
        Self {
            present: ScheduleWay::BevysThreads,
            times: [None; ScheduleWay::ALL.len()],
            trial: None,
            at_trial: None,
            wait: 0,
            interval: FIRST_INTERVAL,
            budget: FIRST_BUDGET,
            untimed: 0,
            runs: 0,
            trials: 0,
        }
    }

    /// Forgets what was measured, for the schedule has changed. The way stays: most changes are
    /// small. So does what is left to spend, or schedules that change often would spend it often.
    pub(super) fn forget(&mut self) {
        *self = Self { present: self.present, budget: self.budget, ..Self::new() };
    }

    /// A run for which there is only this way.
    pub(super) fn count(&mut self, way: ScheduleWay) -> Decision {
        self.runs += 1;
        Decision { way, timed: false }
    }

    /// How the next run is to be.
    #[inline]
    pub(super) fn choose(&mut self) -> Decision {
        self.runs += 1;
        if let Some(trial) = &self.trial {
            return Decision { way: trial.next(), timed: true };
        }
        self.untimed += 1;
        // The very first run fetches everything into the caches.
        let timed = self.untimed >= RUNS_PER_SAMPLE || (self.runs > 1 && self.time(self.present).is_none());
        Decision { way: self.present, timed }
    }

    /// Learns what a run took that was to be timed. `threads` says how many threads Bevy has for
    /// systems.
    pub(super) fn observe(&mut self, nanoseconds: u64, threads: impl FnOnce() -> usize) {
        let nanoseconds = nanoseconds as f32;
        if let Some(trial) = &mut self.trial {
            if let Some(found) = trial.observe(nanoseconds) {
                self.end_trial(found);
            }
            return;
        }
        let runs = std::mem::take(&mut self.untimed);
        self.budget += nanoseconds * runs as f32 / BUDGET;
        self.wait = self.wait.saturating_sub(runs);
        let time = smoothed(self.time(self.present), nanoseconds);
        self.times[self.present as usize] = Some(time);
        self.notice(time);
        self.reconsider(time, threads);
    }

    /// What was learned of the other way does not hold any more if the schedule takes much longer
    /// or shorter than then.
    fn notice(&mut self, time: f32) {
        let drift = self.at_trial.map_or(1.0, |before| time / before.max(1.0));
        if !(1.0 / DRIFT..DRIFT).contains(&drift) {
            self.times[self.present.other() as usize] = None;
            (self.at_trial, self.wait, self.interval) = (Some(time), 0, FIRST_INTERVAL);
        }
    }

    /// Begins a trial if it is time for one and it costs no more than it may.
    fn reconsider(&mut self, time: f32, threads: impl FnOnce() -> usize) {
        let other = self.present.other();
        if self.wait > 0 || (other == ScheduleWay::BevysThreads && time < LEAST_OF_THREADS) {
            return;
        }
        let (risk, runs) = self.risk(time, threads);
        let cost = risk * runs as f32;
        if cost <= self.budget && risk <= LARGEST_RISK {
            self.budget -= cost;
            self.trials += 1;
            self.trial = Some(Trial::of(other, time + risk));
        }
    }

    /// How much longer a run by the other way may take, and how many a trial has that do.
    fn risk(&self, time: f32, threads: impl FnOnce() -> usize) -> (f32, usize) {
        match (self.time(self.present.other()), self.present) {
            (Some(other), _) if other >= time * HOPELESS => (other - time, 1),
            (Some(other), _) => ((other - time).max(0.0), RUNS),
            (None, ScheduleWay::BevysThreads) => (time * threads().clamp(1, BUSIEST) as f32, 1),
            (None, ScheduleWay::OneThread) => (UNKNOWN_OF_THREADS, 1),
        }
    }

    fn end_trial(&mut self, Found { present, other }: Found) {
        self.trial = None;
        self.times[self.present as usize] = Some(present);
        self.times[self.present.other() as usize] = Some(other);
        let slower = other / present.max(1.0);
        let longest = match slower {
            ..CLOSE => LONGEST_INTERVAL_OF_THE_CLOSE,
            ..HOPELESS => LONGEST_INTERVAL,
            _ => LONGEST_INTERVAL_OF_THE_HOPELESS,
        };
        if slower < BETTER {
            self.present = self.present.other();
            // Tried again sooner, for it may have been chance.
            self.interval = (self.interval / 2).max(FIRST_INTERVAL);
        } else {
            self.interval = (self.interval * 2).min(longest);
        }
        (self.at_trial, self.wait) = (self.time(self.present), self.interval);
    }

    fn time(&self, way: ScheduleWay) -> Option<f32> {
        self.times[way as usize]
    }

    pub(super) fn runs(&self) -> u64 {
        self.runs
    }

    pub(super) fn explain(&self) -> Explanation {
        Explanation { way: self.present, trials: self.trials, times: self.times }
    }
}

fn smoothed(mean: Option<f32>, nanoseconds: f32) -> f32 {
    mean.map_or(nanoseconds, |mean| mean + (nanoseconds.min(mean * 2.0) - mean) / SMOOTHING)
}

/// What a [`Race`] would say of itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Explanation {
    pub(crate) way: ScheduleWay,
    pub(crate) trials: u64,
    /// Nanoseconds by way.
    pub(crate) times: [Option<f32>; ScheduleWay::ALL.len()],
}
