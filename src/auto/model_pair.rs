//! The calls of one place: those that find the workers asleep take longer on the gang than those
//! that find them awake, and change what others take. They are two kinds, each with a [`Model`].

use super::{Decision, Explanation, Situation, model::Model};

/// What is known of the calls of one place.
#[derive(Debug, Default)]
pub(super) struct ModelPair {
    awake: Model,
    asleep: Model,
    /// Whether workers were asleep when the last one began.
    were_asleep: bool,
}

impl ModelPair {
    /// How a call is to run: [`Model::choose`]. What is not known of one kind of calls is guessed
    /// from the other.
    #[inline]
    pub(super) fn choose(&mut self, situation: Situation, count_rows: impl Fn() -> u64) -> Decision {
        let asleep = situation.asleep;
        self.were_asleep = asleep;
        let (model, other) =
            if asleep { (&mut self.asleep, &mut self.awake) } else { (&mut self.awake, &mut self.asleep) };
        if model.is_new() && !other.is_new() {
            model.guess_from(other, asleep);
        }
        let decision = model.choose(situation, count_rows);
        // Workers that a trial wakes are there for the calls that follow.
        let Decision { strategy, .. } = decision;
        if asleep && strategy.is_the_gangs() && self.asleep.begins_trial(strategy) {
            if self.awake.is_new() {
                self.awake.guess_from(&self.asleep, false);
            }
            self.awake.try_along(strategy);
        }
        decision
    }

    /// The model of the last call.
    pub(super) fn last(&mut self) -> &mut Model {
        if self.were_asleep { &mut self.asleep } else { &mut self.awake }
    }

    /// Other calls have gained this many nanoseconds since one from here woke the workers.
    pub(super) fn give_credit(&mut self, nanoseconds: u64) {
        self.asleep.give_credit(nanoseconds);
    }

    /// By how many nanoseconds a call that finds workers awake takes less on the gang, at least.
    pub(super) fn gain(&self) -> u64 {
        self.awake.gain(&self.asleep) as u64
    }

    /// As of the last call; calls and trials of both kinds.
    pub(super) fn explain(&self) -> Explanation {
        let [last, other] = if self.were_asleep { [&self.asleep, &self.awake] } else { [&self.awake, &self.asleep] };
        let (last, other) = (last.explain(), other.explain());
        Explanation { calls: last.calls + other.calls, trials: last.trials + other.trials, ..last }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auto::{Outcome, Probe, Strategy, Timing};

    const ASLEEP: Situation = Situation { storages: 1, workers: 2, asleep: true };

    /// Calls of 1,000 rows that take one thread 50 us.
    fn call(pair: &mut ModelPair, asleep: bool) -> Strategy {
        let strategy = pair.choose(Situation { asleep, ..ASLEEP }, || 1_000).strategy;
        pair.last().observe(strategy, &Outcome::unknown(1_000), 0..50_000);
        strategy
    }

    #[test]
    fn who_is_woken_for_a_trial_is_tried_by_the_call_behind_it() {
        let mut pair = ModelPair::default();
        let woken = (0..100).find(|_| call(&mut pair, true) == Strategy::LockStep);
        assert!(woken.is_some(), "no trial in a hundred calls");
        let trials = pair.explain().trials;
        assert_eq!(call(&mut pair, false), Strategy::LockStep);
        assert!(pair.explain().trials >= trials);
    }

    #[test]
    fn what_one_thread_takes_is_known_of_both_kinds() {
        let mut pair = ModelPair::default();
        (0..3).for_each(|_| _ = call(&mut pair, true));
        pair.choose(Situation { asleep: false, ..ASLEEP }, || 1_000);
        assert!(pair.explain().figures[Strategy::Serial as usize].is_some());
    }

    /// A call of this many rows of 10 ns, which take long to share. Returns how it ran.
    fn call_of(pair: &mut ModelPair, asleep: bool, rows: u64) -> Decision {
        let alone = 10 * rows;
        let decision = pair.choose(Situation { asleep, ..ASLEEP }, || rows);
        let takes = if decision.strategy == Strategy::Serial { alone } else { 30_000 + alone / 3 * 2 };
        match decision.timing {
            Timing::ForModel => {
                let outcome = Outcome { busy: Some(alone), ..Outcome::serial(rows, alone) };
                pair.last().observe(decision.strategy, &outcome, 0..takes);
            }
            Timing::Probe => pair.last().observe_probe(Probe { rows, nanoseconds: alone }, rows, 0),
            Timing::Untimed | Timing::ForRows => {}
        }
        decision
    }

    /// The first call of a frame finds workers asleep and has many rows, mostly. The ones behind it
    /// have hardly any.
    #[test]
    fn a_call_with_few_rows_in_the_middle_of_a_trial_begins_none_behind_it() {
        let mut pair = ModelPair::default();
        let behind_it = |pair: &mut ModelPair| (0..20).for_each(|_| _ = call_of(pair, false, 100));
        let first_of_trial = Decision::of_model(Strategy::ForkJoin, false);
        let begun = (0..100).find(|_| {
            behind_it(&mut pair);
            call_of(&mut pair, true, 100_000) == first_of_trial
        });
        assert!(begun.is_some(), "no trial in a hundred frames");
        behind_it(&mut pair);
        let trials = pair.awake.explain().trials;
        for _ in 0..5 {
            assert_eq!(call_of(&mut pair, true, 20_000).strategy, Strategy::LockStep);
            behind_it(&mut pair);
        }
        assert_eq!(pair.awake.explain().trials, trials);
        assert!(pair.asleep.begins_trial(Strategy::ForkJoin), "its second call is still to come");
    }
}
