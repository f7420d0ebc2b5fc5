//! Group `bursts`: three tagged sweeps behind whatever else a frame does, by Bevy's threads, by
//! rayon's or by one, flat out and at sixty frames a second; and one to thirty of them, for which
//! workers sleep as a frame begins.

use std::time::{Duration, Instant};

use bevy::{MinimalPlugins, ecs::schedule::ScheduleLabel, prelude::*, tasks::ComputeTaskPool};
use bevy_affinity::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::shared::{
    bevys_pool, ours,
    race::{Pace, Race, Turn},
    report::{counted, duration, print_table, with_p99},
};
use crate::{sixty, spin::spin};

const SIZES: [usize; 4] = [1_000, 20_000, 200_000, 1_000_000];

/// At sixty frames a second a cell takes much longer: one size for which two threads are hardly
/// worth it, and one for which they are.
const SIZES_AT_SIXTY: [usize; 2] = [20_000, 200_000];

/// Sweeps of a frame, and how many there are in the table by their number.
const SWEEPS: usize = 3;
const NUMBERS_OF_SWEEPS: [usize; 4] = [1, 3, 10, 30];

/// Rows of each of those: what is too short to wake workers for, and what nearly is not.
const SIZES_BY_NUMBER: [usize; 2] = [4_000, 20_000];

/// What each thread of a burst works, in microseconds.
const BURST: u32 = 3_000;

/// Nodes of the hierarchy whose transforms are propagated: about 3 ms on two threads.
const NODES: usize = 60_000;

/// Timed frames of a turn, and frames ahead of the race, in which calls and schedules learn.
const FRAMES: u32 = 16;
const FIRST_FRAMES: usize = 100;

/// Rounds at most: a cell takes some six seconds with that.
const MOST_ROUNDS: u32 = 8;

#[derive(ScheduleLabel, Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Sweeps;

/// The place of a sweep among those of a frame.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Nth(usize);

#[derive(Component, Clone, Copy)]
struct Place([f32; 3]);

#[derive(Component, Clone, Copy)]
struct Speed([f32; 3]);

/// What else a frame does before the sweeps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Burst {
    Nothing,
    Serial,
    Bevy,
    Rayon,
    Transforms,
}

impl Burst {
    const ALL: [Self; 5] = [Self::Nothing, Self::Serial, Self::Bevy, Self::Rayon, Self::Transforms];

    fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Serial => "one thread",
            Self::Bevy => "Bevy's threads",
            Self::Rayon => "rayon's threads",
            Self::Transforms => "Bevy's transforms",
        }
    }
}

/// What bursts are made of.
struct Bursts {
    rayon: ThreadPool,
    workers: usize,
    transforms: App,
}

impl Bursts {
    fn new(workers: usize) -> Result<Self, String> {
        let rayon = ThreadPoolBuilder::new().num_threads(workers).build().map_err(|error| error.to_string())?;
        let mut transforms = App::new();
        transforms.add_plugins((MinimalPlugins, TransformPlugin));
        let mut parents = Vec::new();
        for node in 0..NODES {
            let parent = parents.get(node / 4).copied().filter(|_| node >= 16);
            let node = transforms.world_mut().spawn(Transform::default()).id();
            parent.into_iter().for_each(|parent| _ = transforms.world_mut().entity_mut(node).insert(ChildOf(parent)));
            parents.push(node);
        }
        transforms.finish();
        transforms.cleanup();
        Ok(Self { rayon, workers, transforms })
    }

    fn make(&mut self, burst: Burst) {
        match burst {
            Burst::Nothing => {}
            Burst::Serial => spin(BURST),
            Burst::Bevy => {
                ComputeTaskPool::get().scope(|scope| {
                    (0..self.workers).for_each(|_| scope.spawn(async { spin(BURST) }));
                });
            }
            Burst::Rayon => drop(self.rayon.broadcast(|_| spin(BURST))),
            Burst::Transforms => {
                let world = self.transforms.world_mut();
                let mut nodes = world.query::<&mut Transform>();
                nodes.iter_mut(world).for_each(|mut node| node.translation.x += 1.0);
                world.run_schedule(PostUpdate);
            }
        }
    }
}

