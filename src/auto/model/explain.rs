//! What a [`Model`] says of itself.

use std::time::Duration;

use super::Model;
use crate::auto::{ChoiceReason, Explanation, Figure, Strategy, rival::BETTER};

impl Model {
    /// What it chose last and why.
    pub(crate) fn explain(&self) -> Explanation {
        let figure = |strategy| {
            let estimate = self.estimate(strategy);
            estimate.was_tried().then(|| Figure {
                time: Duration::from_nanos(self.mean_time(strategy, self.rows) as u64),
                samples: estimate.samples(),
                measured_at: estimate.measured_at(),
            })
        };
        let reason = self.reason();
        Explanation {
            strategy: if reason == ChoiceReason::Alone { Strategy::Serial } else { self.current },
            reason,
            rows: self.rows,
            calls: self.calls + self.aside,
            trials: self.trials.count,
            figures: Strategy::MEASURED.map(figure),
        }
    }

    fn reason(&self) -> ChoiceReason {
        let too_short = || {
            let now = self.cost(self.current, self.rows);
            self.at_best(Strategy::LockStep, self.rows) >= now * BETTER
        };
        let takes_longer = |current| {
            let alone =
                self.estimate(Strategy::Serial).was_tried().then(|| self.mean_time(Strategy::Serial, self.rows));
            alone.is_some_and(|alone| alone < self.mean_time(current, self.rows))
        };
        match self.current {
            _ if self.situation.workers == 1 => ChoiceReason::Alone,
            _ if self.trials.under_way.is_some() => ChoiceReason::Trial,
            current if !self.estimate(current).is_known() => ChoiceReason::Unmeasured,
            Strategy::Serial if too_short() => ChoiceReason::TooShort,
            current if self.credit.get() > 0.0 && takes_longer(current) => ChoiceReason::ForOthers,
            _ => ChoiceReason::Fastest,
        }
    }
}
