//! Which way of running a schedule takes least. Pure: times in, a decision out.

mod risk;
#[cfg(test)]
mod tests;

use risk::{LESSONS, Risk, most_on_one_thread};

use super::{
    cycles::Cycles,
    times::{Found, HOPELESS, Progress, RunTimes, WayTimes},
    trial::{RUNS, WayTrial},
    way::{ScheduleWay, WAYS},
};
use crate::{
    auto::rival::{BETTER, Budget, CLOSE, LONGEST, LONGEST_OF_THE_CLOSE, Rival},
    record::{ALWAYS_TIMED, Sample, Sampling},
};

/// Trials may cost one part in this many of the time that runs take: 1.6%.
const BUDGET: f32 = 64.0;

/// What the trials of a schedule may cost at first, in nanoseconds: a frame is lost at most, as far
/// as can be told before. For that most schedules are decided within a dozen runs, also those that
/// take 4 ms because many threads wake each other: one thread may need an eighth of that, but until
/// it is tried it could as well be five times as much.
const FIRST_BUDGET: f32 = 16_000_000.0;

/// No single run is put at risk of taking this much longer, in nanoseconds: about a frame.
const LARGEST_RISK: f32 = 20_000_000.0;

/// Bevy's threads need this long for the smallest schedule, in nanoseconds: a task and a wake-up.
/// What takes less on one thread stays there.
const LEAST_OF_THREADS: f32 = 4_000.0;

/// No run counts as shorter, in nanoseconds: where a clock tells no less than 100 of them apart, a
/// mean of 0 would never grow.
const SHORTEST: f32 = 20.0;

/// Runs between trials: doubles each time the answer is the same.
const FIRST_INTERVAL: u32 = 8;

/// What is hopeless is tried, in the end, once in a quarter of an hour at 60 runs a second.
const LONGEST_OF_THE_HOPELESS: u32 = 1 << 16;

/// When runs take this many times as long as in the last trial, or one part in it, the schedule
/// does something else than then.
const DRIFT: f32 = 1.5;

/// And if it is as far as this, nothing can be said of what other ways take now.
const FAR: f32 = 4.0;

/// Runs are uneven if they differ by more than this part of their mean from it.
const UNEVEN: f32 = 0.1;

/// One of the dearer runs takes this many deviations more than the mean.
const DEARER: f32 = 1.5;

/// On one thread a schedule has to take this long before it is looked at whether the gang would
/// take less, in nanoseconds: it has to gain what its workers take to wake up.
const LEAST_OF_GANG: f32 = 40_000.0;

/// Runs that take this many nanoseconds are all timed, of shorter ones some, unless a few are far
/// heavier than the others. One that comes once in a frame finds little of what is known of its
/// schedule in the caches: to learn from it takes 2 us.
const LONG_RUN: f32 = 100_000.0;

/// Of the first runs of a schedule, this many, shorter ones are all timed, too.
const FIRST_TIMED: u64 = 64;

/// What is to be done with one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WayDecision {
    pub(super) way: ScheduleWay,
    pub(super) timed: bool,
    /// Whether it runs on one thread in any case and tells what each system takes.
    pub(super) lesson: bool,
    /// Whether more than the time is measured: on the gang what each system takes, else how much
    /// work there is in it as long as one thread has not been timed.
    pub(super) closely: bool,
}

impl WayDecision {
    pub(super) fn plainly(way: ScheduleWay) -> Self {
        Self { way, timed: false, lesson: false, closely: false }
    }
}

/// A run that was timed.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimedRun {
    pub(super) nanoseconds: u64,
    /// How long all threads of the process ran meanwhile, in nanoseconds; unknown if that was not
    /// measured, or the system does not tell.
    pub(super) work: Option<u64>,
}

/// Of a way that was not tried yet.
const NEW: Rival = Rival::new(FIRST_INTERVAL);