fn step(place: &mut Place, speed: &Speed) {
    for (place, speed) in place.0.iter_mut().zip(speed.0) {
        *place = (*place + speed * 0.016).sqrt().abs() + 0.25 * *place;
    }
}

fn by_one(mut rows: Query<(&mut Place, &Speed)>) {
    rows.iter_mut().for_each(|(mut place, speed)| step(&mut place, speed));
}

fn by_bevy(mut rows: Query<(&mut Place, &Speed)>) {
    rows.par_iter_mut().for_each(|(mut place, speed)| step(&mut place, speed));
}

fn tagged(mut rows: AffineQuery<(&mut Place, &Speed)>) {
    rows.par_iter_mut().for_each(|(mut place, speed)| step(&mut place, speed));
}

/// Who sweeps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Contender {
    /// Bevy's `iter_mut`, without the plugin.
    One,
    /// Bevy's `par_iter_mut`, without the plugin.
    Bevy,
    Tagged(SchedulerMode),
}

impl Contender {
    const ALL: [Self; 5] = [
        Self::One,
        Self::Bevy,
        Self::Tagged(SchedulerMode::Auto),
        Self::Tagged(SchedulerMode::LockStep),
        Self::Tagged(SchedulerMode::Heartbeat),
    ];

    fn name(self) -> String {
        match self {
            Self::One => "`iter_mut`".into(),
            Self::Bevy => "Bevy `par_iter_mut`".into(),
            Self::Tagged(mode) => format!("`{mode:?}`"),
        }
    }

    fn learns(self) -> bool {
        matches!(self, Self::Tagged(_))
    }

    fn app(self, rows: usize, sweeps: usize, workers: usize) -> App {
        let mut app = match self {
            Self::One | Self::Bevy => App::new(),
            Self::Tagged(mode) => {
                let mut app = ours::app(workers);
                app.insert_resource(mode);
                app
            }
        };
        for number in 0..sweeps {
            match self {
                Self::One => app.add_systems(Sweeps, by_one.in_set(Nth(number))),
                Self::Bevy => app.add_systems(Sweeps, by_bevy.in_set(Nth(number))),
                Self::Tagged(_) => app.add_systems(Sweeps, tagged.affine().in_set(Nth(number))),
            };
            app.configure_sets(Sweeps, Nth(number).before(Nth(number + 1)));
        }
        // A schedule by Bevy's default executor would take longer than the sweeps.
        if !matches!(self, Self::Tagged(_)) {
            ours::run_on_one_thread(&mut app, Sweeps);
        }
        app.world_mut().spawn_batch((0..rows).map(|row| (Place([row as f32; 3]), Speed([1.0, 2.0, 3.0]))));
        app.update();
        app
    }
}

/// What happens in a frame, and whether there are sixty a second.
#[derive(Clone, Copy)]
struct Frame {
    rows: usize,
    sweeps: usize,
    burst: Burst,
    paced: bool,
}

/// One frame: what the sweeps took.
fn frame(app: &mut App, bursts: &mut Bursts, burst: Burst, paced: bool) -> Duration {
    let began = Instant::now();
    // What the plugin does in each frame, and nothing else.
    app.update();
    bursts.make(burst);
    let sweeps_began = Instant::now();
    app.world_mut().run_schedule(Sweeps);
    let took = sweeps_began.elapsed();
    if paced {
        sixty::sleep_through(began);
    }
    took
}

/// Rounds that workers were called to, and those that went on without one.
fn rounds_of(pool: &AffinityPool) -> [u64; 2] {
    let rounds = pool.worker_stats().skip(1).map(|worker| worker.rounds + worker.rounds_left_out).sum();
    [rounds, pool.worker_stats().map(|worker| worker.rounds_left_out).sum()]
}

