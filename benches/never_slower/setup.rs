//! The command line, and what all groups need to know of it.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread;

use bevy_affinity::prelude::*;
use clap::{Parser, ValueEnum};
use core_affinity::CoreId;
use indicatif::{ProgressBar, ProgressStyle};

use crate::contest::Contest;
use crate::shared::{machine, ours};
use crate::work::Steps;

/// How many rows cells have.
pub const ROWS: [usize; 7] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000];

/// Rounds of each race: enough for a median that repeats.
const ROUNDS: u32 = 60;
const QUICK_ROUNDS: u32 = 10;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Group {
    /// One parallel call: 1 to 1,000,000 rows of 1 ns to 1 us, even and uneven, in one table and in
    /// 1,000.
    Calls,
    /// The first 50 calls in a world, by each mode.
    Cold,
    /// Whole schedules of 1 to 100 systems, tagged and not.
    Schedules,
    /// Ten systems one after another that sweep the same rows for some microseconds each.
    Chains,
    /// Calls while other processes keep cores busy.
    Busy,
    /// Rounds while other threads of this process, or another process, use the worker's core.
    Neighbours,
    /// Calls under a CPU quota (Linux, as root).
    Quota,
    /// Calls with 2 ms of sleep before each.
    Idle,
    /// Few rows in most calls, or none, and very many in some.
    Bursts,
    /// Rows that get in each other's way and then no longer, or the other way about.
    Changes,
    /// A table whose last tenth costs 20 times as much: how soon the shares are even, and what
    /// moves afterwards.
    Skew,
}

/// Compares every scheduler mode with plain Bevy and with each other: is the default mode ever
/// slower than the best?
///
/// Tables go to the standard output, progress to the terminal. A cell counts as 'never slower'
/// within 1.05 x the best and 100 ns.
#[derive(Parser)]
#[command(name = "never_slower")]
pub struct Arguments {
    /// Groups to run; all if none is named.
    #[arg(value_enum)]
    groups: Vec<Group>,
    /// Fewer rounds and shorter races: for a look, not for figures.
    #[arg(long)]
    quick: bool,
    /// Workers of the gang, the calling thread included, and threads of Bevy's pool
    /// [default: the available cores].
    #[arg(long)]
    workers: Option<NonZeroUsize>,
    /// Rounds of each race; groups whose turns are long run fewer [default: 60, with --quick 10].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,
    /// Only cells with so many rows, such as 1000,100000; not for `schedules`, `chains`, `bursts`,
    /// `changes` and `skew`.
    #[arg(long, value_delimiter = ',')]
    rows: Vec<usize>,
    /// Writes all figures to this file too.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Keeps a core busy, and does nothing else.
    #[arg(long, hide = true, value_name = "CORE")]
    pub spin_on: Option<usize>,
    /// Passed by `cargo bench` to every bench.
    #[arg(long, hide = true)]
    bench: bool,
}

pub struct Setup {
    groups: Vec<Group>,
    pub workers: usize,
    /// Whether the command line says how many workers there are.
    workers_given: bool,
    pub rounds: u32,
    pub quick: bool,
    rows: Vec<usize>,
    pub json: Option<PathBuf>,
    /// The cores this process may use, read before any thread was pinned.
    pub cores: Vec<CoreId>,
    pub steps: Steps,
}

impl Setup {
    pub fn new(arguments: Arguments) -> Result<Self, String> {
        let available = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let rounds = if arguments.quick { QUICK_ROUNDS } else { ROUNDS };
        if let Some(rows) = arguments.rows.iter().find(|rows| !ROWS.contains(rows)) {
            return Err(format!("no cell has {rows} rows; there are {:?}", ROWS));
        }
        let groups = if arguments.groups.is_empty() { Group::value_variants().to_vec() } else { arguments.groups };
        Ok(Self {
            groups,
            workers: arguments.workers.unwrap_or(available).get(),
            workers_given: arguments.workers.is_some(),
            rounds: arguments.rounds.unwrap_or(rounds),
            quick: arguments.quick,
            rows: arguments.rows,
            json: arguments.json,
            cores: core_affinity::get_core_ids().unwrap_or_default(),
            steps: Steps::measure()?,
        })
    }

    pub fn runs(&self, group: Group) -> bool {
        self.groups.contains(&group)
    }

    pub fn runs_rows(&self, rows: usize) -> bool {
        self.rows.is_empty() || self.rows.contains(&rows)
    }

    /// Settings of the gang.
    pub fn settings(&self) -> AffinitySettings {
        ours::settings(self.workers)
    }

    /// As [`settings`](Self::settings), but a gang whose size nobody gave may follow a quota.
    pub fn settings_that_follow(&self) -> AffinitySettings {
        if self.workers_given { self.settings() } else { AffinitySettings::default() }
    }

    /// One in so many of the rounds, for groups with long turns.
    pub fn rounds_over(&self, divisor: u32) -> u32 {
        self.rounds.div_ceil(divisor)
    }

    /// A bar that counts a group's cells, on the terminal if there is one. It does not tick by
    /// itself: that would disturb what is timed.
    pub fn progress(&self, group: &'static str, cells: usize) -> ProgressBar {
        let style = ProgressStyle::with_template("{prefix} {wide_bar} {pos}/{len} {elapsed} {msg}");
        let bar = ProgressBar::new(cells as u64).with_prefix(group);
        style.map_or(bar.clone(), |style| bar.with_style(style))
    }

    /// The header of the report, as markdown list items.
    pub fn describe(&self) -> String {
        let mut lines = machine::describe("never_slower", self.cores.len());
        lines.push(format!("Workers: {0}, the caller counts; Bevy's pool: {0} threads and the caller", self.workers));
        lines.push(format!(
            "{} rounds of a race at most; contenders take turns; results checked after each turn; a clock reading costs {} ns and is not subtracted",
            self.rounds,
            machine::clock_cost()
        ));
        lines.push(self.steps.describe());
        lines.push(format!("Judged: {}", Contest::judged().name()));
        machine::list(&lines)
    }
}
