//! What an ECS and a gang of one worker cost: the traffic example's model as a plain program
//! (arrays, one thread) against the same model in tagged Bevy systems, in turns of a few steps
//! each. The table's speed-up is over the plain program.
//!
//! `cargo bench --bench plain`, or with a map:
//! `cargo bench --bench plain -- --map city.gr.gz --cars 1000000`

use std::env;
use std::ffi::OsString;
use std::process::{Command, ExitCode};

/// From what fits a core's own cache to what does not fit the one that cores share.
const CITIES: [&[&str]; 3] = [
    &["--city", "32", "--steps", "30000"],
    &["--city", "100", "--steps", "6000"],
    &["--city", "512", "--steps", "300"],
];

fn main() -> ExitCode {
    // Cargo tells every bench that it is one.
    let own: Vec<OsString> = env::args_os().skip(1).filter(|argument| argument != "--bench").collect();
    let told: Vec<_> = CITIES.iter().map(|city| city.iter().map(OsString::from).collect()).collect();
    let runs = if own.is_empty() { told } else { vec![own] };
    if runs.iter().all(|arguments| compare(arguments)) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs the example, which knows both contenders.
fn compare(arguments: &[OsString]) -> bool {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut example = Command::new(cargo);
    example.args(["run", "--quiet", "--release", "--example", "traffic", "--"]);
    example.args(["--headless", "--mode", "plain-and-gang", "--workers", "1"]).args(arguments);
    match example.status() {
        Ok(status) => status.success(),
        Err(error) => {
            eprintln!("error: cannot run cargo: {error}");
            false
        }
    }
}
