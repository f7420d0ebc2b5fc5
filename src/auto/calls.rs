//! The calls of one place: those that find the workers asleep take longer on the gang than those
//! that find them awake, and change what others take. They are two kinds, each with a [`Model`].

use super::{Decision, Explanation, Situation, model::Model};

/// The calls of one place.
#[derive(Debug, Default)]
pub(super) struct Calls {
    awake: Model,
    asleep: Model,
    /// Whether workers were asleep when the last one began.
    were_asleep: bool,
}

impl Calls {
    /// How a call is to run: [`Model::choose`]. What is not known of one kind of calls is guessed
    /// from the other.
    #[inline]
    pub(super) fn choose(&mut self, situation: Situation, count_rows: impl FnOnce() -> u64) -> Decision {
        let asleep = situation.asleep;
        self.were_asleep = asleep;
        let (model, other) =
            if asleep { (&mut self.asleep, &mut self.awake) } else { (&mut self.awake, &mut self.asleep) };
        if model.is_new() && !other.is_new() {
            model.guess_from(other);
        }
        let decision = model.choose(situation, count_rows);
        // Who is woken for a trial is there for the calls that follow.
        if asleep && decision.strategy.is_the_gangs() && self.asleep.begins_trial() {
            if self.awake.is_new() {
                self.awake.guess_from(&self.asleep);
            }
            self.awake.try_along(decision.strategy);
        }
        decision
    }

    /// The model of the last call.
    pub(super) fn last(&mut self) -> &mut Model {
        if self.were_asleep { &mut self.asleep } else { &mut self.awake }
    }

    /// Others have gained so many nanoseconds since a call from here woke the workers.
    pub(super) fn give_credit(&mut self, nanoseconds: u64) {
        self.asleep.give_credit(nanoseconds);
    }

    /// By how many nanoseconds a call that finds workers awake takes less on the gang.
    pub(super) fn gain(&self) -> u64 {
        self.awake.gain() as u64
    }

    /// As of the last call; calls and trials of both kinds.
    pub(super) fn explain(&self) -> Explanation {
        let [last, other] = if self.were_asleep { [&self.asleep, &self.awake] } else { [&self.awake, &self.asleep] };
        let (last, other) = (last.explain(), other.explain());
        Explanation { calls: last.calls + other.calls, trials: last.trials + other.trials, ..last }
    }
}
