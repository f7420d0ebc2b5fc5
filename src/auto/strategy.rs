//! The ways in which a parallel call can run, what is decided for one, and what it took: all that
//! is told of calls here.

use crate::settings::SchedulerMode;

/// How one parallel call runs. Each is a [`SchedulerMode`]; the mode `Auto` decides among the first
/// three.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Strategy {
    /// On the calling thread.
    #[default]
    Serial,
    /// On the gang, each worker its own rows.
    LockStep,
    /// On the gang, by fork/join: what mode `Heartbeat` does with rows.
    ForkJoin,
    /// On Bevy's compute threads.
    Bevy,
}

impl Strategy {
    /// Those that `Auto` decides among. Their number is their place in what it keeps of each.
    pub(crate) const MEASURED: [Self; Self::MEASURED_COUNT] = [Self::Serial, Self::LockStep, Self::ForkJoin];
    pub(crate) const MEASURED_COUNT: usize = 3;

    /// Whether it is the gang that runs a call so.
    pub(crate) fn is_the_gangs(self) -> bool {
        match self {
            Self::LockStep | Self::ForkJoin => true,
            Self::Serial | Self::Bevy => false,
        }
    }

    /// The mode that runs every call so.
    pub(crate) fn mode(self) -> SchedulerMode {
        match self {
            Self::Serial => SchedulerMode::Serial,
            Self::LockStep => SchedulerMode::LockStep,
            Self::ForkJoin => SchedulerMode::Heartbeat,
            Self::Bevy => SchedulerMode::Bevy,
        }
    }
}

const _: () = {
    let mut place = 0;
    while place < Strategy::MEASURED_COUNT {
        assert!(Strategy::MEASURED[place] as usize == place, "a strategy's number is its place");
        place += 1;
    }
};

/// How one call is to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) strategy: Strategy,
    pub(crate) timing: Timing,
}

/// Functions return it in registers: what is written to memory piece by piece and then copied in
/// other pieces keeps a processor waiting for some 5 ns each time.
const _: () = assert!(size_of::<Option<Decision>>() == 2);

/// What a call in mode `Auto` finds as it begins.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Situation {
    /// Storages whose rows are to be counted.
    pub(crate) storages: usize,
    /// Workers at hand, the leader among them.
    pub(crate) workers: usize,
    /// Whether the others sleep.
    pub(crate) asleep: bool,
}

/// Whether the whole of a call is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timing {
    /// If it runs on this thread, now and then: for what a row costs. The model of mode `Auto` is
    /// not told.
    ForRows,
    /// The model wants to know.
    ForModel,
    /// The model knows enough.
    Untimed,
    /// The model wants to know what one thread would take: the leader is to begin alone.
    Probe,
}

impl Decision {
    /// Where nothing is chosen: by the mode, or since the call must stay on this thread.
    pub(crate) fn without_choice(strategy: Strategy) -> Self {
        Self { strategy, timing: Timing::ForRows }
    }

    /// In mode `Auto`: by fork/join, where the leader begins alone.
    pub(super) const PROBE: Self = Self { strategy: Strategy::ForkJoin, timing: Timing::Probe };

    /// In mode `Auto`; `asked` says whether the model wants to know what the call takes.
    pub(super) fn of_model(strategy: Strategy, asked: bool) -> Self {
        Self { strategy, timing: if asked { Timing::ForModel } else { Timing::Untimed } }
    }
}

/// What the leader did in a call that it began alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Probe {
    pub(crate) rows: u64,
    pub(crate) nanoseconds: u64,
}

impl Probe {
    /// With the work that the `rows` rows of the call caused, as far as these rows did;
    /// `workers` workers did it in equal parts.
    pub(crate) fn followed_by(self, more: Outcome, rows: u64, workers: usize) -> Self {
        let all = more.busy.unwrap_or_else(|| more.leader_ns.saturating_mul(workers as u64));
        let part = in_proportion(all, self.rows, rows);
        Self { nanoseconds: self.nanoseconds.saturating_add(part), ..self }
    }
}

