//! Group `calls`: one parallel call, from a single row to a million, of every cost, in one table
//! and in a thousand.

use std::time::Duration;

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::cell::{self, Cell, Cost};
use crate::contest::{Contest, Tally, Verdict};
use crate::journal::Journal;
use crate::setup::{ROWS, Setup};
use crate::shared::race::Pace;
use crate::shared::report::{duration, grouped, print_table};
use crate::shared::statistics::Standing;

/// Calls in which the judged contender learns.
const FIRST_CALLS: u32 = 50;

/// For how long it goes on learning before the race: so many calls are some seconds to half a
/// minute of frames.
const WARM_UP: Duration = Duration::from_millis(300);
const MOST_WARM_UP_CALLS: u128 = 2_000;

const TABLES: [usize; 2] = [1, 1_000];

/// What one cell's race may take.
const BUDGET: Duration = Duration::from_secs(4);
const QUICK_BUDGET: Duration = Duration::from_millis(800);

pub fn run(setup: &Setup, journal: &mut Journal) -> Result<(), String> {
    let cells = cells(setup);
    let progress = setup.progress("calls", cells.len());
    let mut tally = Tally::default();
    let mut lines = vec![header()];
    for cell in cells {
        progress.set_message(cell.to_string());
        let raced = race(setup, cell)?;
        journal.note("calls", cell, &raced.standings);
        lines.extend(raced.line(cell, &mut tally));
        progress.inc(1);
    }
    progress.finish_and_clear();
    print_table("One call, medians", &lines);
    tally.print();
    Ok(())
}

fn cells(setup: &Setup) -> Vec<Cell> {
    let rows = move |tables| ROWS.into_iter().filter(|&rows| setup.runs_rows(rows)).map(move |rows| (tables, rows));
    let sizes = TABLES.into_iter().flat_map(rows);
    let cells = sizes.flat_map(|(tables, rows)| Cost::ALL.map(|cost| Cell { rows, tables, cost }));
    cells.filter(Cell::is_short).collect()
}

struct Raced {
    standings: Vec<Standing>,
    /// The judged contender's first calls over as many of its warm ones.
    learning: f64,
    /// How it runs the calls in the end, if it is a mode that chooses.
    choice: Option<SchedulerMode>,
}

fn race(setup: &Setup, cell: Cell) -> Result<Raced, String> {
    let budget = if setup.quick { QUICK_BUDGET } else { BUDGET };
    let mut race = cell::race(cell.app(setup, setup.settings()), Pace { budget, ..Pace::default() }, None);
    let judged = Contest::all().into_iter().position(|contest| contest == Contest::judged()).unwrap_or(0);
    let first: u64 = race.first_calls(judged, FIRST_CALLS)?.iter().sum();
    let more = WARM_UP.as_nanos() * u128::from(FIRST_CALLS) / u128::from(first.max(1));
    race.first_calls(judged, more.min(MOST_WARM_UP_CALLS) as u32)?;
    let standings = race.run(setup.rounds)?;
    let warm = standings[judged].median.as_nanos() as f64 * f64::from(FIRST_CALLS);
    let learning = first as f64 / warm.max(1.0);
    Ok(Raced { standings, learning, choice: choice(race.data()) })
}

fn choice(app: &mut App) -> Option<SchedulerMode> {
    // At the end of a frame the diagnostics hear of it.
    app.update();
    app.world().resource::<AffinityDiagnostics>().call_sites.first().map(|site| site.choice)
}

fn header() -> Vec<String> {
    let cell = ["tables", "rows", "cost"].map(String::from).into_iter();
    let judged = Verdict::heads().into_iter().chain([format!("its first {FIRST_CALLS} / warm"), "it chose".into()]);
    cell.chain(Contest::names(&Contest::all())).chain(judged).collect()
}

impl Raced {
    fn line(&self, cell: Cell, tally: &mut Tally) -> Option<Vec<String>> {
        let verdict = Verdict::of(&Contest::all(), &self.standings)?;
        tally.add(cell, &verdict);
        let cells = [grouped(cell.tables), grouped(cell.rows), cell.cost.name().into()].into_iter();
        let medians = self.standings.iter().map(|standing| duration(standing.median));
        let choice = self.choice.map_or("-".into(), |mode| format!("{mode:?}"));
        let learned = [format!("{:.2}", self.learning), choice];
        Some(cells.chain(medians).chain(verdict.cells()).chain(learned).collect())
    }
}
