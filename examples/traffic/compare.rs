//! Runs several modes against each other: each in a process of its own, so that none inherits
//! another's threads or memory, and in turns of a few steps, so that all see the same good and bad
//! moments of the machine.

use std::io::{self, BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::city::City;
use crate::cli::{Mode, Options};
use crate::headless::{bar, warm_up};
use crate::measure::{Simulation, Timings};
use crate::outcome::{Outcome, Start};
use indicatif::ProgressBar;

/// Turns that each mode gets: enough for a median.
const SLICES: u32 = 15;

/// A child says so when it has warmed up and after each slice.
const READY: &str = "ready";

/// Runs all modes with the same options and returns their outcomes in the order of the modes.
pub fn run(options: &Options, modes: &[Mode]) -> Result<Vec<Outcome>, String> {
    let mut runs = Vec::new();
    for &mode in modes {
        let progress = bar(&mode.to_string(), 0, "warming up");
        progress.tick();
        runs.push(Run::start(mode)?);
        progress.finish_and_clear();
    }
    let progress = bar("all modes", u64::from(options.steps()) * runs.len() as u64, "taking turns");
    for slice in 0..SLICES {
        let part = |slice: u32| u64::from(options.steps()) * u64::from(slice) / u64::from(SLICES);
        let steps = part(slice + 1) - part(slice);
        for run in &mut runs {
            run.measure(steps)?;
            progress.inc(steps);
        }
    }
    progress.finish_and_clear();
    runs.into_iter().map(Run::finish).collect()
}

/// The child's side: warms up, then measures a slice for every line that comes in.
pub fn follow(simulation: &mut dyn Simulation, city: &City, options: &Options) -> Result<(), String> {
    let hidden = ProgressBar::hidden();
    let nothing = &mut |_: &mut dyn Simulation| Ok(());
    warm_up(simulation, options.warmup(), &hidden, nothing)?;
    let start = Start::of(simulation);
    say(READY)?;
    let mut timings = Timings::default();
    for line in io::stdin().lines() {
        let line = line.map_err(|error| format!("standard input: {error}"))?;
        let steps = line.parse().map_err(|_| format!("standard input: {line:?} is not a number of steps"))?;
        timings.measure(simulation, steps, &hidden, nothing)?;
        say(READY)?;
    }
    let outcome = Outcome::new(simulation, city, &options.mode.to_string(), &timings, &start)?;
    say(&serde_json::to_string(&outcome).map_err(|error| error.to_string())?)
}

fn say(line: &str) -> Result<(), String> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(|error| format!("standard output: {error}"))
}

/// The parent's side of one mode.
struct Run {
    mode: Mode,
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Run {
    /// Starts this program again and returns when it has warmed up. The last of several `--mode`
    /// options counts.
    fn start(mode: Mode) -> Result<Self, String> {
        let fail = |error: io::Error| format!("{mode}: cannot start: {error}");
        let mut child = Command::new(std::env::current_exe().map_err(fail)?)
            .args(std::env::args_os().skip(1))
            .args(["--paced", "--mode", &mode.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(fail)?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.ok_or_else(|| format!("{mode}: cannot be talked to"))?;
        let mut run = Self { mode, child, input, output: BufReader::new(output).lines() };
        run.expect_ready()?;
        Ok(run)
    }

    fn measure(&mut self, steps: u64) -> Result<(), String> {
        writeln!(self.input, "{steps}").map_err(|error| format!("{}: {error}", self.mode))?;
        self.expect_ready()
    }

    fn finish(mut self) -> Result<Outcome, String> {
        drop(self.input);
        let line = self.output.next().and_then(Result::ok).unwrap_or_default();
        let status = self.child.wait().map_err(|error| format!("{}: {error}", self.mode))?;
        serde_json::from_str(&line).map_err(|error| format!("{}: no result ({status}): {error}", self.mode))
    }

    fn expect_ready(&mut self) -> Result<(), String> {
        match self.output.next() {
            Some(Ok(line)) if line == READY => Ok(()),
            Some(Err(error)) => Err(format!("{}: {error}", self.mode)),
            _ => Err(format!("{}: ended before it was done", self.mode)),
        }
    }
}
