//! [`SchedulerMode::Auto`]: how to run a parallel call so that it takes least: on one thread, in
//! lock step or by fork/join. Pure: numbers in, a strategy out.
//!
//! Each place in a program that starts parallel calls has a [`Model`] of each of two kinds: what
//! calls took by each strategy they were sent. A call goes where it is expected to take least;
//! others are tried as long as they promise to be better, and then ever more seldom, when the time
//! that was spent since would pay for it.

mod credit;
mod estimate;
mod explain;
mod few_rows;
mod sizes;
#[cfg(test)]
mod tests;
mod trial;
mod trials;

use std::ops::{Range, RangeInclusive};

use super::{
    Decision, ONE_MORE_WAKE_UP, Outcome, Probe, Situation, Strategy, UNKNOWN_ROWS, heavy::HeavyCalls,
    strategy::in_proportion, unasked::Grant,
};
use crate::record::{ALWAYS_TIMED, Sample, Sampling, VERY_SHORT};
use credit::Credit;
use estimate::{Busy, Estimate};
use sizes::{Size, Sizes};
use trials::Trials;

/// What a round costs on most machines, in nanoseconds: to guess what other numbers of rows would
/// take, and what a trial costs.
const ROUND: f32 = 600.0;

/// What a session of fork/join costs on most machines, in nanoseconds.
const SESSION: f32 = 2_000.0;

/// What both cost more where they wake workers, in nanoseconds.
const WAKING: f32 = 30_000.0;

/// This many measurements in a row that surprise mean that the world has changed.
const SURPRISES: u32 = 4;

/// By how much a measurement that surprises is off ...
const SURPRISING: f32 = 1.5;

/// ... and by how many nanoseconds: of short calls some part does not depend on the rows.
const LEAST_SURPRISE: f32 = 200.0;

/// What it takes to count the rows of one storage in a call that is timed, in nanoseconds: once to
/// choose and once to learn.
const COUNTING: f32 = 3.0;

/// Rows are counted in each call if calls take at least this many times as long as that ...
const COUNTED_OFTEN: f32 = 100.0;

/// ... or if they lie in this many storages at most.
const FEW_STORAGES: usize = 8;

/// Calls that take this many nanoseconds are all timed. One that comes once in a frame finds little
/// of what is known of its place in the leader's caches: to learn from it takes 1.5 us.
const LONG_CALL: f32 = 16_000.0;

/// The same of calls that find the workers asleep, and mostly all that is known of their place out
/// of the leader's caches, too: to learn from one takes 2 us and more.
const LONG_AFTER_SLEEP: f32 = 100_000.0;

/// Until this many of the current strategy were measured, and after a surprise, all that take
/// [`ALWAYS_TIMED`] are.
const FIRST_MEASURED: u32 = 64;

/// Rows cost at most so much less on one thread than on several that share caches and memory.
const UNSHARED: f32 = 0.4;

/// What of a call's time does not depend on its rows.
fn overhead(strategy: Strategy, Situation { asleep, workers, .. }: Situation) -> f32 {
    let further = workers.saturating_sub(2) as f32;
    let waking = if asleep { WAKING + ONE_MORE_WAKE_UP as f32 * further } else { 0.0 };
    match strategy {
        Strategy::Serial | Strategy::Bevy => 0.0,
        Strategy::LockStep => ROUND + waking,
        Strategy::ForkJoin => SESSION + waking,
    }
}

/// What is known of one kind of calls that a place in a program starts.
#[derive(Debug, Default)]
pub(crate) struct Model {
    estimates: [Estimate; Strategy::MEASURED_COUNT],
    current: Strategy,
    trials: Trials,
    sampling: Sampling,
    /// Calls that take far longer than the others.
    heavy: HeavyCalls,
    /// Calls that have far fewer rows than the others.
    sizes: Sizes,
    /// What a call of the current strategy takes on average, in nanoseconds; nothing before one was
    /// measured, also where it was guessed.
    mean: Option<f32>,
    /// For how long all workers together are busy in a call on the gang. Learned from calls in lock
    /// step, and from those by fork/join while that is the current strategy.
    busy: Busy,
    /// Time that later calls save because this one wakes the workers. One thread is charged for it.
    credit: Credit,
    surprises: u32,
    /// By what part calls of the current strategy differed from what was expected, before those
    /// that surprise.
    deviation: f32,
    /// Whether the next call is to be reconsidered, whichever samples are due.
    is_turning: bool,
    /// What the last call found.
    situation: Situation,
    /// The rows of the last usual call, and of the last one of all.
    rows: u64,
    rows_now: u64,
    calls: u64,
    /// Calls without rows, and with far fewer than others. They teach nothing of the others.
    aside: u64,
}

