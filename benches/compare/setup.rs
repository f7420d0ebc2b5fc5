//! The command line, and what all groups need to know of it.

use std::num::NonZeroUsize;
use std::thread;

use clap::{Parser, ValueEnum};
use core_affinity::CoreId;

use crate::shared::machine;

/// Rounds of each race: enough for a median that repeats, with all groups in about two minutes.
const ROUNDS: u32 = 60;
const QUICK_ROUNDS: u32 = 10;

const SIZES: [usize; 6] = [1_000, 10_000, 100_000, 200_000, 1_000_000, 10_000_000];

/// Largest size with `--quick`.
const QUICK_SIZE: usize = 1_000_000;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Group {
    /// An empty fork and join, and a cache line there and back.
    Round,
    /// `+= 1` over a slice and over components, from 1,000 to 10 million.
    Sweep,
    /// A sweep over the rows that have changed.
    Changed,
    /// A sweep in which one row in a thousand costs a thousand times as much.
    Uneven,
    /// Three systems that sweep the same rows, chained and fused.
    Fused,
    /// The sum of a binary tree by fork/join, from 1,000 to 16.7 million nodes.
    Tree,
    /// What the parts of fork/join cost: joins that nobody shares, clocks, wake-ups, doing nothing.
    Joins,
    /// How many rows are swept on the core that swept them the frame before.
    SameCore,
    /// Transform propagation, against Bevy's systems.
    Transforms,
    /// Programs written for Bevy, with one type name and one word changed.
    Ports,
    /// Many small calls from one serial program, as the language Dew makes them.
    Batched,
    /// Messages between rows, by `scatter` and by look-up.
    Messages,
}

/// Compares the pool and the queries of this crate with their rivals, taking turns in one process.
#[derive(Parser)]
#[command(name = "compare")]
pub struct Arguments {
    /// Groups to run; all if none is named.
    #[arg(value_enum)]
    groups: Vec<Group>,
    /// Fewer rounds and no size above a million: about 15 seconds.
    #[arg(long)]
    quick: bool,
    /// Workers of every pool, the calling thread included [default: the available cores].
    #[arg(long)]
    workers: Option<NonZeroUsize>,
    /// Threads of Bevy's compute pool [default: as many as workers]. With one its parallel calls
    /// are serial.
    #[arg(long)]
    compute_threads: Option<NonZeroUsize>,
    /// Rounds of each race.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,
    /// Passed by `cargo bench` to every bench.
    #[arg(long, hide = true)]
    bench: bool,
}

pub struct Setup {
    pub groups: Vec<Group>,
    pub workers: usize,
    /// Of Bevy's pool.
    pub compute_threads: usize,
    pub rounds: u32,
    pub sizes: Vec<usize>,
    /// The cores this process may use, read before any thread was pinned.
    pub cores: Vec<CoreId>,
}

impl Setup {
    pub fn new(arguments: Arguments) -> Self {
        let available = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let largest = if arguments.quick { QUICK_SIZE } else { usize::MAX };
        let rounds = if arguments.quick { QUICK_ROUNDS } else { ROUNDS };
        let groups = if arguments.groups.is_empty() { Group::value_variants().to_vec() } else { arguments.groups };
        let workers = arguments.workers.unwrap_or(available);
        Self {
            groups,
            workers: workers.get(),
            compute_threads: arguments.compute_threads.unwrap_or(workers).get(),
            rounds: arguments.rounds.unwrap_or(rounds),
            sizes: SIZES.into_iter().filter(|&size| size <= largest).collect(),
            cores: core_affinity::get_core_ids().unwrap_or_default(),
        }
    }

    /// The header of the report, as markdown list items.
    pub fn describe(&self) -> String {
        let mut lines = machine::describe("compare", self.cores.len());
        lines.push(format!(
            "Workers: {0}, the caller counts; Bevy's pool: {1} threads, rayon's: {0}, and, where they let it, the caller",
            self.workers, self.compute_threads
        ));
        lines.push(format!(
            "{} rounds; contenders take turns; results checked after each turn; a clock reading costs {} ns and is not subtracted",
            self.rounds,
            machine::clock_cost()
        ));
        machine::list(&lines)
    }

    pub fn runs(&self, group: Group) -> bool {
        self.groups.contains(&group)
    }
}
