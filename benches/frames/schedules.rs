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
use bevy_affinity::AffinityExecutor;

use crate::mixed;
use crate::shared::race::{Pace, Race, Turn};
use crate::shared::report::{duration, print_table};
use crate::spin::spin;

/// What one race may take.
const BUDGET: Duration = Duration::from_secs(8);

/// Between the runs of a schedule that is not run back to back: the rest of a frame.
const SLEEP: Duration = Duration::from_millis(3);

/// A schedule by what is in it.
type Fill = fn(&mut Schedule, &mut World);

const FILLS: [(&str, Fill); 6] = [
    ("1 empty system", |schedule, _| empty(schedule, 1)),
    ("10 empty systems", |schedule, _| empty(schedule, 10)),
    ("100 empty systems", |schedule, _| empty(schedule, 100)),
    ("10 of 1 us, independent", |schedule, _| working(schedule, 10, 1)),
    ("100 of 5 us, independent", |schedule, _| working(schedule, 100, 5)),
    ("30 of 1 to 50 us, some conflicts and orders", mixed::add_to),
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

#[derive(Clone, Copy)]
enum Contest {
    Multi,
    Single,
    Ours,
}

impl Contest {
    const ALL: [Self; 3] = [Self::Multi, Self::Single, Self::Ours];

    fn name(self) -> &'static str {
        match self {
            Self::Multi => "Bevy, multi-threaded",
            Self::Single => "Bevy, single-threaded",
            Self::Ours => "AffinityExecutor",
        }
    }

    fn fill(self, fill: Fill) -> (Schedule, World) {
        let (mut schedule, mut world) = (Schedule::default(), World::new());
        fill(&mut schedule, &mut world);
        match self {
            Self::Multi => schedule.set_executor(MultiThreadedExecutor::new()),
            Self::Single => schedule.set_executor(SingleThreadedExecutor::new()),
            Self::Ours => schedule.set_executor(AffinityExecutor::new()),
        };
        (schedule, world)
    }
}

pub fn run(rounds: u32) -> Result<(), String> {
    for (title, asleep) in [("back to back", None), ("after 3 ms of sleep each", Some(SLEEP))] {
        let names = Contest::ALL.map(|contest| contest.name().to_owned());
        let mut lines =
            vec![[vec!["schedule".to_owned()], names.to_vec(), vec!["x the faster of Bevy's".into()]].concat()];
        for (name, fill) in FILLS {
            let standings = race(fill, asleep).run(rounds)?;
            let best = if standings[0].median < standings[1].median { 0 } else { 1 };
            let ratio = standings[2].ratio_to(&standings[best]);
            let medians = standings.iter().map(|standing| duration(standing.median)).collect();
            lines.push([vec![name.to_owned()], medians, vec![format!("{ratio:.2}")]].concat());
        }
        print_table(&format!("Schedules {title}, medians"), &lines);
    }
    Ok(())
}

/// Each contender has a schedule and a world of its own; there is no result to check.
fn race(fill: Fill, asleep: Option<Duration>) -> Race<'static, ()> {
    let mut race = Race::new((), |(), _| None).at_pace(Pace { budget: BUDGET, ..Pace::default() });
    for (place, contest) in Contest::ALL.into_iter().enumerate() {
        let (mut schedule, mut world) = contest.fill(fill);
        let play = move |(): &mut (), turn: &mut Turn| {
            turn.repeat_timed(|| {
                if let Some(asleep) = asleep {
                    thread::sleep(asleep);
                }
                let start = Instant::now();
                schedule.run(&mut world);
                start.elapsed()
            });
        };
        match place {
            0 => race.enter_baseline(contest.name(), play),
            _ => race.enter(contest.name(), play),
        }
    }
    race
}
