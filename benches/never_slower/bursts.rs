//! Group `bursts`: a system that has few rows in most calls, or none, and very many in some.

use std::fmt;
use std::time::Duration;

use bevy::prelude::*;

use crate::cell::{Cell, Cost};
use crate::contest::Contest;
use crate::journal::Journal;
use crate::setup::Setup;
use crate::shared::race::{Pace, Race, Turn};
use crate::shared::report::counted;
use crate::shared::stopwatch::Stopwatch;
use crate::tails::Tails;
use crate::work::Row;

/// Periods in each turn.
const PERIODS: u32 = 10;

/// Calls of which the last one of each `period` has `many` rows, and the others `few`.
#[derive(Clone, Copy)]
struct Bursts {
    few: usize,
    many: usize,
    period: usize,
}

const BURSTS: [Bursts; 5] = [
    Bursts { few: 0, many: 50_000, period: 60 },
    Bursts { few: 10, many: 50_000, period: 60 },
    Bursts { few: 10, many: 50_000, period: 2 },
    Bursts { few: 2_000, many: 50_000, period: 4 },
    Bursts { few: 100, many: 2_000, period: 8 },
];

const COST: Cost = Cost::TenNs;

impl fmt::Display for Bursts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { few, many, period } = *self;
        let (few, many) = (counted(few, "row"), counted(many, "row"));
        write!(f, "{few} {} times, then {many}; {} each", period - 1, COST.name())
    }
}

/// What is to be checked.
#[derive(Resource)]
struct Check {
    period: usize,
    /// Rows of bursts that were not visited once.
    missed: usize,
}

pub fn run(setup: &Setup, journal: &mut Journal) -> Result<(), String> {
    let progress = setup.progress("bursts", BURSTS.len());
    let mut tails = Tails::new("bursts");
    for bursts in BURSTS {
        progress.set_message(bursts.to_string());
        tails.push(bursts, &race(setup, bursts).run(setup.rounds_over(4))?, journal);
        progress.inc(1);
    }
    progress.finish_and_clear();
    tails.print("Few rows in most calls: the sum of a period");
    Ok(())
}

fn race(setup: &Setup, bursts: Bursts) -> Race<'static, App> {
    let mut app = Cell { rows: bursts.few, tables: 1, cost: COST }.app(setup, setup.settings());
    app.insert_resource(Check { period: bursts.period, missed: 0 });
    let pace = Pace { calls: (PERIODS, PERIODS), budget: Duration::from_secs(30), ..Pace::default() };
    let mut race = Race::new(app, fault).at_pace(pace);
    let steps = COST.steps(&setup.steps, 0, 1);
    race.enter_baseline(Contest::Serial.name(), move |app, turn| play(Contest::Serial, bursts, steps, app, turn));
    for contest in Contest::all().into_iter().skip(1) {
        race.enter(contest.name(), move |app, turn| play(contest, bursts, steps, app, turn));
    }
    race
}

fn play(contest: Contest, bursts: Bursts, steps: u32, app: &mut App, turn: &mut Turn) {
    if let Contest::Affine(mode) = contest {
        app.insert_resource(mode);
    }
    app.update();
    let Bursts { few, many, period } = bursts;
    let call = |app: &mut App| {
        app.world_mut().run_schedule(contest);
        app.world().resource::<Stopwatch>().0
    };
    turn.repeat_timed(|| {
        let quiet: Duration = (1..period).map(|_| call(app)).sum();
        let burst: Vec<_> = app.world_mut().spawn_batch((few..many).map(|_| Row::new(steps))).collect();
        let all = quiet + call(app);
        let missed = burst.iter().filter(|&&row| app.world().get::<Row>(row).is_none_or(|row| row.visits != 1)).count();
        app.world_mut().resource_mut::<Check>().missed += missed;
        burst.into_iter().for_each(|row| _ = app.world_mut().despawn(row));
        all
    });
}

/// Every call visits every row.
fn fault(app: &mut App, periods: u64) -> Option<String> {
    let Check { period, missed } = *app.world().resource::<Check>();
    let mut rows = app.world_mut().query::<&Row>();
    let wrong = rows.iter(app.world()).filter(|row| u64::from(row.visits) != periods * period as u64).count();
    let all = wrong + missed;
    (all > 0).then(|| format!("{} visited too seldom or too often", counted(all, "row")))
}