pub fn run(workers: usize, rounds: u32) -> Result<(), String> {
    bevys_pool::start(workers);
    let mut bursts = Bursts::new(workers)?;
    for paced in [false, true] {
        let mut lines = vec![header("burst")];
        let sizes: &[usize] = if paced { &SIZES_AT_SIXTY } else { &SIZES };
        for &rows in sizes {
            for burst in Burst::ALL {
                let frame = Frame { rows, sweeps: SWEEPS, burst, paced };
                lines.push(cell(frame, burst.name().to_owned(), workers, rounds, &mut bursts)?);
            }
        }
        let pace = if paced { "at 60 frames a second" } else { "flat out" };
        print_table(&format!("Three sweeps behind a burst of 3 ms, {pace}: medians (p99)"), &lines);
    }
    by_number(workers, rounds, &mut bursts)
}

/// More and fewer sweeps, at sixty frames a second.
fn by_number(workers: usize, rounds: u32, bursts: &mut Bursts) -> Result<(), String> {
    let mut lines = vec![header("sweeps")];
    for rows in SIZES_BY_NUMBER {
        for sweeps in NUMBERS_OF_SWEEPS {
            let frame = Frame { rows, sweeps, burst: Burst::Nothing, paced: true };
            lines.push(cell(frame, counted(sweeps, "sweep"), workers, rounds, bursts)?);
        }
    }
    print_table("One sweep and more behind nothing, at 60 frames a second: medians (p99)", &lines);
    Ok(())
}

fn header(what: &str) -> Vec<String> {
    let names = ["rows", what].map(str::to_owned).into_iter().chain(Contender::ALL.map(Contender::name));
    let more = ["`Auto` / best", "more than the best", "p99 `Auto` / Bevy", "rounds without a worker"];
    names.chain(more.map(str::to_owned)).collect()
}

fn cell(
    Frame { rows, sweeps, burst, paced }: Frame,
    name: String,
    workers: usize,
    rounds: u32,
    bursts: &mut Bursts,
) -> Result<Vec<String>, String> {
    let calls = if paced { sixty::TIMED_FRAMES } else { FRAMES };
    let pace = Pace { calls: (calls, calls), ..Pace::default() };
    let mut race = Race::new(bursts, |_, _| None).at_pace(pace);
    let mut auto = None;
    for contender in Contender::ALL {
        let mut app = contender.app(rows, sweeps, workers);
        let paced_frames = if paced && contender.learns() { sixty::FIRST_FRAMES } else { 0 };
        for (frames, paced) in [(FIRST_FRAMES, false), (paced_frames, true)] {
            (0..frames).for_each(|_| _ = frame(&mut app, race.data(), burst, paced));
        }
        if contender == Contender::Tagged(SchedulerMode::Auto) {
            let pool = app.world().resource::<AffinityPool>().clone();
            auto = Some((rounds_of(&pool), pool));
        }
        let play = move |bursts: &mut &mut Bursts, turn: &mut Turn| {
            turn.repeat_timed(|| frame(&mut app, bursts, burst, paced));
        };
        if contender == Contender::One {
            race.enter_baseline(contender.name(), play);
        } else {
            race.enter(contender.name(), play);
        }
    }
    let standings = race.run(rounds.min(MOST_ROUNDS))?;
    let left_out = auto.map(|(before, pool)| {
        let [rounds, left_out] = [0, 1].map(|count| rounds_of(&pool)[count] - before[count]);
        format!("{left_out} of {rounds}")
    });
    let [_, bevy, auto, ..] = &standings[..] else { return Err("not all have run".into()) };
    let best = standings.iter().min_by_key(|standing| standing.median).unwrap_or(auto);
    let excess = auto.excess_over(1.0, best).max(0.0);
    let judged = [
        format!("{:.2}", auto.ratio_to(best)),
        duration(Duration::from_nanos(excess as u64)),
        format!("{:.2}", auto.p99.as_secs_f64() / bevy.p99.as_secs_f64()),
        left_out.unwrap_or_default(),
    ];
    let cell = [counted(rows, "row"), name];
    Ok(cell.into_iter().chain(standings.iter().map(with_p99)).chain(judged).collect())
}
