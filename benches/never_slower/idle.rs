//! Group `idle`: calls with 2 ms of sleep before each, so that every thread that helps must be
//! woken.

use std::time::Duration;

use crate::cell::{self, Cell, Cost};
use crate::journal::Journal;
use crate::setup::Setup;
use crate::shared::race::Pace;
use crate::tails::Tails;

const ROWS: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];

/// A frame of a game is longer, what a game does between two systems is shorter.
const ASLEEP: Duration = Duration::from_millis(2);

/// Every turn has so many calls, of more than [`ASLEEP`] each.
const CALLS: u32 = 20;

pub fn run(setup: &Setup, journal: &mut Journal) -> Result<(), String> {
    let rows: Vec<_> = ROWS.into_iter().filter(|&rows| setup.runs_rows(rows)).collect();
    let progress = setup.progress("idle", rows.len());
    let mut tails = Tails::new("idle");
    for rows in rows {
        let cell = Cell { rows, tables: 1, cost: Cost::OneNs };
        progress.set_message(cell.to_string());
        let pace = Pace { calls: (CALLS, CALLS), budget: Duration::from_secs(20), ..Pace::default() };
        let mut race = cell::race(cell.app(setup, setup.settings()), pace, Some(ASLEEP));
        tails.push(cell, &race.run(setup.rounds_over(4))?, journal);
        progress.inc(1);
    }
    progress.finish_and_clear();
    tails.print("2 ms of sleep before each call");
    Ok(())
}