/// What is known of the plan by which the gang would run the schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
enum GangPlan {
    /// There is none: what each system takes is not known, or the gang is not to be had, or gains
    /// too little.
    Unknown,
    /// The schedule runs some times more to tell.
    Learning(Lessons),
    /// There is a plan by which a run is expected to take this many nanoseconds.
    Planned(f32),
}

/// Runs on one thread that tell what each system takes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Lessons {
    left: u32,
    /// What each took, in nanoseconds.
    took: [f32; LESSONS as usize],
    /// What they were expected to cost.
    cost: f32,
}

/// What is known of the runs of one schedule.
#[derive(Debug)]
pub(super) struct Race {
    current: ScheduleWay,
    /// After how many runs it was taken.
    taken_at: u64,
    /// What a run takes by each way.
    times: WayTimes,
    rivals: [Rival; WAYS],
    gang: GangPlan,
    trial: Option<WayTrial>,
    /// What the current way took on average when the last trial ended.
    at_trial: Option<f32>,
    /// Nanoseconds that trials may cost.
    budget: Budget,
    sampling: Sampling,
    /// Since the schedule changed.
    runs: u64,
    trials: u64,
}

impl Race {
    /// Begins with Bevy's default: a schedule that runs once, as `Startup` does, takes no longer
    /// than it would.
    pub(super) fn new() -> Self {
        Self {
            current: ScheduleWay::BevysThreads,
            taken_at: 0,
            times: WayTimes::default(),
            rivals: [NEW; WAYS],
            gang: GangPlan::Unknown,
            trial: None,
            at_trial: None,
            budget: Budget::new(FIRST_BUDGET),
            sampling: Sampling::default(),
            runs: 0,
            trials: 0,
        }
    }

    /// Forgets what was measured, for the schedule has changed. The way stays: most changes are
    /// small. So does what is left to spend, or schedules that change often would spend it often.
    /// A plan for the gang is one of the schedule as it was.
    pub(super) fn forget(&mut self) {
        *self = Self { current: self.without_gang(), budget: self.budget, ..Self::new() };
    }

    /// The way to go while the gang is not to be had: of Bevy's two the faster one, as far as is
    /// known.
    fn without_gang(&self) -> ScheduleWay {
        let one_thread = || Some(self.mean(ScheduleWay::OneThread)? < self.mean(ScheduleWay::BevysThreads)?);
        match self.current {
            ScheduleWay::OnTheGang if one_thread().unwrap_or(self.mean(ScheduleWay::OneThread).is_some()) => {
                ScheduleWay::OneThread
            }
            ScheduleWay::OnTheGang => ScheduleWay::BevysThreads,
            current => current,
        }
    }

    /// The way that runs go now.
    pub(super) fn current(&self) -> ScheduleWay {
        self.current
    }

    /// Ends a trial of which a run did not come to its end.
    pub(super) fn drop_trial(&mut self) {
        self.trial = None;
    }

    /// A run for which there is only this way.
    pub(super) fn count(&mut self, way: ScheduleWay) -> WayDecision {
        self.runs += 1;
        WayDecision::plainly(way)
    }

    /// How the next run is to be.
    #[inline]
    pub(super) fn choose(&mut self) -> WayDecision {
        self.runs += 1;
        if let Some(trial) = &self.trial {
            return WayDecision { timed: true, ..WayDecision::plainly(trial.next(self.current)) };
        }
        if matches!(self.gang, GangPlan::Learning(_)) {
            return WayDecision { lesson: true, ..WayDecision::plainly(ScheduleWay::OneThread) };
        }
        let known = self.times.mean(self.current);
        // The very first run fetches everything into the caches.
        let wanted = self.runs > 1 && known.is_none() || self.times.was_heavy();
        let Sample { due, timed, .. } = self.sampling.next(known, self.always_timed(), wanted);
        let closely = due && (self.current == ScheduleWay::OnTheGang || self.mean(ScheduleWay::OneThread).is_none());
        WayDecision { timed, closely, ..WayDecision::plainly(self.current) }
    }

