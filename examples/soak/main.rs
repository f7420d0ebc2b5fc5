//! Everything at once: two apps run the same program, one with plain Bevy and one with this crate,
//! while worlds, settings, modes, panics and pauses change at random. After every frame they must
//! be equal.
//!
//! `cargo run --release --example soak` soaks for ten seconds; `-- --help` tells the rest.
//! `program` is what both apps run, `changes` and `machine` are what happens to them, `twins` runs
//! a frame of both, `compare` tells whether they are equal.

mod changes;
mod cli;
mod compare;
mod components;
mod dice;
mod findings;
mod heap;
mod life;
mod machine;
mod memory;
mod order;
mod program;
mod report;
mod soaking;
mod tally;
#[cfg(test)]
mod tests;
mod twins;

use std::{panic, process::ExitCode};

use bevy::tasks::{ComputeTaskPool, TaskPoolBuilder};
use clap::Parser;

use cli::Options;
use findings::Findings;
use program::Planted;

/// With a single one Bevy's `par_iter` is serial.
const COMPUTE_THREADS: usize = 3;

fn main() -> ExitCode {
    let options = Options::parse();
    if options.list {
        program::step_names().iter().for_each(|name| println!("{name}"));
        return ExitCode::SUCCESS;
    }
    prepare_process();
    let findings = soaking::soak(&options);
    report::table(&findings);
    judge(&options, &findings)
}

/// What all apps share.
fn prepare_process() {
    ComputeTaskPool::get_or_init(|| TaskPoolBuilder::new().num_threads(COMPUTE_THREADS).build());
    let hook = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !info.payload().is::<Planted>() {
            hook(info);
        }
    }));
}

fn judge(options: &Options, findings: &Findings) -> ExitCode {
    if let Some(difference) = &findings.difference {
        report::difference(options, difference);
        return ExitCode::FAILURE;
    }
    match findings.samples.growth() {
        Some(growth) if !growth.is_flat() => {
            report::growth(&growth, findings.tally.frames);
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}
