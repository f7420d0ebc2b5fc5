//! When a [`Model`] tries another strategy than the current one, and what comes of it.

use super::{
    Model, ROUND, SESSION, UNSHARED,
    trial::{TRIAL_CALLS, Trial, UNEVEN_TRIAL_CALLS},
};
use crate::{
    ablation::Mechanism,
    auto::{
        Decision, Strategy,
        rival::{BETTER, Budget, CLOSE, LONGEST, LONGEST_OF_THE_CLOSE, Rival},
    },
};

/// Trying is expected to cost at most one part in this many of the time that calls take.
const BUDGET: f32 = 100.0;

/// What trials may cost before anything was earned, in nanoseconds.
const FIRST_BUDGET: f32 = 50_000.0;

/// Calls between trials of one strategy: doubles each time it was no better than the current one. A
/// trial takes longer than is seen, since it moves rows to other caches.
const FIRST_INTERVAL: u32 = 32;

/// What a round costs at least, in nanoseconds: a call that takes less on one thread is never sent
/// to several.
const CHEAPEST_ROUND: f32 = 300.0;

/// What a session of fork/join costs at least, in nanoseconds.
const CHEAPEST_SESSION: f32 = 1_000.0;

/// What takes less than this part of what the current strategy takes is taken at the next call, not
/// at the next sample.
const CLEARLY_BETTER: f32 = 0.8;

/// What the calls of a trial cost more if workers sleep as it begins, in nanoseconds.
const WAKE_UP: f32 = 40_000.0;

/// Where calls take fewer nanoseconds, a trial that wakes workers is charged four wake-ups, which
/// the first budget does not pay for: such calls gain little.
const CHEAP_CALL: f32 = 6_000.0;

/// Of strategies that were not tried yet.
const NEW: [Rival; Strategy::MEASURED_COUNT] = [Rival::new(FIRST_INTERVAL); Strategy::MEASURED_COUNT];

/// Trials of one kind of calls: those that were, the one that is under way, and when others may be.
#[derive(Debug)]
pub(super) struct Trials {
    pub(super) under_way: Option<Trial>,
    rivals: [Rival; Strategy::MEASURED_COUNT],
    /// What they may cost.
    budget: Budget,
    /// How many there were.
    pub(super) count: u64,
}

impl Default for Trials {
    fn default() -> Self {
        Self { under_way: None, rivals: NEW, budget: Budget::new(FIRST_BUDGET), count: 0 }
    }
}

impl Trials {
    /// Counts `calls` that have gone by.
    pub(super) fn pass(&mut self, calls: u32) {
        self.rivals.iter_mut().for_each(|rival| rival.pass(calls));
    }

    /// Puts aside for trials what they may cost of this many nanoseconds that calls took.
    pub(super) fn save(&mut self, nanoseconds: f32) {
        self.budget.save(nanoseconds / BUDGET);
    }

    /// Other strategies are to be tried as soon as that pays.
    pub(super) fn try_soon(&mut self) {
        self.rivals = NEW;
    }

    /// Other strategies need not wait any more, this time.
    pub(super) fn end_pauses(&mut self) {
        self.rivals.iter_mut().for_each(Rival::end_pause);
    }

    /// The trial that is under way, if it is one of `strategy`.
    pub(super) fn of(&mut self, strategy: Strategy) -> Option<&mut Trial> {
        self.under_way.as_mut().filter(|trial| trial.strategy == strategy)
    }
}

impl Model {
    /// Decides the next call of a trial, if one is under way. The first call of one is not timed.
    pub(super) fn go_on_with_trial(&mut self) -> Option<Decision> {
        let trial = self.trials.under_way.as_mut()?;
        if trial.is_over() {
            // Its last call was not observed: it panicked, or had few rows.
            self.trials.under_way = None;
            return None;
        }
        let timed = trial.next();
        if trial.is_probe {
            return Some(Decision::PROBE);
        }
        Some(Decision::of_model(trial.strategy, timed))
    }

    /// For how many nanoseconds the leader is to begin a probe alone at most: as long as the gang
    /// takes, so that the call takes twice as long at most.
    pub(in crate::auto) fn longest_probe(&self) -> u64 {
        self.usual(self.current, self.rows) as u64
    }

    /// Whether the call that was decided last, by `strategy`, is the first one of a trial. Calls
    /// with few rows that come before the second one go by what is known, not by what is tried.
    pub(in crate::auto) fn begins_trial(&self, strategy: Strategy) -> bool {
        self.trials.under_way.is_some_and(|trial| trial.strategy == strategy && trial.has_just_begun())
    }