    /// What takes this many nanoseconds is timed in every run.
    fn always_timed(&self) -> f32 {
        if self.runs >= FIRST_TIMED && !self.times.are_some_heavy() { LONG_RUN } else { ALWAYS_TIMED }
    }

    /// Learns what a run took that was to be timed. `threads` says how many threads Bevy has for
    /// systems.
    pub(super) fn observe(&mut self, run: TimedRun, threads: impl Fn() -> usize) {
        let nanoseconds = (run.nanoseconds as f32).max(SHORTEST);
        if let Some(trial) = &mut self.trial {
            let rival = trial.other;
            match trial.observe(nanoseconds) {
                Progress::GoesOn => {}
                Progress::Unsure(found) if self.pay_for_more(&found) => {}
                Progress::Unsure(found) | Progress::Over(found) => self.end_trial(rival, found),
                Progress::InVain => {
                    self.trial = None;
                    self.postpone(rival, 1.0);
                }
            }
            return;
        }
        let runs = self.sampling.take_runs();
        self.budget.save(nanoseconds * runs as f32 / BUDGET);
        self.rivals.iter_mut().for_each(|rival| rival.pass(runs));
        let turned = self.times.note(self.current, nanoseconds);
        let Some(mean) = self.mean(self.current) else { return };
        if turned {
            self.compare_anew(mean);
        }
        self.notice(mean);
        if !matches!(self.gang, GangPlan::Learning(_)) {
            self.reconsider(mean, || most_on_one_thread(mean, run.work, threads()));
        }
    }

    /// All other ways are to be tried soon, where the current one takes `mean` now.
    fn compare_anew(&mut self, mean: f32) {
        self.rivals = [NEW; WAYS];
        self.at_trial = Some(mean);
    }

    /// What was learned of the other ways does not hold any more if the schedule takes much longer
    /// or shorter than then.
    fn notice(&mut self, mean: f32) {
        let drift = self.at_trial.map_or(1.0, |before| mean / before.max(1.0));
        let most = DRIFT * (1.0 + self.times.deviation());
        if !(1.0 / most..most).contains(&drift) {
            let on_one_thread = self.mean(ScheduleWay::OneThread).map(|before| before * drift);
            let is_told = (1.0 / FAR..FAR).contains(&drift) && self.times.heavy_fraction().is_none();
            self.times.take_others_for(self.current, is_told.then_some(drift));
            self.compare_anew(mean);
            self.doubt_plan(Risk::of_lessons(mean, on_one_thread));
        }
    }

    /// What was learned of the systems may not hold any more. If the gang is the current way it is
    /// learned at once, if that costs no more than it may.
    fn doubt_plan(&mut self, lessons: Risk) {
        if self.current != ScheduleWay::OnTheGang {
            self.gang = GangPlan::Unknown;
        } else if self.can_afford(&lessons) {
            self.begin_lessons(lessons.cost);
        }
    }

    fn can_afford(&self, risk: &Risk) -> bool {
        self.budget.pays_for(risk.cost) && risk.largest <= LARGEST_RISK
    }

    /// Begins a trial if it is time for one and it costs no more than it may. `on_one_thread` says
    /// what that takes at most, as far as is known without a trial.
    fn reconsider(&mut self, time: f32, on_one_thread: impl Fn() -> f32) {
        let with_risk = |rival| (rival, self.risk(rival, time, &on_one_thread));
        let affordable = self.next_rivals(time).map(with_risk).find(|(_, risk)| self.can_afford(risk));
        let Some((rival, risk)) = affordable else { return };
        if self.is_to_be_learned(rival) {
            self.begin_lessons(risk.cost);
        } else {
            self.budget.spend(risk.cost);
            self.begin_trial(rival, time, time + risk.largest);
        }
    }

