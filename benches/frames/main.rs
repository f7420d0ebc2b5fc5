//! What a whole frame costs: schedules of small systems under Bevy's executors and under
//! `AffinityExecutor`, and apps with and without the plugin. Tagged is only what says so.
//!
//! ```text
//! cargo bench --bench frames -- [schedules] [matrix] [apps] [scenes] [game] [bursts] [start]
//!     [--quick] [--workers N] [--default-pool] [--rounds N]
//! ```

mod apps;
mod bursts;
mod game;
mod matrix;
mod mixed;
mod scenes;
mod schedules;
#[allow(dead_code, reason = "each bench needs a part of it")]
#[path = "../shared/mod.rs"]
mod shared;
mod sixty;
mod spin;
mod start;

use std::{num::NonZeroUsize, process::ExitCode, thread};

use clap::{Parser, ValueEnum};

use crate::shared::{bevys_pool, machine};

/// Enough for medians that repeat.
const ROUNDS: u32 = 60;
const QUICK_ROUNDS: u32 = 10;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Group {
    /// Single schedules, back to back and after 3 ms of sleep.
    Schedules,
    /// The same by size, order and tags.
    Matrix,
    /// `App::update`.
    Apps,
    /// `App::update` of large scenes.
    Scenes,
    /// `App::update` of a game with thirty systems.
    Game,
    /// Sweeps behind what else a frame does.
    Bursts,
    /// Apps that begin, and schedules that change.
    Start,
}

/// What runs a group, with so many workers and rounds.
type Run = fn(usize, u32) -> Result<(), String>;

/// What a whole frame costs, with and without the plugin.
#[derive(Parser)]
#[command(name = "frames")]
struct Arguments {
    /// Groups to run; all if none is named.
    #[arg(value_enum)]
    groups: Vec<Group>,
    /// Fewer rounds: for a look, not for figures.
    #[arg(long)]
    quick: bool,
    /// Workers, and threads of Bevy's compute pool [default: the available cores].
    #[arg(long)]
    workers: Option<NonZeroUsize>,
    /// Bevy's pools as it makes them by itself: one compute thread on two cores.
    #[arg(long)]
    default_pool: bool,
    /// Rounds of each race [default: 60, with --quick 10].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,
    /// Passed by `cargo bench` to every bench.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let cores = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let workers = arguments.workers.unwrap_or(cores).get();
    match arguments.default_pool {
        true => bevys_pool::start_by_default(),
        false => bevys_pool::start(workers),
    }
    println!("{}", machine::list(&machine::describe("frames", cores.get())));
    let rounds = arguments.rounds.unwrap_or(if arguments.quick { QUICK_ROUNDS } else { ROUNDS });
    let runs = |group| arguments.groups.is_empty() || arguments.groups.contains(&group);
    let groups: [(Group, Run); 7] = [
        (Group::Schedules, schedules::run),
        (Group::Matrix, matrix::run),
        (Group::Apps, apps::run),
        (Group::Scenes, scenes::run),
        (Group::Game, game::run),
        (Group::Bursts, bursts::run),
        (Group::Start, start::run),
    ];
    let mut chosen = groups.into_iter().filter(|(group, _)| runs(*group));
    match chosen.try_for_each(|(_, run)| run(workers, rounds)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
