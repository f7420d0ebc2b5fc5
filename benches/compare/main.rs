//! Compares this crate with its rivals: contenders take turns in one process, on the same data,
//! with checked results. Prints tables of `benches/results`.
//!
//! ```text
//! cargo bench --bench compare -- [round] [sweep] [changed] [uneven] [fused] [tree] [joins]
//!     [same-core] [transforms] [ports] [batched] [messages] [--quick] [--workers N]
//!     [--compute-threads N] [--rounds N]
//! ```
//!
//! With `--features rivals` fork_union takes part too; its crate needs a C++ compiler.

mod batched;
mod fused;
mod joins;
mod messages;
mod ours;
mod ping_pong;
mod ports;
mod report;
mod rivals;
mod round;
mod runs;
mod same_core;
mod setup;
#[allow(dead_code, reason = "each bench needs a part of it")]
#[path = "../shared/mod.rs"]
mod shared;
mod spin_pool;
mod sweep;
mod transforms;
mod tree;

use std::process::ExitCode;

use clap::Parser;

use crate::setup::{Arguments, Group, Setup};
use crate::shared::{bevys_pool, race, statistics};

/// What runs a group.
type Run = fn(&Setup) -> Result<(), String>;

fn main() -> ExitCode {
    let setup = Setup::new(Arguments::parse());
    match run(&setup) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(setup: &Setup) -> Result<(), String> {
    bevys_pool::start(setup.compute_threads);
    println!("{}", setup.describe());
    let groups: [(Group, Run); 12] = [
        (Group::Round, round::run),
        (Group::Sweep, sweep::run),
        (Group::Changed, sweep::changed::run),
        (Group::Uneven, sweep::uneven::run),
        (Group::Fused, fused::run),
        (Group::Tree, tree::run),
        (Group::Joins, joins::run),
        (Group::SameCore, same_core::run),
        (Group::Transforms, transforms::run),
        (Group::Ports, ports::run),
        (Group::Batched, batched::run),
        (Group::Messages, messages::run),
    ];
    groups.into_iter().filter(|&(group, _)| setup.runs(group)).try_for_each(|(_, run)| run(setup))
}
