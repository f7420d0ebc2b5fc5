//! Group `schedules`: one schedule, by each executor.

use std::{
    hint::black_box,
    thread,
    time::{Duration, Instant},
};

use bevy::{
    ecs::schedule::{MultiThreadedExecutor, SingleThreadedExecutor},
    prelude::*,
};
use bevy_affinity::{AffinityExecutor, Forced, ScheduleWay, prelude::*};

use crate::mixed;
use crate::shared::ours;
use crate::shared::race::{Pace, Race, Turn};
use crate::shared::report::{print_table, with_p99};
use crate::spin::spin;

/// What one race may take.
const BUDGET: Duration = Duration::from_secs(8);

/// Between the runs of a schedule that is not run back to back: the rest of a frame.
const SLEEP: Duration = Duration::from_millis(3);

/// A schedule by what is in it. The world of a contender of ours has a pool by then.
type Fill = fn(&mut Schedule, &mut World);

/// With the number of runs that are timed together.
const FILLS: [(&str, Fill, u32); 8] = [
    ("1 empty system", |schedule, _| empty(schedule, 1), 1),
    ("10 empty systems", |schedule, _| empty(schedule, 10), 1),
    ("100 empty systems", |schedule, _| empty(schedule, 100), 1),
    ("10 of 1 us, independent", |schedule, _| working(schedule, 10, 1), 1),
    ("100 of 5 us, independent", |schedule, _| working(schedule, 100, 5), 1),
    ("30 of 1 to 50 us, some conflicts and orders", mixed::add_to, 1),
    ("4 of 1 ms in every 8th run, 8 runs", |schedule, _| now_and_then(schedule, 4, 1_000, 8), 8),
    ("4 of 20 us in every 16th run, 16 runs", |schedule, _| now_and_then(schedule, 4, 20, 16), 16),
];

fn empty(schedule: &mut Schedule, systems: usize) {
    (0..systems).for_each(|_| {
        schedule.add_systems(|mut runs: Local<u32>| *runs = black_box(*runs + 1));
    });
}

fn working(schedule: &mut Schedule, systems: usize, microseconds: u32) {
    (0..systems).for_each(|_| {
        schedule.add_systems(move || spin(microseconds));
    });
}

/// Systems that work in one run of each period only.
fn now_and_then(schedule: &mut Schedule, systems: usize, microseconds: u32, period: u32) {
    (0..systems).for_each(|_| {
        let due = move |mut runs: Local<u32>| {
            *runs += 1;
            runs.is_multiple_of(period)
        };
        schedule.add_systems((move || spin(microseconds)).run_if(due));
    });
}

#[derive(Clone, Copy)]
enum Contest {
    Multi,
    Single,
    Ours,
    Gang,
}

impl Contest {
    const ALL: [Self; 4] = [Self::Multi, Self::Single, Self::Ours, Self::Gang];

    fn name(self) -> &'static str {
        match self {
            Self::Multi => "Bevy, multi-threaded",
            Self::Single => "Bevy, single-threaded",
            Self::Ours => "AffinityExecutor",
            Self::Gang => "always on the gang",
        }
    }

    fn fill(self, fill: &dyn Fn(&mut Schedule, &mut World), workers: usize) -> (Schedule, World) {
        let (mut schedule, mut world) = (Schedule::default(), World::new());
        if let Self::Ours | Self::Gang = self {
            world.insert_resource(AffinityPool::new(&ours::settings(workers)));
        }
        fill(&mut schedule, &mut world);
        match self {
            Self::Multi => _ = schedule.set_executor(MultiThreadedExecutor::new()),
            Self::Single => _ = schedule.set_executor(SingleThreadedExecutor::new()),
            Self::Ours => AffinityExecutor::install(&mut schedule),
            Self::Gang => AffinityExecutor::install_forced(&mut schedule, Forced::Always(ScheduleWay::OnTheGang)),
        }
        (schedule, world)
    }
}

pub fn run(workers: usize, rounds: u32) -> Result<(), String> {
    for (title, asleep) in [("back to back", None), ("after 3 ms of sleep each", Some(SLEEP))] {
        let names = Contest::ALL.map(|contest| contest.name().to_owned());
        let mut lines =
            vec![[vec!["schedule".to_owned()], names.to_vec(), vec!["x the faster of Bevy's".into()]].concat()];
        for (name, fill, runs) in FILLS {
            let standings = race(&fill, Repetition { runs, asleep }, workers, BUDGET).run(rounds)?;
            let best = if standings[0].median < standings[1].median { 0 } else { 1 };
            let ratio = standings[2].ratio_to(&standings[best]);
            let medians = standings.iter().map(with_p99).collect();
            lines.push([vec![name.to_owned()], medians, vec![format!("{ratio:.2}")]].concat());
        }
        print_table(&format!("Schedules {title}: medians (p99)"), &lines);
    }
    Ok(())
}

/// Runs before the race, in which our executor makes up its mind; no longer than this.
const FIRST_RUNS: usize = 400;
const FIRST_TIME: Duration = Duration::from_millis(150);

/// What is timed as one.
#[derive(Clone, Copy)]
pub struct Repetition {
    pub runs: u32,
    /// Before each run, untimed.
    pub asleep: Option<Duration>,
}

impl Repetition {
    pub const ONE_RUN: Self = Self { runs: 1, asleep: None };

    fn run(self, schedule: &mut Schedule, world: &mut World) -> Duration {
        if let Some(asleep) = self.asleep {
            thread::sleep(asleep);
        }
        let start = Instant::now();
        schedule.run(world);
        start.elapsed()
    }
}

/// Each contender has a schedule and a world of its own; there is no result to check.
pub fn race(
    fill: &dyn Fn(&mut Schedule, &mut World),
    repetition: Repetition,
    workers: usize,
    budget: Duration,
) -> Race<'static, ()> {
    let mut race = Race::new((), |(), _| None).at_pace(Pace { budget, ..Pace::default() });
    for (place, contest) in Contest::ALL.into_iter().enumerate() {
        let (mut schedule, mut world) = contest.fill(fill, workers);
        let began = Instant::now();
        (0..FIRST_RUNS).take_while(|_| began.elapsed() < FIRST_TIME).for_each(|_| schedule.run(&mut world));
        let play = move |(): &mut (), turn: &mut Turn| {
            turn.repeat_timed(|| (0..repetition.runs).map(|_| repetition.run(&mut schedule, &mut world)).sum());
        };
        match place {
            0 => race.enter_baseline(contest.name(), play),
            _ => race.enter(contest.name(), play),
        }
    }
    race
}
