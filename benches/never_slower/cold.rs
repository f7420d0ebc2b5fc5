//! Group `cold`: the first calls of a system in a world of its own, as when a level loads and no
//! call was ever measured.

use bevy::prelude::*;

use crate::cell::{self, Cell, Cost};
use crate::contest::{Contest, Verdict};
use crate::journal::Journal;
use crate::setup::{ROWS, Setup};
use crate::shared::race::Pace;
use crate::shared::report::{duration, grouped, print_table};
use crate::shared::statistics::{Samples, Standing};

/// Calls that are cold, in sum.
const CALLS: u32 = 50;

/// The most times the best's sum that the judged contender may take.
const ALLOWED: f64 = 1.3;

const COSTS: [Cost; 3] = [Cost::OneNs, Cost::TenNs, Cost::Clustered];

pub fn run(setup: &Setup, journal: &mut Journal) -> Result<(), String> {
    let cells: Vec<_> = cells(setup).filter(Cell::is_short).collect();
    let progress = setup.progress("cold", cells.len());
    let contests = Contest::all();
    let head = ["rows", "cost"].map(String::from).into_iter().chain(Contest::names(&contests));
    let mut lines: Vec<Vec<_>> = vec![head.chain(["Auto / best".to_owned()]).collect()];
    let mut held = 0;
    for &cell in &cells {
        progress.set_message(cell.to_string());
        let standings = sums(setup, cell, &contests)?;
        journal.note("cold", cell, &standings);
        let Some(verdict) = Verdict::of(&contests, &standings) else { continue };
        held += usize::from(verdict.ratio <= ALLOWED);
        let sums = standings.iter().map(|standing| duration(standing.median));
        let line = [grouped(cell.rows), cell.cost.name().into()].into_iter().chain(sums);
        lines.push(line.chain([format!("{:.2}", verdict.ratio)]).collect());
        progress.inc(1);
    }
    progress.finish_and_clear();
    print_table(&format!("Sum of the first {CALLS} calls, medians"), &lines);
    println!("{held} of {} cells within {ALLOWED} x the best\n", cells.len());
    Ok(())
}

fn cells(setup: &Setup) -> impl Iterator<Item = Cell> {
    let rows = ROWS.into_iter().filter(|&rows| rows >= 100 && setup.runs_rows(rows));
    rows.flat_map(|rows| COSTS.map(|cost| Cell { rows, tables: 1, cost }))
}

/// The sum of the first calls of each contender, each time in a world of its own.
fn sums(setup: &Setup, cell: Cell, contests: &[Contest]) -> Result<Vec<Standing>, String> {
    let mut samples: Vec<_> = contests.iter().map(|_| Samples::default()).collect();
    for round in 0..setup.rounds_over(4) as usize {
        for turn in 0..contests.len() {
            let index = (round + turn) % contests.len();
            let mut race = cell::race(cell.app(setup, setup.settings()), Pace::default(), None);
            samples[index].push_round(vec![race.first_calls(index, CALLS)?.iter().sum()]);
        }
    }
    let standing = |(contest, own): (&Contest, &Samples)| own.standing(&contest.name(), &samples[0]);
    Ok(contests.iter().zip(&samples).map(standing).collect())
}
