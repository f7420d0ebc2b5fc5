//! Group `busy`: calls while other processes keep one core or every core busy.

use std::thread;
use std::time::Duration;

use crate::cell::{self, Cell, Cost};
use crate::journal::Journal;
use crate::setup::Setup;
use crate::shared::race::Pace;
use crate::spinner::Spinner;
use crate::tails::Tails;

const ROWS: [usize; 3] = [10_000, 100_000, 1_000_000];
const COSTS: [Cost; 2] = [Cost::OneNs, Cost::TenNs];

/// Turns as long as some time slices: who has just slept is not interrupted in its first one.
const PACE: Pace = Pace {
    settle: Duration::from_micros(500),
    turn: Duration::from_millis(20),
    calls: (5, 1_000),
    budget: Duration::from_secs(10),
};

/// In which a new process starts and the system gets used to it.
const START: Duration = Duration::from_millis(200);

pub fn run(setup: &Setup, journal: &mut Journal) -> Result<(), String> {
    // On the last core there is a worker, and not the leader if there are two: it moves where it
    // likes.
    let all = setup.cores.len();
    let levels = if all > 1 { vec![1, all] } else { vec![1] };
    let cells: Vec<Cell> = cells(setup).collect();
    let progress = setup.progress("busy", levels.len() * cells.len());
    for spinning in levels {
        let cores = setup.cores.iter().rev().take(spinning);
        let _spinners = cores.map(|&core| Spinner::start(core)).collect::<Result<Vec<_>, _>>()?;
        thread::sleep(START);
        let mut tails = Tails::new("busy");
        for &cell in &cells {
            let cell_name = format!("{cell}, {spinning} busy");
            progress.set_message(cell_name.clone());
            let mut race = cell::race(cell.app(setup, setup.settings()), PACE, None);
            tails.push(cell_name, &race.run(setup.rounds_over(3))?, journal);
            progress.inc(1);
        }
        progress.suspend(|| tails.print(&format!("{spinning} of {all} cores kept busy by other processes")));
    }
    progress.finish_and_clear();
    Ok(())
}

fn cells(setup: &Setup) -> impl Iterator<Item = Cell> {
    let rows = ROWS.into_iter().filter(|&rows| setup.runs_rows(rows));
    rows.flat_map(|rows| COSTS.map(|cost| Cell { rows, tables: 1, cost }))
}