impl Model {
    /// How to run a call. Counting its rows takes time where there are many storages: there it is
    /// done when something depends on it.
    #[inline]
    pub(crate) fn choose(&mut self, situation: Situation, count_rows: impl Fn() -> u64) -> Decision {
        self.situation = situation;
        if situation.workers < 2 {
            return self.choose_without_others(count_rows);
        }
        if self.may_count_each_time(situation.storages) {
            self.choose_counted(count_rows())
        } else {
            self.choose_uncounted(count_rows)
        }
    }

    /// How to run a call of this many rows, where they are counted in each call.
    #[inline]
    fn choose_counted(&mut self, rows: u64) -> Decision {
        let size = self.sizes.note_calls(rows, 1, self.trials.under_way.is_some());
        if let Size::Fewer { timed } = size {
            self.aside += 1;
            return self.choose_for_fewer(rows, timed);
        }
        if size == Size::Changed {
            // It does not stand for those before it, nor does what was found of others for those.
            self.sampling.take_runs();
            self.trials.end_pauses();
        }
        self.rows_now = rows;
        match self.sample_if_telling(size == Size::Changed) {
            Some(sample) => self.choose_for_usual(rows, sample),
            None => Decision::of_model(self.current_for(rows), false),
        }
    }

    /// The strategy of a usual call of this many rows: the current one, unless that was chosen for
    /// far fewer or far more.
    #[inline]
    fn current_for(&self, rows: u64) -> Strategy {
        if self.alike().contains(&rows) { self.current } else { self.best_for(rows) }
    }

    /// How many rows calls have for which the current strategy was chosen.
    #[inline]
    fn alike(&self) -> RangeInclusive<u64> {
        self.rows / 3 * 2..=self.rows.saturating_mul(3) / 2
    }

    /// How to run a call whose rows are counted only if something depends on it: until then they
    /// are taken to be as many as last time.
    fn choose_uncounted(&mut self, count_rows: impl Fn() -> u64) -> Decision {
        self.rows_now = self.rows;
        let Some(sample) = self.sample_if_telling(false) else {
            return Decision::of_model(self.current, false);
        };
        let rows = count_rows();
        if self.are_few_by_sample(rows, if sample.due { sample.runs } else { 1 }) {
            return self.choose_for_fewer(rows, sample.timed && rows > 0);
        }
        self.choose_for_usual(rows, sample)
    }

    /// Counts a usual call; nothing if it goes as the last one did, whatever its rows.
    #[inline]
    fn sample_if_telling(&mut self, wanted: bool) -> Option<Sample> {
        self.calls += 1;
        let sample = self.sample(wanted || self.is_turning);
        (sample.timed || self.trials.under_way.is_some() || self.is_first()).then_some(sample)
    }

    /// Whether this is the first call, and nothing is known of such ones.
    #[inline]
    fn is_first(&self) -> bool {
        self.calls == 1 && self.trials.count == 0 && !self.estimate(self.current).was_tried()
    }

    /// Counts a usual call. It is timed if a sample is due, as one is that is `wanted`, or if calls
    /// are long, also beside counting their rows.
    #[inline]
    fn sample(&mut self, wanted: bool) -> Sample {
        let is_unknown = !self.estimate(self.current).is_known() && !self.had_no_rows();
        let Sample { due, timed, runs } = self.sampling.next(self.mean, self.always_timed(), wanted || is_unknown);
        if due {
            self.trials.pass(runs);
        }
        Sample { due, timed: due || timed && self.is_long_beside_counting(self.situation.storages), runs }
    }

