//! A ring road in two regions, each a process of its own: one server and one client of
//! bevy_replicon, over the loopback.
//!
//! The western process replicates its cars to the eastern one, which sees them as ghosts. Cars that
//! cross the border are handed over by messages, both ways. In both processes a tagged system
//! drives the cars. In the end all cars must be what one process makes of them with Bevy's `Query`
//! and without our plugin, to the bit; and so must the ghosts. Exit code 0 if they are, else 1.
//!
//! `cargo run --release --ignore-rust-version --example loopback`

mod east;
mod region;
mod report;
mod road;
mod west;

use std::{
    env,
    process::{Child, Command, ExitCode},
};

use bevy::prelude::AppExit;

fn main() -> ExitCode {
    match env::args().nth(1) {
        None => two_processes(),
        Some(port) => exit_code(east::app(port.parse().expect("the argument is a port")).run()),
    }
}

fn two_processes() -> ExitCode {
    let (mut west, port) = west::app();
    let mut east = start_east(port);
    let exit = west.run();
    let ended_well = east.wait().is_ok_and(|status| status.success());
    if ended_well { exit_code(exit) } else { ExitCode::FAILURE }
}

fn start_east(port: u16) -> Child {
    let program = env::current_exe().expect("a program knows where it is");
    Command::new(program).arg(port.to_string()).spawn().expect("the program starts once more")
}

fn exit_code(exit: AppExit) -> ExitCode {
    if exit.is_success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
