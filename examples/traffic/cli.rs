//! The command line.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Parser;
use clap::error::ErrorKind;

use crate::challenge::{self, Challenge};
pub use crate::mode::Mode;
use crate::scenario::Files;
use crate::tally::MINUTE;

/// A city's traffic in steps of one second: queues on roads, fixed-time signals, cars with trips of
/// their own.
///
/// Every mode runs the same model from the same start and must end in the same state, to the bit;
/// only the time it takes differs.
#[derive(Parser, Clone, Debug)]
#[command(name = "traffic", version, after_help = EXAMPLES, args_override_self = true, allow_negative_numbers = true)]
pub struct Options {
    /// Run without a window and print figures
    #[arg(long)]
    pub headless: bool,

    /// Road map to read: .osm.pbf, .osm or .osm.gz (OpenStreetMap), or .gr / .gr.gz (DIMACS) with
    /// its .co file beside it. Without this and --city: the Isle of Man, which is built in
    #[arg(long, value_name = "FILE", conflicts_with = "city")]
    pub map: Option<PathBuf>,

    /// Generate a city of N x N intersections, 2 to 2048
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=MOST_SIDE))]
    pub city: Option<u32>,

    /// MATSim network to read: network_v1 or _v2, .xml or .xml.gz
    #[arg(long, value_name = "FILE", conflicts_with_all = ["map", "city"], help_heading = "Scenarios")]
    pub network: Option<PathBuf>,

    /// Plans for the MATSim network: of each person the selected plan's legs by car
    #[arg(long, value_name = "FILE", requires = "network", conflicts_with_all = ["map", "city", "net"], help_heading = "Scenarios")]
    pub plans: Option<PathBuf>,

    /// SUMO network to read: .net.xml or .net.xml.gz
    #[arg(long, value_name = "FILE", conflicts_with_all = ["map", "city", "network"], help_heading = "Scenarios")]
    pub net: Option<PathBuf>,

    /// Demand for the SUMO network, with commas between files: vehicles, trips, flows, routes;
    /// programmes of signals from additional files
    #[arg(long, value_name = "FILE,..", requires = "net", conflicts_with_all = ["map", "city", "network"], value_delimiter = ',', help_heading = "Scenarios")]
    pub routes: Vec<PathBuf>,

    /// Trips for any map, as CSV with the columns depart,from,to and, if cars make several trips,
    /// traveller: seconds or HH:MM:SS, and the node numbers of network.geojson (see --out), written
    /// with the same --net or --network and with trips: without any, some nodes are left out
    #[arg(long, value_name = "FILE", conflicts_with_all = ["plans", "routes"], help_heading = "Scenarios")]
    pub trips: Option<PathBuf>,

    /// Orders for any map, as CSV with the columns at,order,where,cycle,green,offset: what a player
    /// would do (order is signals, add-signals, remove-signals, close, reopen or rush), and when,
    /// in seconds or HH:MM:SS after the start
    #[arg(long, value_name = "FILE", help_heading = "Scenarios")]
    pub orders: Option<PathBuf>,

    /// Write to this folder what happens: trips.csv, links.csv (by quarter hour), timeline.csv (by
    /// minute), network.geojson and plots. Runs without a window, in a single mode
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// A city with a task, to be solved in 45 minutes of its time: by hand, or with --orders
    #[arg(long, value_enum, conflicts_with_all = NOT_IN_CHALLENGES, help_heading = "Scenarios")]
    pub challenge: Option<Challenge>,

    /// Number of cars [default: as many as the roads carry without lasting jams]
    #[arg(long, value_name = "N", conflicts_with_all = ["trips", "plans", "routes"], value_parser = clap::value_parser!(u32).range(1..=MOST_CARS))]
    pub cars: Option<u32>,

    /// Without a window: steps to measure, of one simulated second each
    /// [default: 36,000 on the Isle of Man, elsewhere 3,600; with given trips until an hour after
    /// the last departure]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_STEPS))]
    pub steps: Option<u32>,

    /// Steps before the measured ones, for the roads to fill [default: 600; with given trips 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=MOST_STEPS))]
    pub warmup: Option<u32>,

    /// What runs the model
    #[arg(long, value_enum, default_value_t = Mode::Auto)]
    pub mode: Mode,

    /// Threads that share the work, the main thread included [default: as many as can run at once;
    /// in a window one or two fewer on eight cores and more]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MOST_WORKERS))]
    pub workers: Option<u16>,

    /// Time of day at which the city starts: the roads are busiest from 7 to 9 and from 15 to 18
    #[arg(long, value_name = "HH:MM", default_value = "06:00", value_parser = time_of_day)]
    pub start: u32,

    /// Seconds that a car rests between two trips in the busiest hours: from half to one and a half
    /// times as many; 2 to 43200
    #[arg(long, value_name = "SECONDS", default_value_t = REST, value_parser = clap::value_parser!(u32).range(2..=43_200))]
    pub rest: u32,

    /// Seconds after which a car that waits for a full road pushes into it, so that no ring of full
    /// roads stands for ever
    #[arg(long, value_name = "SECONDS", default_value_t = crate::model::PATIENCE, value_parser = clap::value_parser!(u32).range(1..=MOST_STEPS))]
    pub push_after: u32,

    /// Seconds after which some drivers look for other ways, by how long they have waited; 0 for
    /// never
    #[arg(long, value_name = "SECONDS", default_value_t = crate::city::REPLANS, value_parser = clap::value_parser!(u32).range(0..=MOST_STEPS))]
    pub replan_every: u32,

    /// Seed of all random choices
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// In a window: what to see at first, in metres east and north of the map's centre, and metres
    /// from side to side
    #[arg(long, value_name = "EAST,NORTH,WIDTH", value_parser = view, allow_hyphen_values = true, conflicts_with_all = NO_WINDOW)]
    pub view: Option<[f32; 3]>,

    /// In a window: end the game after so many frames
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with_all = NO_WINDOW)]
    pub frames: Option<u32>,

    /// In a window: write a picture of the last frame, as .png
    #[arg(long, value_name = "FILE", requires = "frames", value_parser = picture, conflicts_with_all = NO_WINDOW)]
    pub screenshot: Option<PathBuf>,

    /// Tell all that the map says and the simulation does not know of, not only the first of it
    #[arg(long)]
    pub verbose: bool,

    /// Print one JSON object for each mode instead of a table. Runs without a window
    #[arg(long)]
    pub json: bool,

    /// Measure a slice of as many steps as each line of standard input says: how a comparison runs
    /// its modes
    #[arg(long, hide = true)]
    pub paced: bool,
}