/// What one parallel call took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Rows of the call.
    pub(crate) rows: u64,
    /// Rows that the leader swept; 0 if the call was not measured.
    pub(crate) leader_rows: u64,
    /// For how long it did, in nanoseconds.
    pub(crate) leader_ns: u64,
    /// For how long all workers together did, in nanoseconds; `None` on one thread, or if one that
    /// was called stayed away.
    pub(crate) busy: Option<u64>,
}

impl Outcome {
    /// `rows` rows on one thread.
    pub(crate) fn serial(rows: u64, nanoseconds: u64) -> Self {
        Self { rows, leader_rows: rows, leader_ns: nanoseconds, busy: None }
    }

    /// A call of `rows` rows that was not measured.
    pub(crate) fn unknown(rows: u64) -> Self {
        Self { rows, leader_rows: 0, leader_ns: 0, busy: None }
    }

    /// For how long all workers together were busy with rows; as far as the leader's rows tell if
    /// not all took part, and `None` if they do not.
    pub(crate) fn work(&self) -> Option<u64> {
        let by_leader = || in_proportion(self.leader_ns, self.rows, self.leader_rows);
        self.busy.or_else(|| (self.leader_rows > 0).then(by_leader))
    }

    /// This call with the work that its rows caused, which `workers` workers did in equal parts:
    /// the delivery of messages. The leader is charged for as much of it as its own rows caused.
    pub(crate) fn followed_by(self, more: Self, workers: usize) -> Self {
        let all = more.leader_ns.saturating_mul(workers as u64);
        let part = in_proportion(all, self.leader_rows, self.rows);
        let busy = self.busy.zip(more.busy).map(|(first, second)| first.saturating_add(second));
        Self { leader_ns: self.leader_ns.saturating_add(part), busy, ..self }
    }
}

/// What `part` has of `all` that `whole` has, where equal parts have the same.
pub(crate) fn in_proportion(all: u64, part: u64, whole: u64) -> u64 {
    let whole = whole.max(1);
    match all.checked_mul(part) {
        Some(product) => product / whole,
        // A worker may have been stopped for hours.
        None => u64::try_from(u128::from(all) * u128::from(part) / u128::from(whole)).unwrap_or(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::{Outcome, Probe};

    #[test]
    fn what_all_did_is_reckoned_by_the_leaders_rows_where_some_were_away() {
        let all_came = Outcome { rows: 100, leader_rows: 25, leader_ns: 1_000, busy: Some(3_000) };
        assert_eq!(all_came.work(), Some(3_000));
        assert_eq!(Outcome { busy: None, ..all_came }.work(), Some(4_000));
        assert_eq!(Outcome::unknown(100).work(), None);
    }

    #[test]
    fn what_rows_cause_counts_to_those_that_were_begun_alone() {
        let probe = Probe { rows: 10, nanoseconds: 500 };
        let more = Outcome { rows: 40, leader_rows: 10, leader_ns: 300, busy: Some(1_000) };
        assert_eq!(probe.followed_by(more, 100, 4), Probe { nanoseconds: 500 + 100, ..probe });
        let some_came = Outcome { busy: None, ..more };
        assert_eq!(probe.followed_by(some_came, 100, 4), Probe { nanoseconds: 500 + 120, ..probe });
        assert_eq!(probe.followed_by(more, 0, 4), Probe { nanoseconds: 500 + 10_000, ..probe });
    }

    #[test]
    fn what_rows_cause_counts_to_those_who_swept_them() {
        let posted = Outcome { rows: 100, leader_rows: 25, leader_ns: 1_000, busy: Some(3_000) };
        let delivered = Outcome { rows: 40, leader_rows: 10, leader_ns: 500, busy: Some(1_500) };
        let expected = Outcome { leader_ns: 1_000 + 500 * 4 / 4, busy: Some(4_500), ..posted };
        assert_eq!(posted.followed_by(delivered, 4), expected);
        assert_eq!(posted.followed_by(Outcome { busy: None, ..delivered }, 4).busy, None);
        let nothing = Outcome { rows: 0, leader_rows: 0, leader_ns: 10, busy: Some(10) };
        assert_eq!(nothing.followed_by(Outcome { leader_ns: u64::MAX, ..nothing }, 4).leader_ns, 10);
    }
}
