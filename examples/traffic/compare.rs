//! Runs several modes against each other: each in a process of its own, so that none inherits
//! another's threads or memory, and in turns of a few steps, so that all see the same good and bad
//! moments of the machine.

use std::io::{self, BufRead, BufReader, Lines, Write};
use std::process::{self, Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use crate::city::City;
use crate::cli::{Mode, Options};
use crate::headless::{bar, warm_up};
use crate::interrupt;
use crate::measure::{Simulation, Timings};
use crate::outcome::{Outcome, Start};
use crate::{BAD_INPUT, BAD_RUN, Failure};
use indicatif::ProgressBar;

/// Turns that each mode gets, if there are as many steps: enough for a median.
const SLICES: u32 = 15;

/// A child says so when it has warmed up and after each slice.
const READY: &str = "ready";

/// Runs all modes with the same options and returns their outcomes in the order of the modes.
pub fn run(options: &Options, modes: &[Mode]) -> Result<Vec<Outcome>, Failure> {
    let mut runs = Vec::new();
    for &mode in modes {
        let progress = bar(&mode.to_string(), 0, "warming up");
        progress.tick();
        runs.push(Run::start(mode)?);
        progress.finish_and_clear();
    }
    // A turn is ended in all modes, so that these end in one state.
    interrupt::heed("when all modes have had this turn");
    let progress = bar("all modes", u64::from(options.steps()) * runs.len() as u64, "taking turns");
    for steps in slices(options.steps()) {
        if interrupt::is_asked() {
            break;
        }
        for run in &mut runs {
            run.measure(steps)?;
            progress.inc(steps);
        }
    }
    progress.finish_and_clear();
    runs.into_iter().map(Run::finish).collect()
}

/// The steps of each turn: none of them is empty.
fn slices(steps: u32) -> impl Iterator<Item = u64> {
    let count = SLICES.min(steps);
    let part = move |slice: u32| u64::from(steps) * u64::from(slice) / u64::from(count);
    (0..count).map(move |slice| part(slice + 1) - part(slice))
}

/// The child's side: warms up, then measures a slice for every line that comes in. Where the parent
/// is gone it ends without a word.
pub fn follow(simulation: &mut dyn Simulation, city: &City, options: &Options) -> Result<(), String> {
    let hidden = ProgressBar::hidden();
    let nothing = &mut |_: &mut dyn Simulation| Ok(());
    let parent = Parent::listen();
    warm_up(simulation, options.warmup(), &hidden, nothing)?;
    let start = Start::of(simulation, city);
    if !parent.say_ready()? {
        return Ok(());
    }
    let mut timings = Timings::default();
    while let Some(line) = parent.hear() {
        let line = line.map_err(|error| format!("standard input: {error}"))?;
        let steps = line.parse().map_err(|_| format!("standard input: {line:?} is not a number of steps"))?;
        timings.measure(simulation, steps, &hidden, nothing)?;
        if !parent.say_ready()? {
            return Ok(());
        }
    }
    let outcome = Outcome::new(simulation, city, &options.mode.to_string(), &timings, &start)?;
    say(&serde_json::to_string(&outcome).map_err(|error| error.to_string())?).map(|_| ())
}

/// The child's view of its parent.
struct Parent {
    lines: Receiver<io::Result<String>>,
    /// The parent waits for this process, so nothing is left to do where it is gone.
    is_waiting: Arc<AtomicBool>,
}

impl Parent {
    /// Hears that the parent is gone also while this process is busy, and ends it then.
    fn listen() -> Self {
        let (sender, lines) = mpsc::channel();
        let is_waiting = Arc::new(AtomicBool::new(true));
        let waits = Arc::clone(&is_waiting);
        thread::spawn(move || {
            // Where nothing listens any more the process ends anyway.
            io::stdin().lines().for_each(|line| _ = sender.send(line));
            if waits.load(Ordering::Relaxed) {
                process::exit(BAD_RUN.into());
            }
        });
        Self { lines, is_waiting }
    }

    /// The next line; nothing where there will be none.
    fn hear(&self) -> Option<io::Result<String>> {
        let line = self.lines.recv().ok();
        self.is_waiting.store(line.is_some(), Ordering::Relaxed);
        line
    }

    fn say_ready(&self) -> Result<bool, String> {
        // First: the parent may end this process by closing its input once it has heard.
        self.is_waiting.store(false, Ordering::Relaxed);
        say(READY)
    }
}

/// Tells the parent something, and returns whether it is still there.
fn say(line: &str) -> Result<bool, String> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(format!("standard output: {error}")),
    }
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
    /// options counts; behind a `--`, where only the end can be, there would be no options.
    fn start(mode: Mode) -> Result<Self, Failure> {
        let fail = |error: io::Error| Failure::Run(format!("{mode}: cannot start: {error}"));
        let mut child = Command::new(std::env::current_exe().map_err(fail)?)
            .args(std::env::args_os().skip(1).take_while(|argument| argument != "--"))
            .args(["--paced", "--mode", &mode.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(fail)?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.ok_or_else(|| Failure::Run(format!("{mode}: cannot be talked to")))?;
        let mut run = Self { mode, child, input, output: BufReader::new(output).lines() };
        run.expect_ready()?;
        Ok(run)
    }

    fn measure(&mut self, steps: u64) -> Result<(), Failure> {
        match writeln!(self.input, "{steps}") {
            Ok(()) => self.expect_ready(),
            Err(_) => Err(ended(self.mode, self.child.wait())),
        }
    }

    fn finish(mut self) -> Result<Outcome, Failure> {
        drop(self.input);
        let line = self.output.next().and_then(Result::ok);
        match (line, self.child.wait()) {
            (Some(line), Ok(status)) if status.success() => {
                serde_json::from_str(&line).map_err(|error| Failure::Run(format!("{}: no result: {error}", self.mode)))
            }
            (_, status) => Err(ended(self.mode, status)),
        }
    }

    fn expect_ready(&mut self) -> Result<(), Failure> {
        match self.output.next() {
            Some(Ok(line)) if line == READY => Ok(()),
            Some(Ok(line)) => Err(Failure::Run(format!("{}: says {line:?}", self.mode))),
            Some(Err(error)) => Err(Failure::Run(format!("{}: {error}", self.mode))),
            None => Err(ended(self.mode, self.child.wait())),
        }
    }
}

/// A mode has ended too early: it has told why, unless something else ended it.
fn ended(mode: Mode, status: io::Result<ExitStatus>) -> Failure {
    match status {
        Ok(status) => match status.code().and_then(|code| u8::try_from(code).ok()) {
            Some(code) if [BAD_INPUT, BAD_RUN].contains(&code) => Failure::Told(code),
            _ => Failure::Run(format!("{mode}: ended before it was done ({status})")),
        },
        Err(error) => Failure::Run(format!("{mode}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_steps_are_in_turns_and_no_turn_is_empty() {
        for steps in [1, 3, 8, 14, 15, 16, 100, 36_000, 1_000_000_000] {
            let slices: Vec<u64> = slices(steps).collect();
            assert_eq!(slices.iter().sum::<u64>(), u64::from(steps));
            assert_eq!(slices.len() as u32, steps.min(SLICES), "{steps} steps");
            assert!(slices.iter().all(|slice| (steps / SLICES).max(1).abs_diff(*slice as u32) <= 1), "{slices:?}");
        }
    }
}