    /// How to run a usual call of this many rows that is counted like this.
    #[inline]
    fn choose_for_usual(&mut self, rows: u64, Sample { due, timed, .. }: Sample) -> Decision {
        self.is_turning = false;
        if self.is_first() && rows >= UNKNOWN_ROWS {
            self.current = Strategy::LockStep;
        }
        if let Some(decision) = self.go_on_with_trial() {
            self.rows = rows;
            return decision;
        }
        // Of long calls most are timed: the first comparison need not wait for a sample.
        if due || timed && self.trials.count == 0 {
            self.rows = rows;
            self.reconsider();
        }
        Decision::of_model(self.current_for(rows), timed)
    }

    /// Calls that take this many nanoseconds are all timed.
    fn always_timed(&self) -> f32 {
        match self.estimate(self.current).samples() {
            ..FIRST_MEASURED => ALWAYS_TIMED,
            _ if self.surprises > 0 => ALWAYS_TIMED,
            _ if self.situation.asleep => LONG_AFTER_SLEEP,
            _ => LONG_CALL,
        }
    }

    /// How many of the next calls need not ask: those that would be told to stay on this thread,
    /// untimed, and have about as many rows as the last one, and no more. Very short ones may have
    /// hardly any.
    pub(super) fn grant(&self) -> Grant {
        let Situation { storages, asleep, .. } = self.situation;
        let stays = self.current == Strategy::Serial
            && self.trials.under_way.is_none()
            && self.estimate(self.current).is_known();
        let longest = if asleep { self.always_timed() } else { VERY_SHORT };
        let mean = self.mean.filter(|&mean| stays && mean < longest && storages <= FEW_STORAGES);
        let calls = mean.map_or(0, |mean| self.sampling.untimed_ahead(mean));
        let while_asleep = mean.is_some_and(|mean| mean >= VERY_SHORT);
        let fewest = if while_asleep { self.sizes.fewest() } else { 0 };
        // The last one may have been large, and not have stayed.
        let stays = calls == 0 || self.current_for(self.rows_now) == Strategy::Serial;
        let most = if stays { self.rows_now } else { *self.alike().end() };
        Grant { calls, rows: fewest..=most, while_asleep }
    }

    /// Notes calls that were not asked about: they went as the last one did.
    pub(super) fn pass(&mut self, calls: u32) {
        self.calls += u64::from(calls);
        self.sampling.pass(calls);
    }

    /// Whether the rows of each call may be counted: of few storages, or of long calls that had
    /// rows.
    #[inline]
    fn may_count_each_time(&self, storages: usize) -> bool {
        storages <= FEW_STORAGES || !self.had_no_rows() && self.is_long_beside_counting(storages)
    }

    /// Whether no call had rows so far, or only few: what one with rows takes is not known.
    #[inline]
    fn had_no_rows(&self) -> bool {
        self.mean.is_none() && self.aside > 0
    }

    /// Whether a call takes so long that its rows may be counted each time.
    #[inline]
    fn is_long_beside_counting(&self, storages: usize) -> bool {
        self.mean.is_none_or(|mean| mean >= storages as f32 * COUNTING * COUNTED_OFTEN)
    }

    /// Where the leader is alone, as while other processes have their cores. What is known of
    /// the other strategies holds until they are back.
    fn choose_without_others(&mut self, count_rows: impl Fn() -> u64) -> Decision {
        self.calls += 1;
        let Sample { timed, .. } = self.sampling.next(self.mean, f32::INFINITY, false);
        // Of the first call the diagnostics tell, whether or not it is timed.
        if timed || self.calls == 1 {
            self.rows = count_rows();
            self.rows_now = self.rows;
            // These calls earn no trials: there is nothing to try.
            self.sampling.take_runs();
        }
        Decision::of_model(Strategy::Serial, timed)
    }

