//! Group `schedules`: all that a schedule costs, with 1, 10 or 100 systems of few and cheap rows.
//! Plain systems run by Bevy's executors; those of the contenders that are tagged by
//! `AffinityExecutor`.

mod kits;

use std::fmt;
use std::hint::black_box;
use std::time::Duration;

use bevy::prelude::*;

use kits::{KITS, Kit};

use crate::contest::{Contest, Tally, Verdict};
use crate::journal::Journal;
use crate::setup::Setup;
use crate::shared::ours;
use crate::shared::race::{Pace, Race, Turn};
use crate::shared::report::{counted, duration, print_table};

/// Above the number of components, multiples of it.
const SYSTEMS: [usize; 3] = [1, 10, 100];
const ROWS: [usize; 2] = [1_000, 10_000];

/// What one race may take.
const BUDGET: Duration = Duration::from_secs(5);

/// The systems of a schedule. Beyond 20 they share components.
#[derive(Clone, Copy)]
struct Plan {
    systems: usize,
    /// Of each component.
    rows: usize,
    /// One after another; or in any order, those of different components (up to 20) at the same
    /// time.
    chained: bool,
    others: Others,
}

/// Systems that are never tagged.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Others {
    None,
    /// One after each other system.
    Between,
    /// A single one, in no order.
    Beside,
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = if self.chained { "chained" } else { "independent" };
        let others = match self.others {
            Others::None => "",
            Others::Between => ", as many untagged ones between",
            Others::Beside => ", one untagged one beside",
        };
        write!(f, "{} of {}, {order}{others}", counted(self.systems, "system"), counted(self.rows, "row"))
    }
}

pub fn run(setup: &Setup, journal: &mut Journal) -> Result<(), String> {
    let plans = plans();
    let progress = setup.progress("schedules", plans.len());
    let names = Contest::names(&Contest::of_schedules()).collect::<Vec<_>>();
    let mut lines = vec![[vec!["schedule".to_owned()], names, Verdict::heads().to_vec()].concat()];
    let mut tally = Tally::default();
    for plan in plans {
        progress.set_message(plan.to_string());
        let standings = race(setup, plan).run(setup.rounds)?;
        journal.note("schedules", plan, &standings);
        if let Some(verdict) = Verdict::of(&Contest::of_schedules(), &standings) {
            tally.add(plan, &verdict);
            let medians = standings.iter().map(|standing| duration(standing.median)).collect();
            lines.push([vec![plan.to_string()], medians, verdict.cells().to_vec()].concat());
        }
        progress.inc(1);
    }
    progress.finish_and_clear();
    print_table("Whole schedules, medians", &lines);
    tally.print();
    Ok(())
}

fn plans() -> Vec<Plan> {
    let mut plans = Vec::new();
    for systems in SYSTEMS {
        for rows in ROWS {
            plans.extend([Others::None, Others::Between].map(|others| Plan { systems, rows, chained: false, others }));
            // A single system is in no order.
            if systems > 1 {
                let chained = |others| Plan { systems, rows, chained: true, others };
                plans.extend([Others::None, Others::Between, Others::Beside].map(chained));
            }
        }
    }
    plans
}

/// A world with the schedules of one plan.
struct Planned {
    app: App,
    plan: Plan,
}

fn race(setup: &Setup, plan: Plan) -> Race<'static, Planned> {
    let mut app = ours::app_with(setup.settings());
    plan.kits().for_each(|kit| (kit.spawn)(app.world_mut(), plan.rows));
    Contest::of_schedules().into_iter().for_each(|contest| plan.add_to(&mut app, contest));
    // The plugin looks at the schedules.
    app.update();
    let mut race = Race::new(Planned { app, plan }, fault).at_pace(Pace { budget: BUDGET, ..Pace::default() });
    race.enter_baseline(Contest::Serial.name(), |planned, turn| play(Contest::Serial, planned, turn));
    for contest in Contest::of_schedules().into_iter().skip(1) {
        race.enter(contest.name(), move |planned, turn| play(contest, planned, turn));
    }
    race
}

/// Place of a system in the chain.
#[derive(SystemSet, Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Step {
    Count(usize),
    Between(usize),
}

impl Plan {
    /// Every component that is used, once.
    fn kits(self) -> impl Iterator<Item = &'static Kit> {
        KITS.iter().take(self.systems)
    }

    fn add_to(self, app: &mut App, contest: Contest) {
        for (number, kit) in KITS.iter().cycle().take(self.systems).enumerate() {
            app.add_systems(contest, kit.system(contest).in_set(Step::Count(number)));
            if self.others == Others::Between {
                app.add_systems(contest, small.in_set(Step::Between(number)));
            }
            if self.chained {
                let steps = (Step::Count(number), Step::Between(number), Step::Count(number + 1));
                app.configure_sets(contest, steps.chain());
            }
        }
        if self.others == Others::Beside {
            app.add_systems(contest, small);
        }
        contest.give_executor(app);
    }
}

/// A system that is never tagged: it does what small systems do, which is little.
fn small(mut runs: Local<u32>) {
    *runs = black_box(*runs + 1);
}

fn play(contest: Contest, planned: &mut Planned, turn: &mut Turn) {
    turn.repeat(|| contest.run_schedule(&mut planned.app));
}

/// Every system adds one to every row of its component in every call.
fn fault(planned: &mut Planned, calls: u64) -> Option<String> {
    let sweeps = calls * planned.plan.systems.div_ceil(KITS.len()) as u64;
    let world = planned.app.world_mut();
    let wrong = planned.plan.kits().find_map(|kit| (kit.wrong)(world, sweeps))?;
    Some(format!("a row is {wrong} after {calls} calls"))
}
