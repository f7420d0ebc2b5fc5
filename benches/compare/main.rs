//! Compares this crate with its rivals: contenders take turns in one process, on the same data,
//! with checked results. Prints tables of `benches/results`.
//!
//! ```text
//! cargo bench --bench compare -- [round] [sweep] [uneven] [fused] [tree] [joins] [same-core]
//!     [transforms] [ports] [batched] [messages] [--quick] [--workers N] [--compute-threads N]
//!     [--rounds N]
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
    if setup.runs(Group::Round) {
        round::run(setup)?;
    }
    if setup.runs(Group::Sweep) {
        sweep::run(setup)?;
    }
    if setup.runs(Group::Uneven) {
        sweep::uneven::run(setup)?;
    }
    if setup.runs(Group::Fused) {
        fused::run(setup)?;
    }
    if setup.runs(Group::Tree) {
        tree::run(setup)?;
    }
    if setup.runs(Group::Joins) {
        joins::run(setup)?;
    }
    if setup.runs(Group::SameCore) {
        same_core::run(setup)?;
    }
    if setup.runs(Group::Transforms) {
        transforms::run(setup)?;
    }
    if setup.runs(Group::Ports) {
        ports::run(setup)?;
    }
    if setup.runs(Group::Batched) {
        batched::run(setup)?;
    }
    if setup.runs(Group::Messages) {
        messages::run(setup)?;
    }
    Ok(())
}