    /// Learns what a call that was to be timed took, from its begin to its end.
    pub(crate) fn observe(&mut self, strategy: Strategy, outcome: &Outcome, call: Range<u64>) {
        let &Outcome { rows, busy, .. } = outcome;
        let work = outcome.work();
        let nanoseconds = call.end.saturating_sub(call.start);
        if self.sizes.are_few(rows) {
            let reckoned = self.reckoned(strategy, rows);
            return reckoned.into_iter().for_each(|time| self.sizes.check(strategy, nanoseconds as f32, time));
        }
        // Not all workers took part.
        let idle = strategy != Strategy::Serial && busy.is_none();
        if self.trials.of(strategy).is_some_and(|trial| trial.goes_on_while_waking(idle, call.end)) {
            return;
        }
        let (off, heavy) = self.learn_time(strategy, rows, nanoseconds);
        self.estimates[strategy as usize].stamp(call.end);
        if let Some(trial) = self.trials.of(strategy) {
            trial.note(heavy);
            if trial.is_over() {
                self.end_trial(strategy, rows);
            }
        }
        let tells = strategy == Strategy::LockStep || strategy == self.current && strategy.is_the_gangs();
        if let (true, Some(work), false) = (tells, work, heavy) {
            self.busy.observe(rows, work);
        }
        if strategy == self.current {
            self.learn_of_current(rows, nanoseconds, off);
        }
    }

    /// Learns what the leader did alone with the first of `rows`, in a call that ended `now`. The
    /// others may cost more or less; but all take one thread no longer than all workers together.
    pub(super) fn observe_probe(&mut self, Probe { rows: part, nanoseconds }: Probe, rows: u64, now: u64) {
        let all = in_proportion(nanoseconds, rows, part);
        let most = if self.busy.is_known() { self.busy.of(rows) as u64 } else { u64::MAX };
        let all = all.min(most.max(nanoseconds));
        self.observe(Strategy::Serial, &Outcome::serial(rows, all), now.saturating_sub(all)..now.max(all));
    }

    /// Notes what a call took; by what factor more than usual calls of this strategy, and whether
    /// it is a heavy one.
    fn learn_time(&mut self, strategy: Strategy, rows: u64, nanoseconds: u64) -> (f32, bool) {
        let known = self.estimate(strategy).is_known().then(|| self.usual(strategy, rows));
        let heavy = self.heavy.note(strategy, rows, (nanoseconds as f32, known));
        let off = match known {
            Some(usual) if heavy => nanoseconds as f32 / usual.max(1.0),
            _ => self.estimates[strategy as usize].observe(rows, nanoseconds, overhead(strategy, self.situation)),
        };
        (off, heavy)
    }

    /// Learns that a call of the current strategy took this many nanoseconds, `off` times as many
    /// as usual.
    fn learn_of_current(&mut self, rows: u64, nanoseconds: u64, off: f32) {
        let strategy = self.current;
        self.trials.save(nanoseconds as f32 * self.sampling.take_runs() as f32);
        self.count_surprise(off, rows, nanoseconds);
        if self.heavy.judge(strategy, self.usual(strategy, rows), rows) {
            self.trials.try_soon();
        }
        // Of short calls few are timed. All long ones are: if this was not an interrupt.
        self.is_turning |= self.mean.is_some_and(|mean| mean < VERY_SHORT) && nanoseconds as f32 >= LONG_CALL;
        self.mean = Some(self.mean_time(strategy, rows));
    }

    /// Whether the next call is to be asked about, whatever was said before.
    pub(super) fn is_turning(&self) -> bool {
        self.is_turning
    }

    /// Forgets what it knows when the current strategy surprises again and again.
    fn count_surprise(&mut self, off: f32, rows: u64, nanoseconds: u64) {
        let by = nanoseconds as f32 * (1.0 - 1.0 / off);
        let most = SURPRISING * (1.0 + self.deviation);
        let surprising = !(1.0 / most..most).contains(&off) && by.abs() >= LEAST_SURPRISE;
        if !surprising {
            self.deviation = self.estimate(self.current).deviation();
        }
        self.surprises = if surprising { self.surprises + 1 } else { 0 };
        if self.surprises >= SURPRISES {
            (self.surprises, self.deviation, self.is_turning) = (0, 0.0, true);
            self.trials.try_soon();
            self.heavy.forget();
            self.sizes = Sizes::default();
            self.estimates.iter_mut().for_each(Estimate::forget_deviation);
            self.estimates[self.current as usize].restart(rows, nanoseconds);
            self.doubt_others();
        }
    }

