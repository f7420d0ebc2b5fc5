//! The command line.

use std::time::Duration;

use clap::Parser;

use crate::program;

/// Everything at once, for as long as you like: random worlds, settings, modes, panics and pauses,
/// compared with plain Bevy after every frame.
///
/// Two apps run the same program of some 40 systems: one over Bevy's `Query` on one thread, one
/// over this crate's parameters on the gang. Between frames entities come, go and move between
/// tables; the gang's settings and mode change at random. After each frame every component of every
/// entity, what counts as changed, and every result must be the same to the bit.
///
/// A life is one pair of apps and has a seed of its own, from which all of its choices follow: a
/// difference is printed with the command that repeats that life. Several threads live at the same
/// time and share the one gang.
///
/// Bevy itself prints a line for each panic that ends an app ('Encountered a panic in system ..');
/// those are planted.
#[derive(Parser, Clone, Debug)]
#[command(name = "soak", version, after_help = EXAMPLES, args_override_self = true)]
pub struct Options {
    /// Stop after so many frames, of all threads together [default: no limit but the time]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub frames: Option<u64>,

    /// Stop after so many seconds [default: 10, or no limit with --frames]
    #[arg(long, value_name = "S")]
    pub seconds: Option<u64>,

    /// Stop after so many hours
    #[arg(long, value_name = "H", conflicts_with = "seconds")]
    pub hours: Option<u64>,

    /// Seed of the first life; the next ones count up from there
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Threads that live at the same time; all but the first rest as long as they live
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=64))]
    pub threads: u64,

    /// Frames of the longest life; half of all lives are far shorter
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..))]
    pub life: u64,

    /// Rows of the largest world, about: frames of small ones are far quicker
    #[arg(long, value_name = "N", default_value_t = 12_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub rows: u32,

    /// Leave something out, to find what a difference comes from: changes, modes, pauses, settings,
    /// or a step by its name. May be given several times
    #[arg(long, value_name = "NAME", value_parser = nameable)]
    pub without: Vec<String>,

    /// Print the names of all steps
    #[arg(long)]
    pub list: bool,

    /// Change one bit in this frame of the first life: whether it is found
    #[arg(long, value_name = "FRAME", hide = true)]
    pub plant: Option<u64>,

    /// Lose so many bytes in every frame: whether it is found
    #[arg(long, value_name = "BYTES", hide = true, default_value_t = 0)]
    pub leak: usize,
}

const EXAMPLES: &str = "\
Examples:
  soak                                         ten seconds
  soak --frames 10000                 as continuous integration runs it
  soak --hours 8                               over night
  soak --rows 20 --frames 1000000              many frames of small worlds
  soak --seed 1234 --frames 87 --threads 1     repeat a life up to its frame 87
  soak .. --without settings --without fold    the same with default settings and without one of the steps

Exit status: 0 if all was equal and memory stayed flat, 1 if not, 2 for a wrong option.";

/// What can be left out beside steps.
const OTHERS: [&str; 4] = ["changes", "modes", "pauses", "settings"];

fn nameable(name: &str) -> Result<String, String> {
    let is_known = OTHERS.contains(&name) || program::step_names().contains(&name);
    is_known.then(|| name.to_owned()).ok_or_else(|| "there is no such step: --list prints them all".to_owned())
}

/// What a soak leaves out.
#[derive(Clone, Debug, Default)]
pub struct Without {
    pub changes: bool,
    pub modes: bool,
    pub pauses: bool,
    pub settings: bool,
    /// A bit for each step.
    pub steps: u64,
}

impl Options {
    pub fn without(&self) -> Without {
        let has = |name: &str| self.without.iter().any(|other| other == name);
        let steps = program::step_names().into_iter().enumerate().filter(|(_, name)| has(name));
        Without {
            changes: has("changes"),
            modes: has("modes"),
            pauses: has("pauses"),
            settings: has("settings"),
            steps: steps.map(|(number, _)| 1 << number).sum(),
        }
    }

    pub fn time_limit(&self) -> Option<Duration> {
        let hours = self.hours.map(|hours| hours.saturating_mul(3600));
        let default = self.frames.is_none().then_some(10);
        self.seconds.or(hours).or(default).map(Duration::from_secs)
    }

    /// The command that repeats a life up to this frame.
    pub fn repeat(&self, seed: u64, frames: u64) -> String {
        let without: String = self.without.iter().map(|name| format!(" --without '{name}'")).collect();
        let (life, rows) = (self.life, self.rows);
        format!(
            "cargo run --release --example soak -- --seed {seed} --frames {frames} --threads 1 --life {life} --rows {rows}{without}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Options {
        Options::try_parse_from(line.split(' ')).expect("a good line")
    }

    #[test]
    fn the_options_are_consistent() {
        <Options as clap::CommandFactory>::command().debug_assert();
        assert_eq!(read("soak --seed 3").time_limit(), Some(Duration::from_secs(10)));
        assert_eq!(read("soak --frames 3").time_limit(), None);
        assert_eq!(read("soak --frames 3 --hours 2").time_limit(), Some(Duration::from_secs(7_200)));
        assert!(Options::try_parse_from(["soak", "--without", "nothing"]).is_err());
    }

    #[test]
    fn steps_are_left_out_by_name() {
        let without = read("soak --without fold --without modes").without();
        let names = program::step_names();
        let fold = names.iter().position(|&name| name == "fold").expect("there is one");
        assert_eq!((without.steps, without.modes, without.settings), (1 << fold, true, false));
    }

    #[test]
    fn a_difference_is_repeated_with_the_same_options() {
        let repeated = read("soak --frames 9000 --life 50 --without settings").repeat(17, 5);
        assert!(
            repeated.ends_with("--seed 17 --frames 5 --threads 1 --life 50 --rows 12000 --without 'settings'"),
            "{repeated}"
        );
    }
}