    fn begin_lessons(&mut self, cost: f32) {
        self.budget.spend(cost);
        self.gang = GangPlan::Learning(Lessons { left: LESSONS, took: [0.0; LESSONS as usize], cost });
    }

    /// A run takes `time` nanoseconds now, and one by `rival` `most` at most, as far as is known.
    fn begin_trial(&mut self, rival: ScheduleWay, time: f32, most: f32) {
        self.trials += 1;
        let (current, other) = (self.times.times(self.current), self.times.times(rival));
        self.trial = Some(match self.times.heavy_fraction() {
            None => WayTrial::in_turns(rival, self.dear(time), most),
            Some(fraction) => WayTrial::by_cycles(rival, Cycles::new(current, other, fraction)),
        });
    }

    /// What a dear run by the current way takes, where one takes `mean`.
    fn dear(&self, mean: f32) -> f32 {
        if self.are_uneven() { mean * (1.0 + DEARER * self.times.deviation()) } else { mean }
    }

    /// Whether runs by the current way differ.
    fn are_uneven(&self) -> bool {
        self.times.deviation() > UNEVEN
    }

    /// The ways that waited for long enough to be tried, the one first whose turn it is: one that
    /// was not measured, else the fastest.
    fn next_rivals(&self, time: f32) -> impl Iterator<Item = ScheduleWay> + use<> {
        let may_be_better = |way| match way {
            ScheduleWay::OneThread => true,
            ScheduleWay::BevysThreads => time >= LEAST_OF_THREADS,
            ScheduleWay::OnTheGang => self.mean(ScheduleWay::OneThread).is_some_and(|one| one >= LEAST_OF_GANG),
        };
        let is_next =
            |&way: &ScheduleWay| way != self.current && self.rivals[way as usize].may_be_tried() && may_be_better(way);
        let expected = |way| self.mean(way).unwrap_or(0.0);
        // But for the current way there are two.
        const { assert!(WAYS == 3) };
        let mut ways = ScheduleWay::ALL.iter().copied().filter(is_next);
        let next = match (ways.next(), ways.next()) {
            (Some(one), Some(other)) if expected(other) < expected(one) => [Some(other), Some(one)],
            (one, other) => [one, other],
        };
        next.into_iter().flatten()
    }

    /// Whether a trial goes on that did not tell enough. It is paid for as the first runs were.
    fn pay_for_more(&mut self, Found { current, other }: &Found) -> bool {
        let longer = other.usual.zip(current.usual).map_or(0.0, |(other, current)| (other - current).max(0.0));
        let cost = longer * RUNS as f32;
        let goes_on = self.can_afford(&Risk { largest: longer, cost });
        if goes_on {
            self.budget.spend(cost);
        }
        goes_on
    }

    fn end_trial(&mut self, rival: ScheduleWay, Found { current, other }: Found) {
        self.trial = None;
        // Where runs differ, many tell more of what the current way takes than those of the trial.
        let known = self.times.times(self.current).usual.filter(|_| self.are_uneven());
        match (known, current.usual) {
            (Some(known), Some(found)) if current.heavy.is_none() && other.heavy.is_none() => {
                self.times.learn(rival, other.scaled(known / found.max(1.0)));
            }
            _ => {
                self.times.learn(self.current, current);
                self.times.learn(rival, other);
            }
        }
        let (Some(current), Some(other)) = (self.mean(self.current), self.mean(rival)) else { return };
        if other / current.max(1.0) < BETTER {
            // Tried again sooner, for it may have been chance.
            let interval = (self.rivals[rival as usize].interval() / 2).max(FIRST_INTERVAL);
            self.rivals[self.current as usize].ask_every(interval);
            self.rivals[self.current as usize].pause();
            (self.current, self.taken_at) = (rival, self.runs);
        } else {
            self.postpone(rival, other / current.max(1.0));
            if rival == ScheduleWay::OnTheGang {
                // By another plan the gang may do better next time.
                self.gang = GangPlan::Unknown;
            }
        }
        self.at_trial = self.mean(self.current);
    }

