//! Runs a simulation without a window and takes the time.

use std::fmt;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use crate::challenge::Contest;
use crate::city::City;
use crate::cli::Options;
use crate::interrupt;
use crate::measure::{AfterStep, Simulation, Timings};
use crate::outcome::{Outcome, Start};
use crate::output::Output;
use crate::report::grouped;

/// How often a line says how far it is where there is no bar.
const TELL_EVERY: Duration = Duration::from_secs(20);

/// Says in a line from time to time how far `progress` is, if it `is_asked` for and no bar is seen:
/// a large city takes minutes to prepare. Until what it returns is dropped.
pub fn tell_in_lines(progress: &ProgressBar, is_asked: bool) -> Option<Sender<()>> {
    let (telling, end) = mpsc::channel::<()>();
    let progress = progress.clone();
    (is_asked && progress.is_hidden()).then(|| {
        thread::spawn(move || {
            while end.recv_timeout(TELL_EVERY) == Err(RecvTimeoutError::Timeout) {
                crate::say(&format!("note: {}", how_far(&progress)));
            }
        });
        telling
    })
}

fn how_far(progress: &ProgressBar) -> String {
    let (done, message) = (progress.position(), progress.message());
    match progress.length() {
        Some(all) if all > 0 => format!("{message}: {:.0}% done", done as f64 * 100.0 / all as f64),
        _ => format!("{message} ..."),
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_it_is() {
        let progress = ProgressBar::hidden().with_message("finding routes");
        progress.set_length(0);
        assert_eq!(how_far(&progress), "finding routes ...");
        progress.set_length(200);
        progress.set_position(50);
        assert_eq!(how_far(&progress), "finding routes: 25% done");
        assert!(tell_in_lines(&progress, false).is_none());
        assert!(tell_in_lines(&progress, true).is_some());
    }
}
