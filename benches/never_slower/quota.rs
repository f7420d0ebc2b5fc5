//! Group `quota`: calls of a process that may use less than its cores, as in a container. Bevy's
//! pool and our gang were made before the quota came; a gang whose size was not given may follow
//! it.

use std::time::Duration;

use crate::cell::{self, Cell, Cost};
use crate::cgroup::OwnGroup;
use crate::journal::Journal;
use crate::setup::Setup;
use crate::shared::race::Pace;
use crate::tails::Tails;

/// In hundredths of one core.
const QUOTAS: [u64; 2] = [150, 100];

const ROWS: [usize; 3] = [10_000, 100_000, 1_000_000];

/// A turn is longer than the quota's period of 100 ms, and the pause before it for more than one:
/// who has the turn pays for what it uses itself. The mean counts here: a process that used up its
/// quota stands still until the period ends.
const PACE: Pace = Pace {
    settle: Duration::from_millis(120),
    turn: Duration::from_millis(150),
    calls: (3, 50_000),
    budget: Duration::from_secs(10),
};

pub fn run(setup: &Setup, journal: &mut Journal) -> Result<(), String> {
    let group = match OwnGroup::enter() {
        Ok(group) => group,
        Err(reason) => {
            println!("CPU quota: skipped, {reason}.\n");
            return Ok(());
        }
    };
    let rows: Vec<_> = ROWS.into_iter().filter(|&rows| setup.runs_rows(rows)).collect();
    let progress = setup.progress("quota", QUOTAS.len() * rows.len());
    let mut tails = Tails::new("quota");
    for percent in QUOTAS {
        for &rows in &rows {
            let cell = Cell { rows, tables: 1, cost: Cost::OneNs };
            let cell_name = format!("{cell}, {percent}%");
            progress.set_message(cell_name.clone());
            let mut race = cell::race(cell.app(setup, setup.settings_that_follow()), PACE, None);
            group.limit(Some(percent))?;
            let standings = race.run(setup.rounds_over(12).max(3))?;
            group.limit(None)?;
            tails.push(cell_name, &standings, journal);
            progress.inc(1);
        }
    }
    progress.finish_and_clear();
    tails.print("Under a CPU quota, in hundredths of one core");
    Ok(())
}
