//! A city's traffic on real roads: hundreds of thousands of intersections, each a row that a worker
//! sweeps every step.
//!
//! `cargo traffic` opens the game in a window: F1 tells the keys. With `--headless` it simulates
//! the Isle of Man and prints how fast; `--help` tells about other maps, sizes and modes.

mod challenge;
mod city;
mod cli;
mod compare;
mod districts;
#[cfg(feature = "game")]
mod game;
mod hash;
mod headless;
mod interrupt;
mod map;
mod measure;
mod mode;
mod model;
mod outcome;
mod output;
mod plain;
mod report;
mod routes;
mod scenario;
mod simulation;
mod state_hash;
mod step_times;
mod tally;
#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use bevy_affinity::prelude::*;
use bevy_affinity::topology::Topology;
use challenge::Contest;
use city::{City, Travel};
use cli::{Mode, Options};
use indicatif::ProgressBar;
use interrupt::INTERRUPTED;
use map::Network;
use measure::Simulation;
use model::Order;
use outcome::Outcome;
use output::Output;
use plain::Plain;
use routes::Routes;
use scenario::{Names, OrderFile};
use simulation::CityApp;

/// Why the program ends early, in one line.
enum Failure {
    /// A wrong option or a file that cannot be used.
    Input(String),
    /// A run that did not end as it should.
    Run(String),
    /// What a process of a comparison has told, and its exit code.
    Told(u8),
}

/// The exit code of [`Failure::Input`].
const BAD_INPUT: u8 = 2;

/// When a run ends that is interrupted.
const AT_ONCE: &str = "here, with what it has";

/// The exit code of [`Failure::Run`].
const BAD_RUN: u8 = 1;

fn main() -> ExitCode {
    interrupt::keep_ignoring_hangups();
    let result = Options::read(std::env::args_os()).map_err(Failure::Input).and_then(|options| start(&options));
    let (message, code) = match result {
        Ok(code) => return code,
        Err(Failure::Input(message)) => (message, BAD_INPUT),
        Err(Failure::Run(message)) => (message, BAD_RUN),
        Err(Failure::Told(code)) => return ExitCode::from(code),
    };
    say(&format!("error: {message}"));
    ExitCode::from(code)
}

/// Tells the user something, in one line whatever it quotes. Whoever does not listen any more
/// misses it.
fn say(message: &str) {
    let _ = writeln!(io::stderr(), "{}", in_one_line(message));
}

/// Escapes what would begin a new line or control the terminal: the names of files may hold such
/// characters.
fn in_one_line(message: &str) -> String {
    let escaped = |character: char| character.is_control().then(|| character.escape_default().to_string());
    message.chars().map(|character| escaped(character).unwrap_or_else(|| character.into())).collect()
}

fn start(options: &Options) -> Result<ExitCode, Failure> {
    if options.wants_window() {
        match window(options) {
            Ok(exit) => return Ok(exit),
            Err(obstacle) => {
                say(&format!("note: {obstacle}, so this runs as with --headless"));
                let unused = options.for_windows();
                if !unused.is_empty() {
                    say(&format!("note: {} without effect: there is no window", unused.join(", ")));
                }
            }
        }
    }
    if let Some(folder) = &options.out {
        output::spare(folder, options.inputs()).map_err(Failure::Input)?;
    }
    let progress = headless::bar("city", 0, "reading the map");
    progress.tick();
    let telling = headless::tell_in_lines(&progress, !options.paced);
    let (city, plan) = build_with_plan(options, &progress).map_err(Failure::Input)?;
    drop(telling);
    warn_of_crowding(options);
    warn_of_unused(options);
    warn_of_left_out(options, &city);
    warn_of_jams(options, &city);
    warn_of_rush(options, &plan.orders);
    let steps = options.steps.or(plan.end.map(|end| end.saturating_sub(options.warmup()).max(1)));
    if options.out.is_some() {
        // From here on files are there that a run which is interrupted has to put away.
        interrupt::heed(AT_ONCE);
    }
    let output = options.out.as_ref().map(|folder| Output::create(folder, &city.network, plan.names.as_ref()));
    let output = output.transpose().map_err(Failure::Input)?;
    let end = options.warmup().saturating_add(steps.unwrap_or(options.steps()));
    warn_of_late(options, "orders", end, plan.orders.iter().map(|&(at, order)| at.saturating_add(order.delay())));
    warn_of_late(options, "trips", end, plan.departures.iter().copied());
    let unread = city.network.unread.clone();
    run(&Options { steps, ..options.clone() }, city, &plan.orders, output)?;
    tell_of_unread(options, &unread);
    Ok(if interrupt::is_asked() { ExitCode::from(INTERRUPTED) } else { ExitCode::SUCCESS })
}