    /// The rival, found to take `slower` times as long as the current way, is tried later.
    fn postpone(&mut self, rival: ScheduleWay, slower: f32) {
        let longest = match slower {
            ..CLOSE => LONGEST_OF_THE_CLOSE,
            ..HOPELESS => LONGEST,
            _ => LONGEST_OF_THE_HOPELESS,
        };
        let rival = &mut self.rivals[rival as usize];
        rival.ask_less(longest);
        rival.pause();
    }

    /// A lesson is over, which took this many nanoseconds on one thread. Returns whether it was the
    /// last, so that there can be a plan.
    pub(super) fn end_lesson(&mut self, nanoseconds: u64) -> bool {
        let GangPlan::Learning(lessons) = &mut self.gang else { return false };
        lessons.left -= 1;
        lessons.took[lessons.left as usize] = nanoseconds as f32;
        let Lessons { left, mut took, .. } = *lessons;
        if left == 0 && self.mean(ScheduleWay::OneThread).is_none() {
            // The first one may have been long, and another one interrupted.
            took.sort_unstable_by(f32::total_cmp);
            self.times.set(ScheduleWay::OneThread, RunTimes::even(took[took.len() / 2]));
        }
        left == 0
    }

    /// There is no gang to learn for.
    pub(super) fn cancel_lessons(&mut self) {
        if let GangPlan::Learning(Lessons { left: LESSONS, cost, .. }) = self.gang {
            self.budget.save(cost);
        }
        self.plan(None);
    }

    /// Takes over what a run by the gang's plan is expected to take, in nanoseconds; `None` where
    /// no plan is worth it. That is looked at again later, and so is a plan that takes
    /// [`HOPELESS`] times as long as one thread, since something interrupted the lessons.
    pub(super) fn plan(&mut self, span: Option<f32>) {
        let one_thread = self.mean(ScheduleWay::OneThread);
        let span = span.filter(|&span| one_thread.is_none_or(|one_thread| span < HOPELESS * one_thread));
        self.gang = span.map_or(GangPlan::Unknown, GangPlan::Planned);
        if span.is_none() {
            self.leave_gang();
            self.postpone(ScheduleWay::OnTheGang, CLOSE);
        }
    }

    /// The gang is not to be had any more as it was: another pool, or another mode. It is learned
    /// anew, ever later where that happens again and again, but for one that was kept for longer
    /// than it had been waited for: that was worth it.
    pub(super) fn lose_gang(&mut self) {
        let kept = if self.current == ScheduleWay::OnTheGang { self.runs - self.taken_at } else { 0 };
        let rival = &mut self.rivals[ScheduleWay::OnTheGang as usize];
        if kept > u64::from(rival.interval()) {
            *rival = NEW;
            rival.pause();
        } else {
            self.postpone(ScheduleWay::OnTheGang, 1.0);
        }
        self.gang = GangPlan::Unknown;
        self.leave_gang();
    }

    fn leave_gang(&mut self) {
        if self.current == ScheduleWay::OnTheGang {
            self.current = self.without_gang();
            self.at_trial = self.mean(self.current);
        }
        self.times.set(ScheduleWay::OnTheGang, RunTimes::default());
        self.trial = None;
    }

    fn mean(&self, way: ScheduleWay) -> Option<f32> {
        self.times.mean(way)
    }

    pub(super) fn runs(&self) -> u64 {
        self.runs
    }

    pub(super) fn explain(&self) -> Standing {
        let mut times = [None; WAYS];
        ScheduleWay::ALL.iter().for_each(|&way| times[way as usize] = self.mean(way));
        Standing { way: self.current, trials: self.trials, times }
    }
}

/// What a [`Race`] would say of itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Standing {
    pub(crate) way: ScheduleWay,
    pub(crate) trials: u64,
    /// Nanoseconds on average, by way.
    pub(crate) times: [Option<f32>; WAYS],
}
