//! Runs a simulation without a window and takes the time.

use std::fmt;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use crate::challenge::Contest;
use crate::city::City;
use crate::cli::Options;
use crate::interrupt;
use crate::measure::{AfterStep, Simulation, Timings};
use crate::outcome::{Outcome, Start};
use crate::output::Output;
use crate::report::grouped;

/// Warms up and measures in one go; `output` gets what has happened in each step, and so does the
/// `contest` of a challenge. No outcome where Ctrl-C came before the first measured step.
pub fn run(
    simulation: &mut dyn Simulation,
    city: &City,
    options: &Options,
    mut output: Option<Output>,
    mut contest: Option<Contest>,
) -> Result<Option<Outcome>, String> {
    let mode = options.mode.to_string();
    if output.is_some() {
        simulation.record();
    }
    let note = &mut |simulation: &mut dyn Simulation| {
        if let Some(contest) = &mut contest {
            contest.follow(simulation);
        }
        output.as_mut().map_or(Ok(()), |output| output.note_step(simulation))
    };
    warm_up(simulation, options.warmup(), &bar(&mode, options.warmup().into(), "warming up"), note)?;
    if interrupt::is_asked() {
        output.map_or(Ok(()), |output| output.finish(simulation))?;
        return Ok(None);
    }
    let start = Start::of(simulation, city);
    let mut timings = Timings::default();
    let progress = bar(&mode, options.steps().into(), "measuring");
    timings.measure(simulation, options.steps(), &progress, note)?;
    progress.finish_and_clear();
    output.map_or(Ok(()), |output| output.finish(simulation))?;
    let mut outcome = Outcome::new(simulation, city, &mode, &timings, &start)?;
    outcome.figures.challenge = contest.and_then(|contest| contest.standing());
    Ok(Some(outcome))
}

pub fn warm_up(
    simulation: &mut dyn Simulation,
    steps: u32,
    progress: &ProgressBar,
    after: &mut AfterStep,
) -> Result<(), String> {
    for _ in 0..steps {
        if interrupt::is_asked() {
            break;
        }
        simulation.step();
        after(simulation)?;
        progress.inc(1);
    }
    simulation.begin_measuring();
    progress.finish_and_clear();
    Ok(())
}

/// A live line on a terminal, nothing elsewhere.
pub fn bar(name: &str, steps: u64, action: &str) -> ProgressBar {
    let style =
        ProgressStyle::with_template("{prefix:>12} {msg:<16} {bar:30} {human_pos}/{human_len}, {rate}/s, {eta} left");
    let bar = ProgressBar::new(steps).with_prefix(name.to_owned()).with_message(action.to_owned());
    match style {
        Ok(style) => bar.with_style(style.with_key("rate", whole_rate)),
        Err(_) => bar,
    }
}

/// Steps a second, as a whole number.
fn whole_rate(state: &ProgressState, out: &mut dyn fmt::Write) {
    let _ = write!(out, "{}", grouped(state.per_sec() as u64));
}
