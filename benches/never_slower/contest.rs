//! The contenders, and who is judged by whom.

use std::fmt;

use bevy::ecs::schedule::ScheduleLabel;
use bevy::prelude::App;
use bevy_affinity::prelude::*;

use crate::shared::ours;
use crate::shared::report;
use crate::shared::statistics::Standing;

/// One way to run a call, and the schedule that runs it so.
#[derive(ScheduleLabel, Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Contest {
    /// Plain Bevy, `iter_mut`.
    Serial,
    /// Plain Bevy, `iter_mut`, and the whole schedule on one thread too.
    SerialAlone,
    /// Plain Bevy, `par_iter_mut`.
    ParIter,
    /// A tagged system.
    Affine(SchedulerMode),
}

impl Contest {
    /// Those that take part in every race; the first one is the baseline.
    pub fn all() -> Vec<Self> {
        let modes = SchedulerMode::ALL.iter().map(|&mode| Self::Affine(mode));
        [Self::Serial, Self::ParIter].into_iter().chain(modes).collect()
    }

    /// Those that take part in races of whole schedules.
    pub fn of_schedules() -> Vec<Self> {
        let mut contests = Self::all();
        contests.insert(1, Self::SerialAlone);
        contests
    }

    /// Gives this contender's schedule the executor that it runs by.
    pub fn give_executor(self, app: &mut App) {
        match self {
            Self::Serial | Self::ParIter => ours::leave_alone(app, self),
            Self::SerialAlone => ours::run_on_one_thread(app, self),
            Self::Affine(_) => {}
        }
    }

    /// Runs this contender's schedule, in its mode.
    pub fn run_schedule(self, app: &mut App) {
        if let Self::Affine(mode) = self {
            app.insert_resource(mode);
        }
        app.world_mut().run_schedule(self);
    }

    /// The default mode: it should never be slower.
    pub fn judged() -> Self {
        Self::Affine(SchedulerMode::default())
    }

    /// Whether this is one of those that the judged one is compared with. The modes `Bevy` and
    /// `Serial` are not: they are plain Bevy once more.
    fn is_measure(self) -> bool {
        match self {
            Self::Serial | Self::ParIter => true,
            Self::Affine(mode) => matches!(mode, SchedulerMode::LockStep | SchedulerMode::Heartbeat),
            Self::SerialAlone => false,
        }
    }

    pub fn name(self) -> String {
        match self {
            Self::Serial => "Bevy `iter_mut`".into(),
            Self::SerialAlone => "Bevy `iter_mut`, one thread".into(),
            Self::ParIter => "Bevy `par_iter_mut`".into(),
            Self::Affine(mode) => format!("affine, {mode:?}"),
        }
    }

    pub fn names(contests: &[Self]) -> impl Iterator<Item = String> {
        contests.iter().map(|contest| contest.name())
    }
}

/// How many times the best's median the judged one may take, and how many nanoseconds more than
/// that.
const ALLOWED: f64 = 1.05;
const ALLOWED_NS: f64 = 100.0;

/// And beside the fastest of all columns, in races of whole schedules: with one thread by hand, and
/// the modes that are plain Bevy by another executor.
const ALLOWED_NS_OF_ALL: f64 = 1_000.0;

/// How the judged contender did in one race.
pub struct Verdict {
    pub best: String,
    /// Its time over the best's.
    pub ratio: f64,
    /// Its time less the best's, in nanoseconds.
    pub excess: f64,
    /// Whether that is within what is allowed.
    pub holds: bool,
    /// Whether the mean is, beside the smallest one.
    holds_by_mean: bool,
    /// Whether it is beside the fastest of all columns, in a race of whole schedules.
    holds_of_all: Option<bool>,
}

impl Verdict {
    /// `standings` are those of `contests`, in their order. `None` if nobody is judged, or nobody
    /// is there to judge by.
    pub fn of(contests: &[Contest], standings: &[Standing]) -> Option<Self> {
        let entered = || contests.iter().zip(standings);
        let (_, judged) = entered().find(|(contest, _)| **contest == Contest::judged())?;
        let measures = || entered().filter(|(contest, _)| contest.is_measure()).map(|(_, standing)| standing);
        let best = measures().min_by_key(|standing| standing.median)?;
        let best_mean = measures().min_by_key(|standing| standing.mean)?;
        let others = entered().filter(|(contest, _)| **contest != Contest::judged()).map(|(_, standing)| standing);
        let fastest = others.min_by_key(|standing| standing.median)?;
        let are_schedules = contests.contains(&Contest::SerialAlone);
        Some(Self {
            holds_of_all: are_schedules.then(|| judged.excess_over(ALLOWED, fastest) <= ALLOWED_NS_OF_ALL),
            best: best.name.clone(),
            ratio: judged.ratio_to(best),
            excess: judged.excess_over(1.0, best),
            holds: judged.excess_over(ALLOWED, best) <= ALLOWED_NS,
            holds_by_mean: judged.mean_excess_over(ALLOWED, best_mean) <= ALLOWED_NS,
        })
    }

    /// The heads of the columns that [`cells`](Self::cells) fills.
    pub fn heads() -> [String; 4] {
        ["best", "judged / best", "judged - best", ""].map(String::from)
    }

    pub fn cells(&self) -> [String; 4] {
        let mark = if self.holds { "" } else { "SLOWER" };
        [self.best.clone(), format!("{:.2}", self.ratio), signed(self.excess), mark.into()]
    }
}

/// A duration that may be negative, with its sign.
fn signed(nanoseconds: f64) -> String {
    let sign = if nanoseconds < 0.0 { '-' } else { '+' };
    format!("{sign}{}", report::duration(std::time::Duration::from_nanos(nanoseconds.abs() as u64)))
}

/// Counts cells in which the judged contender is within what is allowed, and names the others.
#[derive(Default)]
pub struct Tally {
    cells: usize,
    /// Cells of whole schedules, and those of them that hold beside the fastest of all columns.
    schedules: usize,
    hold_of_all: usize,
    hold_by_mean: usize,
    slower: Vec<String>,
}

impl Tally {
    pub fn add(&mut self, cell: impl fmt::Display, verdict: &Verdict) {
        self.cells += 1;
        self.schedules += usize::from(verdict.holds_of_all.is_some());
        self.hold_of_all += usize::from(verdict.holds_of_all == Some(true));
        self.hold_by_mean += usize::from(verdict.holds_by_mean);
        if !verdict.holds {
            let Verdict { best, ratio, excess, .. } = verdict;
            self.slower.push(format!("{cell}: {ratio:.2} x {best} ({})", signed(*excess)));
        }
    }

    pub fn print(&self) {
        let (within, cells) = (self.cells - self.slower.len(), self.cells);
        let judged = Contest::judged().name();
        println!("{judged}: {within} of {cells} cells within {ALLOWED} x the best and {ALLOWED_NS} ns.");
        println!("By means, in which trials and delays count: {} of {cells} cells.", self.hold_by_mean);
        if self.schedules > 0 {
            let (within, cells, allowed) = (self.hold_of_all, self.schedules, ALLOWED_NS_OF_ALL / 1e3);
            println!(
                "Beside the fastest of all columns: {within} of {cells} cells within {ALLOWED} x and {allowed} us."
            );
        }
        self.slower.iter().for_each(|line| println!("- {line}"));
        println!();
    }
}
