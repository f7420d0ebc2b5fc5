//! Is the default mode ever slower than what one would have had without it? Contenders are plain
//! Bevy (`iter_mut`, `par_iter_mut`) and every [`SchedulerMode`](bevy_affinity::SchedulerMode):
//! they take turns in one process, on the same rows, with checked results.
//!
//! ```text
//! cargo bench --bench never_slower -- [calls] [cold] [schedules] [chains] [busy]
//!     [neighbours] [quota] [idle] [bursts] [changes] [skew]
//!     [--quick] [--workers N] [--rounds N] [--rows N,N,..] [--json FILE]
//! ```
//!
//! Everything takes many minutes, most of them `calls`, the matrix of all sizes and costs;
//! `--quick` some.

mod bursts;
mod busy;
mod calls;
mod cell;
mod cgroup;
mod chains;
mod changes;
mod cold;
mod contest;
mod idle;
mod journal;
mod neighbours;
mod quota;
mod schedules;
mod setup;
#[allow(dead_code, reason = "each bench needs a part of it")]
#[path = "../shared/mod.rs"]
mod shared;
mod skew;
mod spinner;
mod tails;
mod work;

use std::process::ExitCode;

use clap::Parser;

use crate::journal::Journal;
use crate::setup::{Arguments, Group, Setup};
use crate::shared::{bevys_pool, ours};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Some(core) = arguments.spin_on {
        return spinner::spin_until_orphaned(core);
    }
    match Setup::new(arguments).and_then(|setup| run(&setup)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

type Run = fn(&Setup, &mut Journal) -> Result<(), String>;

fn run(setup: &Setup) -> Result<(), String> {
    bevys_pool::start(setup.workers);
    // Kept, so that apps that come and go use one gang.
    let _gang = ours::pool(setup.workers);
    let mut journal = Journal::open(setup.json.as_deref())?;
    println!("{}", setup.describe());
    let groups: [(Group, Run); 11] = [
        (Group::Calls, calls::run),
        (Group::Cold, cold::run),
        (Group::Schedules, schedules::run),
        (Group::Chains, chains::run),
        (Group::Busy, busy::run),
        (Group::Neighbours, neighbours::run),
        (Group::Quota, quota::run),
        (Group::Idle, idle::run),
        (Group::Bursts, bursts::run),
        (Group::Changes, changes::run),
        (Group::Skew, skew::run),
    ];
    for (group, run) in groups {
        if setup.runs(group) {
            run(setup, &mut journal)?;
        }
    }
    journal.finish()
}