    /// The world has changed: what other strategies took, and for how long all were busy, tells
    /// little any more.
    fn doubt_others(&mut self) {
        let others = Strategy::MEASURED.into_iter().filter(|&other| other != self.current);
        others.for_each(|other| self.estimates[other as usize].doubt());
        self.busy = Busy::default();
    }

    /// Whether nothing was asked of it yet, nor is it to try anything.
    pub(super) fn is_new(&self) -> bool {
        self.calls == 0 && self.aside == 0 && self.trials.count == 0
    }

    /// Takes what is known of another kind of calls for a first guess: on one thread both take the
    /// same. On the gang calls that find workers `asleep` take more than the others, so what those
    /// take is a bound; but not the other way round.
    pub(super) fn guess_from(&mut self, other: &Self, asleep: bool) {
        let Self { estimates, current, busy, rows, .. } = *other;
        *self = Self { estimates, current, busy, rows, ..Self::default() };
        for strategy in Strategy::MEASURED.into_iter().filter(|strategy| strategy.is_the_gangs()) {
            let estimate = &mut self.estimates[strategy as usize];
            if asleep { estimate.doubt() } else { *estimate = Estimate::default() }
        }
    }

    /// How much longer a call that wakes the workers takes than one thread, if both are known.
    fn cost_of_waking(&self) -> Option<f32> {
        let is_known = |&strategy: &Strategy| self.estimate(strategy).is_known();
        let alone = Some(Strategy::Serial).filter(is_known).map(|alone| self.mean_time(alone, self.rows))?;
        let gangs = Strategy::MEASURED.into_iter().filter(|strategy| strategy.is_the_gangs() && is_known(strategy));
        gangs.map(|strategy| self.mean_time(strategy, self.rows) - alone).min_by(f32::total_cmp)
    }

    /// Other calls have gained this many nanoseconds since one from here woke the workers.
    pub(super) fn give_credit(&mut self, nanoseconds: u64) {
        self.credit.give(nanoseconds, self.cost_of_waking());
    }

    /// By how many nanoseconds at least a call takes less on the gang, if it does; what one thread
    /// takes may be known of the `other` kind of calls.
    pub(super) fn gain(&self, other: &Self) -> f32 {
        if !self.current.is_the_gangs() || !self.estimate(self.current).is_known() {
            return 0.0;
        }
        let rows = self.rows_now;
        let known = [self, other].into_iter().find(|model| model.estimate(Strategy::Serial).was_tried());
        let reckoned = || self.busy.of(rows) * UNSHARED;
        let alone = known.map_or_else(reckoned, |model| model.mean_time(Strategy::Serial, rows));
        (alone - self.mean_time(self.current, rows)).max(0.0)
    }

    fn best(&self, rows: u64) -> Strategy {
        let known = Strategy::MEASURED
            .into_iter()
            .filter(|&strategy| self.estimate(strategy).is_known() || strategy == self.current);
        known.min_by(|&a, &b| self.cost(a, rows).total_cmp(&self.cost(b, rows))).unwrap_or(Strategy::Serial)
    }

    fn estimate(&self, strategy: Strategy) -> &Estimate {
        &self.estimates[strategy as usize]
    }

    /// What most calls take.
    fn usual(&self, strategy: Strategy, rows: u64) -> f32 {
        self.estimate(strategy).of(rows, overhead(strategy, self.situation))
    }

    /// What calls take on average.
    fn mean_time(&self, strategy: Strategy, rows: u64) -> f32 {
        self.heavy.mean(strategy, self.usual(strategy, rows), rows, self.situation.workers)
    }

    /// What others do not gain where a call leaves workers asleep.
    fn forgone(&self, strategy: Strategy) -> f32 {
        if strategy == Strategy::Serial { self.credit.get() } else { 0.0 }
    }

    /// What calls cost on average: their time, and what others lose by them.
    fn cost(&self, strategy: Strategy, rows: u64) -> f32 {
        self.mean_time(strategy, rows) + self.forgone(strategy)
    }
}