    /// Takes the strategy that is best by now, or begins to try another one.
    pub(super) fn reconsider(&mut self) {
        let rows = self.rows;
        let best = self.best(rows);
        if best != self.current && self.cost(best, rows) < self.cost(self.current, rows) * BETTER {
            (self.current, self.mean) = (best, Some(self.mean_time(best, rows)));
            self.deviation = self.estimate(best).deviation();
            if std::mem::take(&mut self.surprises) > 1 {
                // It was measured after a change that the others were measured before.
                self.doubt_others();
            }
        }
        let mut others = Strategy::MEASURED.into_iter();
        let next = others.find_map(|other| Some((other, self.cost_if_worth_a_trial(other, rows)?)));
        let Some((strategy, cost)) = next else { return };
        let wakes = strategy != Strategy::Serial && self.situation.asleep;
        let wake_up = if self.mean_time(self.current, rows) < CHEAP_CALL { 4.0 * WAKE_UP } else { WAKE_UP };
        let cost = cost + if wakes { wake_up } else { 0.0 };
        if self.trials.budget.pays_for(cost) {
            self.begin_trial(strategy, cost);
        }
    }

    /// What a trial of another strategy costs, without waking workers, if it may be made and may
    /// find that strategy to be better.
    fn cost_if_worth_a_trial(&self, other: Strategy, rows: u64) -> Option<f32> {
        if other == self.current || !self.estimate(self.current).is_known() {
            return None;
        }
        if Mechanism::Trials.is_out() || (Mechanism::Retrials.is_out() && self.estimate(other).was_tried()) {
            return None;
        }
        // Rows that get in each other's way may take one thread a part of what several take: any
        // part.
        let now = self.cost(self.current, rows);
        if !self.would_be_probe(other) && self.at_best(other, rows) >= now * BETTER {
            return None;
        }
        let may_be_tried = self.trials.rivals[other as usize].may_be_tried();
        may_be_tried.then(|| self.cost_of_trial(other, rows)).filter(|&cost| self.trials.budget.pays_for(cost))
    }

    /// What a call could take by another strategy if all went well there.
    pub(super) fn at_best(&self, other: Strategy, rows: u64) -> f32 {
        let (busy, workers) = (self.busy.of(rows), self.situation.workers);
        let alone = self.estimate(Strategy::Serial);
        let shared = self.estimate(Strategy::LockStep);
        let work = match (alone.was_tried(), shared.was_tried()) {
            (true, _) => alone.of(rows, 0.0),
            (_, true) => busy,
            _ => 0.0,
        };
        let usual = match other {
            Strategy::Serial if !self.busy.is_known() => work,
            Strategy::Serial => work.min(busy * UNSHARED),
            Strategy::LockStep => CHEAPEST_ROUND + work / workers as f32,
            // Only worth it where lock step leaves workers idle.
            Strategy::ForkJoin if shared.is_known() => CHEAPEST_SESSION + busy / workers as f32 * (2.0 - BETTER),
            Strategy::ForkJoin | Strategy::Bevy => f32::INFINITY,
        };
        let time = match self.heavy.doubtful_fraction(other, self.current) {
            Some(_) => usual,
            None => self.heavy.mean(other, usual, rows, workers),
        };
        time + self.forgone(other)
    }

    /// What a trial takes longer than the same calls by the current strategy.
    fn cost_of_trial(&self, other: Strategy, rows: u64) -> f32 {
        let (now, estimate) = (self.mean_time(self.current, rows), self.estimate(other));
        if self.would_be_probe(other) {
            // The first one is free, so that it comes at once. One call takes twice as long at
            // most.
            return if estimate.was_tried() { (self.mean_time(other, rows) - now).clamp(0.0, now) } else { 0.0 };
        }
        if self.doubtful_fraction(other, rows).is_some() {
            // If it has heavy calls as well, the trial ends with the first one.
            return self.heavy.cost_of_looking(other, (self.current, now), rows, self.situation.workers);
        }
        let then = match other {
            Strategy::Serial => self.mean_time_alone(rows),
            // What is in doubt was true of another world.
            _ if estimate.tells_of(rows) && estimate.samples() == 0 => self.mean_time(other, rows).min(2.0 * now),
            _ if estimate.tells_of(rows) => self.mean_time(other, rows),
            // A round or a session that goes wrong is a sweep on the leader, and a wake-up.
            _ => now + ROUND + SESSION,
        };
        (then - now).max(0.0) * self.trial_calls(other) as f32
    }