/// Seconds that a car rests by itself: at least half as long.
const REST: u32 = 2 * crate::city::RESTS.start;

/// What runs without a window, where nothing is to be seen.
const NO_WINDOW: [&str; 3] = ["headless", "json", "out"];

/// Intersections along a side of a generated city.
const MOST_SIDE: i64 = crate::map::city::MAX_SIDE as i64;

/// Far above any city, and low enough that their numbers fit wherever the model stores them.
const MOST_CARS: i64 = crate::city::MOST_CARS as i64;

/// More than any machine has cores, and no more threads than a system lets a process start.
const MOST_WORKERS: i64 = 1_024;

/// Thirty years: times plus the longest drive along a link stay within 32 bits.
const MOST_STEPS: i64 = 1_000_000_000;

/// What a challenge says itself.
const NOT_IN_CHALLENGES: [&str; 15] = [
    "map",
    "city",
    "network",
    "plans",
    "net",
    "routes",
    "trips",
    "cars",
    "steps",
    "warmup",
    "start",
    "rest",
    "push_after",
    "replan_every",
    "seed",
];

const EXAMPLES: &str = "\
Examples:
  traffic --headless                                    the Isle of Man
  traffic --headless --city 100 --mode all              compare all modes on 10,000 intersections
  traffic --headless --map city.osm.pbf --cars 50000    your own town, from an OpenStreetMap extract
  traffic --headless --network network.xml --plans plans.xml            MATSim's scenario
  traffic --headless --net town.net.xml --routes town.rou.xml           SUMO's
  traffic --headless --map city.osm.pbf --trips trips.csv               your own trips
  traffic --challenge market-day                                        a task to solve in the game";

impl Options {
    /// Ten hours on the small island, one in a city: seconds of computing, enough for steady
    /// figures.
    pub fn steps(&self) -> u32 {
        let on_the_isle =
            [&self.map, &self.network, &self.net].iter().all(|file| file.is_none()) && self.city.is_none();
        self.steps.unwrap_or(if on_the_isle { 36_000 } else { 3_600 })
    }