/// Plays the game until its window is closed, or says why that is not possible here.
#[cfg(feature = "game")]
fn window(options: &Options) -> Result<ExitCode, String> {
    game::play(options)
}

#[cfg(not(feature = "game"))]
fn window(_options: &Options) -> Result<ExitCode, String> {
    Err("this build has no window (--features game)".to_owned())
}

/// Once: the processes of a comparison leave it to the one that started them.
fn warn_of_crowding(options: &Options) {
    let cores = Topology::get().parallelism();
    let has_workers = !matches!(options.mode, Mode::Serial | Mode::BevyDefault | Mode::Plain);
    if options.workers.is_some() && !has_workers && !options.paced {
        return say(&format!("note: --workers without effect: mode '{}' says how many there are", options.mode));
    }
    if let Some(workers) = options.workers.map(usize::from).filter(|&workers| workers > cores && !options.paced) {
        say(&format!("warning: {workers} workers on {cores} cores take turns, and are slower than {cores} would be"));
    }
}

/// Options that say when and how often cars set out mean nothing where their trips are given.
fn warn_of_unused(options: &Options) {
    let unused = options.without_effect();
    if !unused.is_empty() && !options.paced {
        say(&format!("note: {} without effect: all trips are given", unused.join(", ")));
    }
}

/// A rush hour changes where cars go and when: not those whose trips are given.
fn warn_of_rush(options: &Options, orders: &[(u32, Order)]) {
    let rushes = orders.iter().filter(|(_, order)| order.is_for_all()).count();
    if rushes > 0 && options.has_trips() && !options.paced {
        let orders = report::counted(rushes as u64, "order");
        say(&format!("note: {orders} 'rush' without effect: all trips are given"));
    }
}

/// Trips without a way, be it that roads are one-way or turns forbidden.
fn warn_of_left_out(options: &Options, city: &City) {
    if city.left_out > 0 && !options.paced {
        let trips = report::counted(city.left_out.into(), "trip");
        let (are, their) = if city.left_out == 1 { ("is", "its end") } else { ("are", "their ends") };
        say(&format!("note: {trips} {are} left out: no way that is allowed leads to {their}"));
    }
}

/// Orders whose effect, or trips, that no step comes to.
fn warn_of_late(options: &Options, what: &str, end: u32, times: impl ExactSizeIterator<Item = u32>) {
    let count = times.len();
    let late = times.filter(|&at| at >= end).count();
    if late > 0 && !options.paced {
        say(&format!("note: {late} of {count} {what} are for after the end, second {end}"));
    }
}

/// More cars than the roads carry are a study of jams, or a mistake.
fn warn_of_jams(options: &Options, city: &City) {
    let (cars, carries) = (report::grouped(city.cars.into()), report::grouped(city.carries.into()));
    if city.cars > city.carries.saturating_add(city.carries / 10) && !options.paced {
        say(&format!("warning: {cars} cars are more than these roads carry ({carries}): expect jams"));
    }
}