    fn trial_calls(&self, other: Strategy) -> u32 {
        if self.estimate(other).is_uneven() { UNEVEN_TRIAL_CALLS } else { TRIAL_CALLS }
    }

    /// What one thread takes, which was measured: as long as all together are busy now at most.
    fn mean_time_alone(&self, rows: u64) -> f32 {
        let workers = self.situation.workers;
        let measured = self.mean_time(Strategy::Serial, rows);
        if !self.busy.is_known() {
            return measured;
        }
        measured.min(self.heavy.mean(Strategy::Serial, self.busy.of(rows), rows, workers))
    }

    /// Whether a trial of `strategy` would be of one thread, where calls go to the gang and what
    /// one thread takes is not known, or not any more. The leader then only begins a call alone.
    fn would_be_probe(&self, strategy: Strategy) -> bool {
        strategy == Strategy::Serial && self.estimate(strategy).samples() == 0
    }

    fn begin_trial(&mut self, strategy: Strategy, cost: f32) {
        let place = strategy as usize;
        self.trials.budget.spend(cost);
        let trial = if self.would_be_probe(strategy) {
            Trial::probe()
        } else {
            let heavy_fraction = self.doubtful_fraction(strategy, self.rows);
            if heavy_fraction.is_some() {
                self.heavy.note_looking();
            }
            Trial::new(strategy, self.trial_calls(strategy), !self.estimates[place].was_tried(), heavy_fraction)
        };
        self.estimates[place].doubt();
        self.trials.rivals[place].pause();
        self.trials.count += 1;
        self.trials.under_way = Some(trial);
    }

    /// Tries `strategy` because another kind of calls does, unless these try one, or go to the gang
    /// anyway.
    pub(in crate::auto) fn try_along(&mut self, strategy: Strategy) {
        if self.trials.under_way.is_none() && !self.current.is_the_gangs() {
            self.begin_trial(strategy, 0.0);
        }
    }

    /// The part of calls that would be heavy by another strategy too, for all that is known, if it
    /// would do better where none were.
    fn doubtful_fraction(&self, other: Strategy, rows: u64) -> Option<f32> {
        let part = self.heavy.doubtful_fraction(other, self.current)?;
        self.would_do_better(other, rows).then_some(part)
    }

    /// Whether usual calls by another strategy cost less than calls do now.
    fn would_do_better(&self, other: Strategy, rows: u64) -> bool {
        let usual = self.usual(other, rows) + self.forgone(other);
        self.estimate(other).was_tried() && usual < self.cost(self.current, rows) * BETTER
    }

    /// Whether a trial that expects heavy calls and has met none goes on to look for one. It does
    /// not if it has made enough calls to tell that there are none, nor if its strategy would do no
    /// better without them.
    fn goes_on_for_heavy(&mut self, strategy: Strategy, rows: u64) -> bool {
        let Some((part, calls)) = self.trials.under_way.and_then(|trial| trial.without_heavy()) else { return false };
        let goes_on = !self.heavy.acquit(strategy, part, calls) && self.would_do_better(strategy, rows);
        self.trials.under_way.as_mut().filter(|_| goes_on).map(Trial::go_on).is_some()
    }

    pub(super) fn end_trial(&mut self, strategy: Strategy, rows: u64) {
        if self.goes_on_for_heavy(strategy, rows) {
            return;
        }
        if self.trials.under_way.is_some_and(|trial| trial.was_long()) {
            // Its calls are no pause.
            self.trials.rivals[strategy as usize].pause();
        }
        let slower = self.cost(strategy, rows) / self.cost(self.current, rows).max(1.0);
        if slower >= BETTER && self.trials.under_way.as_mut().is_some_and(Trial::retry) {
            self.estimates[strategy as usize].reopen();
            return;
        }
        let is_probe = self.trials.under_way.take().is_some_and(|trial| trial.is_probe);
        if is_probe && slower < BETTER {
            // It takes no longer, so it costs nothing to be sure.
            return self.begin_trial(strategy, 0.0);
        }
        self.is_turning = slower < CLEARLY_BETTER;
        let calls = self.trial_calls(strategy) as f32;
        let rival = &mut self.trials.rivals[strategy as usize];
        match slower {
            ..BETTER => rival.ask_every(FIRST_INTERVAL),
            ..CLOSE => rival.ask_less(LONGEST_OF_THE_CLOSE.max(rival.interval())),
            // So that they cost a third of what they may.
            _ => {
                let seldom = 3.0 * BUDGET * calls * (slower - 1.0);
                rival.ask_less((seldom as u32).clamp(LONGEST_OF_THE_CLOSE, LONGEST));
            }
        }
    }
}