    pub fn warmup(&self) -> u32 {
        self.warmup.unwrap_or(if self.has_trips() { 0 } else { 600 })
    }

    /// Whether all trips are given.
    pub fn has_trips(&self) -> bool {
        self.trips.is_some() || self.plans.is_some() || !self.routes.is_empty()
    }

    /// Options that were given, and that trips which are given leave without effect.
    pub fn without_effect(&self) -> Vec<&'static str> {
        let given = [
            ("--start", self.start != crate::model::MORNING),
            ("--rest", self.rest != REST),
            ("--replan-every", self.replan_every != crate::city::REPLANS),
        ];
        let given = given.into_iter().filter(|&(_, is_given)| is_given && self.has_trips());
        given.map(|(option, _)| option).collect()
    }

    /// Options that were given, and mean something in a window only.
    pub fn for_windows(&self) -> Vec<&'static str> {
        let given = [
            ("--view", self.view.is_some()),
            ("--frames", self.frames.is_some()),
            ("--screenshot", self.screenshot.is_some()),
        ];
        given.into_iter().filter(|&(_, is_given)| is_given).map(|(option, _)| option).collect()
    }

    /// Where a scenario comes from.
    pub fn files(&self) -> Files {
        Files {
            network: self.network.clone(),
            plans: self.plans.clone(),
            net: self.net.clone(),
            routes: self.routes.clone(),
            trips: self.trips.clone(),
            orders: self.orders.clone(),
        }
    }

    /// All files that are read.
    pub fn inputs(&self) -> impl Iterator<Item = &PathBuf> {
        let single = [&self.map, &self.network, &self.plans, &self.net, &self.trips, &self.orders];
        single.into_iter().flatten().chain(&self.routes)
    }

    /// Comparisons print a table, and a paced run is part of one.
    pub fn wants_window(&self) -> bool {
        !self.headless && !self.paced && !self.json && self.out.is_none() && self.mode.members().is_empty()
    }

    /// Reads the command line. Help and version go to standard output and end the program; a
    /// mistake is told in one line.
    pub fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, String> {
        let mut options = Self::try_parse_from(arguments).map_err(|error| match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => tell(&error),
            _ => in_one_line(&error),
        })?;
        for (option, is_given) in [
            ("--out", options.out.is_some()),
            ("--challenge", options.challenge.is_some()),
            ("--view", options.view.is_some()),
            ("--frames", options.frames.is_some()),
        ] {
            if is_given && !options.mode.members().is_empty() {
                return Err(format!("{option} needs a single mode, and '{}' stands for several", options.mode));
            }
        }
        if let Some(challenge) = options.challenge {
            options.take_rules(challenge);
        }
        Ok(options)
    }

    fn take_rules(&mut self, challenge: Challenge) {
        let rules = challenge.rules();
        (self.city, self.cars, self.start) = (Some(rules.side), rules.cars, challenge::START);
        (self.warmup, self.steps) = (Some(challenge::WARMUP), Some(rules.minutes * MINUTE));
    }
}

/// Seconds after midnight.
fn time_of_day(text: &str) -> Result<u32, String> {
    let (hours, minutes) = text.split_once(':').ok_or("hours and minutes, such as 06:30")?;
    let number =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<u32>().ok()).flatten();
    match (number(hours), number(minutes)) {
        (Some(hours @ 0..24), Some(minutes @ 0..60)) => Ok(hours * 3_600 + minutes * 60),
        _ => Err("a time from 00:00 to 23:59".to_owned()),
    }
}

fn view(text: &str) -> Result<[f32; 3], String> {
    let numbers = text.split(',').map(|number| number.trim().parse().ok().filter(|number: &f32| number.is_finite()));
    let numbers = numbers.collect::<Option<Vec<_>>>().and_then(|numbers| <[f32; 3]>::try_from(numbers).ok());
    numbers
        .filter(|view| view[2] > 0.0)
        .ok_or_else(|| "three numbers with commas between them, the last above 0".to_owned())
}

/// Where a picture can be written: better said now than after the last frame.
fn picture(text: &str) -> Result<PathBuf, String> {
    let file = PathBuf::from(text);
    if file.extension().is_none_or(|extension| extension != "png") {
        return Err("a file name that ends in .png".to_owned());
    }
    match file.parent() {
        Some(folder) if folder != Path::new("") && !folder.is_dir() => Err("there is no such folder".to_owned()),
        _ => Ok(file),
    }
}