/// What the map says and the simulation does not know of: in a line or two, or with counts.
fn tell_of_unread(options: &Options, unread: &[String]) {
    if options.paced {
        // The process that started this one tells.
    } else if options.verbose {
        unread.iter().for_each(|line| say(&format!("note: {line}")));
    } else if !options.json {
        match unread {
            [first, _, _, ..] => {
                let more = unread.len() - 1;
                say(&format!("note: {first}, and {more} more kinds of things (--verbose tells)"));
            }
            few => few.iter().for_each(|line| say(&format!("note: {line}"))),
        }
    }
}

fn run(options: &Options, city: City, orders: &[(u32, Order)], output: Option<Output>) -> Result<(), Failure> {
    let attribution = city.network.attribution.clone();
    let modes = options.mode.members();
    let outcomes = if modes.is_empty() {
        let city = Arc::new(city);
        let mut simulation = simulation(options, &city);
        simulation.plan(orders).map_err(|refusal| Failure::Input(format!("orders: {refusal}")))?;
        if options.paced {
            interrupt::ignore();
            return compare::follow(&mut *simulation, &city, options).map_err(Failure::Run);
        }
        let contest = options.challenge.map(|challenge| {
            let given = challenge.given(&city).len();
            Contest::new(challenge, &city, options.warmup(), &orders[given..])
        });
        let contest = contest.transpose().map_err(|refusal| Failure::Run(refusal.to_string()))?;
        interrupt::heed(AT_ONCE);
        let outcome = headless::run(&mut *simulation, &city, options, output, contest).map_err(Failure::Run)?;
        let Some(outcome) = outcome else {
            say("note: interrupted before the first measured step: there are no figures");
            return Ok(());
        };
        vec![outcome]
    } else {
        // Its routes are in the cache now; each of the modes makes a city of its own.
        drop(city);
        compare::run(options, modes)?
    };
    show(options, &outcomes, attribution.as_deref()).map_err(Failure::Run)
}

/// Reads the map and finds the routes; `progress` shows how far that is. With the orders that the
/// city is to be given.
#[cfg(feature = "game")]
fn build(options: &Options, progress: &ProgressBar) -> Result<(City, Vec<(u32, Order)>), String> {
    let (city, plan) = build_with_plan(options, progress)?;
    warn_of_unused(options);
    warn_of_left_out(options, &city);
    warn_of_jams(options, &city);
    warn_of_rush(options, &plan.orders);
    tell_of_unread(options, &city.network.unread);
    Ok((city, plan.orders))
}

/// What a scenario says besides.
struct Plan {
    /// What its file calls the nodes and links.
    names: Option<(Names, Names)>,
    /// When the given trips are likely to have ended.
    end: Option<u32>,
    /// When they begin.
    departures: Vec<u32>,
    /// What is given to the city, and when: by a challenge, then by a file.
    orders: Vec<(u32, Order)>,
}

fn build_with_plan(options: &Options, progress: &ProgressBar) -> Result<(City, Plan), String> {
    let scenario = options.files().read(options.seed, || network(options)).map_err(|error| error.to_string())?;
    // Once: the processes of a comparison leave it to the one that started them.
    // What of the map is not read is told at the end.
    let of_trips = scenario.notes.iter().filter(|note| !options.paced && !scenario.network.unread.contains(note));
    of_trips.for_each(|note| say(&format!("note: {note}")));
    let end = scenario.end();
    let departures = scenario.departures();
    let (names, own) = (scenario.names, scenario.orders);
    let travel = Travel {
        cars: options.cars,
        seed: options.seed,
        // The clock of given trips begins at midnight: their times do.
        start: if options.has_trips() { 0 } else { options.start },
        rests: options.rest / 2..options.rest + options.rest / 2,
        patience: options.push_after,
        replans: Some(options.replan_every).filter(|&seconds| seconds > 0),
    };
    progress.set_message("finding routes");
    let city = match &scenario.trips {
        Some(trips) => City::with_trips(scenario.network, travel, trips, progress),
        None => City::new(scenario.network, travel, |network, incidence| {
            let warn = |text: &str| {
                if !options.paced {
                    say(text)
                }
            };
            Routes::prepare(network, incidence, &routes::cache_folder(), progress, warn)
        }),
    };
    progress.finish_and_clear();
    let city = city.map_err(|error| error.to_string())?;
    let orders = orders(options, &city, &own).map_err(|error| error.to_string())?;
    Ok((city, Plan { names, end, departures, orders }))
}