/// Prints help or version and ends the program; what cannot be written is a mistake.
fn tell(text: &clap::Error) -> ! {
    let told = text.print().and_then(|()| io::stdout().flush());
    std::process::exit(match told {
        Ok(()) => 0,
        Err(error) => {
            crate::say(&format!("error: standard output: {error}"));
            crate::BAD_RUN.into()
        }
    })
}

/// What is wrong and what would be right, without the tips and the usage that follow.
fn in_one_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let lines = text.lines().map(str::trim).take_while(|line| !line.is_empty());
    let line = lines.collect::<Vec<_>>().join(" ");
    line.strip_prefix("error: ").unwrap_or(&line).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Options, String> {
        Options::read(line.split(' ').map(OsString::from))
    }

    #[test]
    fn mistakes_are_one_line_that_names_them() {
        for (line, named) in [
            ("traffic --cars 0", "'0' for '--cars <N>'"),
            ("traffic --workers 0", "'0' for '--workers <N>'"),
            ("traffic --steps -1", "'-1' for '--steps <N>'"),
            ("traffic --city -3", "-3 is not in 2..=2048"),
            ("traffic --city 2049", "2049 is not in 2..=2048"),
            ("traffic --seed -1", "'-1' for '--seed <N>'"),
            ("traffic --steps 0", "'0' for '--steps <N>'"),
            ("traffic --mode fast", "'fast' for '--mode <MODE>'"),
            ("traffic --map a.gr --city 9", "'--map <FILE>' cannot be used with '--city <N>'"),
            ("traffic --plans p.xml", "--network <FILE>"),
            ("traffic --city 4 --plans p.xml", "'--city <N>' cannot be used with '--plans <FILE>'"),
            ("traffic --map a.osm --routes r.xml", "cannot be used with"),
            ("traffic --network m.xml --routes r.xml", "cannot be used with"),
            ("traffic --net s.xml --plans p.xml", "cannot be used with"),
            ("traffic --fast", "'--fast'"),
            ("traffic --view 1,2", "'1,2' for '--view <EAST,NORTH,WIDTH>'"),
            ("traffic --view 1,-2,0", "the last above 0"),
            ("traffic --screenshot a.png", "--frames <N>"),
            ("traffic --frames 1 --screenshot a.jpg", "ends in .png"),
            ("traffic --frames 1 --screenshot missing/a.png", "no such folder"),
            ("traffic --headless --frames 1 --screenshot a.png", "'--headless' cannot be used with"),
            ("traffic --headless --view 1,2,3", "'--view <EAST,NORTH,WIDTH>'"),
            ("traffic --json --frames 1", "cannot be used with"),
            ("traffic --mode all --frames 1", "--frames needs a single mode, and 'all' stands for several"),
            ("traffic --challenge market-day --rest 60", "'--rest <SECONDS>'"),
            ("traffic --challenge market-day --replan-every 0", "'--replan-every <SECONDS>'"),
        ] {
            let error = read(line).unwrap_err();
            assert!(error.contains(named) && !error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn an_unknown_mode_is_told_the_known_ones() {
        let known = "auto, lock-step, heartbeat, bevy, bevy-default, serial, all]";
        assert!(read("traffic --mode fast").unwrap_err().contains(known));
    }

    #[test]
    fn what_given_trips_leave_without_effect_is_known() {
        assert!(read("traffic --rest 60").unwrap().without_effect().is_empty());
        assert!(read("traffic --trips a.csv").unwrap().without_effect().is_empty());
        let options = read("traffic --trips a.csv --start 07:00 --replan-every 0 --rest 60").unwrap();
        assert_eq!(options.without_effect(), ["--start", "--rest", "--replan-every"]);
    }

    #[test]
    fn the_options_are_consistent() {
        <Options as clap::CommandFactory>::command().debug_assert();
        let options = read("traffic --headless --city 9 --mode serial --mode all --json").unwrap();
        assert_eq!((options.city, options.mode, options.json), (Some(9), Mode::All, true));
        assert_eq!(read("traffic --headless").unwrap().mode, Mode::Auto);
    }
}