/// What the city is told to do: by a challenge, then by a file.
fn orders(options: &Options, city: &City, file: &OrderFile) -> Result<Vec<(u32, Order)>, map::MapError> {
    let mut orders = options.challenge.map(|challenge| challenge.given(city)).unwrap_or_default();
    let own = orders.len();
    refuse_early(options, file)?;
    orders.extend(&file.orders);
    city.check(&orders).map_err(|(place, refusal)| file.error(place.checked_sub(own), refusal))?;
    Ok(orders)
}

/// The roads of a challenge fill before the player may do anything.
fn refuse_early(options: &Options, file: &OrderFile) -> Result<(), map::MapError> {
    let is_early = |&(at, _): &(u32, Order)| at < challenge::WARMUP && options.challenge.is_some();
    let Some(place) = file.orders.iter().position(is_early) else { return Ok(()) };
    let begin = challenge::WARMUP;
    Err(file.error(Some(place), format_args!("the player begins in second {begin}: until then the roads fill")))
}

fn network(options: &Options) -> Result<Network, map::MapError> {
    match (&options.map, options.city) {
        (Some(file), _) => map::load(file),
        (None, Some(side)) => map::city::generate(side, options.seed),
        (None, None) => map::isle_of_man(),
    }
}

fn simulation(options: &Options, city: &Arc<City>) -> Box<dyn Simulation> {
    let city = Arc::clone(city);
    let workers = options.workers.map(usize::from);
    // Nothing is drawn beside the simulation.
    let spare_cores = SpareCores::Exactly(0);
    let gang = |workers| AffinitySettings { workers, spare_cores, ..AffinitySettings::default() };
    match options.mode {
        Mode::Plain => Box::new(Plain::new(city)),
        Mode::Bevy => {
            let threads = workers.unwrap_or_else(|| Topology::get().parallelism());
            Box::new(CityApp::on_compute_threads(city, Some(threads)))
        }
        Mode::BevyDefault => Box::new(CityApp::on_compute_threads(city, None)),
        Mode::Serial => Box::new(CityApp::on_gang(city, SchedulerMode::Serial, gang(WorkerCount::Exactly(1)))),
        // Comparisons run no city themselves.
        mode @ (Mode::Auto | Mode::LockStep | Mode::Heartbeat | Mode::All | Mode::PlainAndGang) => {
            let workers = workers.map_or(WorkerCount::Auto, WorkerCount::Exactly);
            Box::new(CityApp::on_gang(city, scheduler(mode), gang(workers)))
        }
    }
}

/// The plugin's mode for one of the command line; its default for those that it has no part in.
fn scheduler(mode: Mode) -> SchedulerMode {
    match mode {
        Mode::Auto => SchedulerMode::Auto,
        Mode::LockStep => SchedulerMode::LockStep,
        Mode::Heartbeat => SchedulerMode::Heartbeat,
        Mode::Bevy | Mode::BevyDefault => SchedulerMode::Bevy,
        Mode::Serial => SchedulerMode::Serial,
        Mode::All | Mode::Plain | Mode::PlainAndGang => SchedulerMode::default(),
    }
}

fn show(options: &Options, outcomes: &[Outcome], attribution: Option<&str>) -> Result<(), String> {
    report::same_state(outcomes)?;
    let mut out = io::stdout().lock();
    let shown = match options.challenge {
        _ if options.json => report::json(outcomes, &mut out),
        Some(challenge) => {
            report::story(&challenge.rules(), &mut out).and_then(|()| report::table(outcomes, attribution, &mut out))
        }
        None => report::table(outcomes, attribution, &mut out),
    };
    shown.map_err(|error| format!("standard output: {error}"))
}
