//! Group `neighbours`: frames in which other threads of this process have the cores too, or another
//! process has one: how many rounds go on without the worker, and what the rounds take.

use std::{
    hint::black_box,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use bevy::tasks::ComputeTaskPool;
use bevy_affinity::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::journal::Journal;
use crate::setup::Setup;
use crate::shared::{
    ours,
    report::{duration, print_table},
};
use crate::spinner::Spinner;

/// A frame: a burst of whatever neighbour there is, some rounds, and a pause.
const FRAMES: usize = 300;
const ROUNDS: usize = 3;
const BURST: Duration = Duration::from_millis(4);
const PAUSE: Duration = Duration::from_millis(1);

/// What each worker does in a round, by the clock of a core of its own.
const PART: Duration = Duration::from_micros(300);

/// In which a new process starts and the system gets used to it.
const START: Duration = Duration::from_millis(200);

/// Who else wants the cores.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Neighbour {
    Nobody,
    Bevy,
    Rayon,
    ShortThreads,
    Renderer,
    Rasteriser,
    Process,
    ProcessAndBevy,
}

impl Neighbour {
    const ALL: [Self; 8] = [
        Self::Nobody,
        Self::Bevy,
        Self::Rayon,
        Self::ShortThreads,
        Self::Renderer,
        Self::Rasteriser,
        Self::Process,
        Self::ProcessAndBevy,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Nobody => "nobody",
            Self::Bevy => "Bevy's compute threads, 4 ms before",
            Self::Rayon => "rayon's threads, 4 ms before",
            Self::ShortThreads => "new threads, 4 ms before",
            Self::Renderer => "a thread that works 4 of 8 ms",
            Self::Rasteriser => "a thread a core, always busy",
            Self::Process => "a process on the worker's core",
            Self::ProcessAndBevy => "a process on the worker's core, and Bevy's threads",
        }
    }

    fn has_process(self) -> bool {
        matches!(self, Self::Process | Self::ProcessAndBevy)
    }
}

pub fn run(setup: &Setup, _: &mut Journal) -> Result<(), String> {
    let rayon = ThreadPoolBuilder::new().num_threads(setup.workers).build().map_err(|error| error.to_string())?;
    let mut lines = vec![
        [
            "neighbour",
            "serial",
            "rounds, median",
            "mean",
            "rounds without a worker",
            "indices taken over",
            "mean / serial",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    for neighbour in Neighbour::ALL {
        let _process = match setup.cores.last().filter(|_| neighbour.has_process()) {
            Some(&core) => Some(Spinner::start(core)?),
            None => None,
        };
        thread::sleep(START);
        lines.push(line(neighbour, setup, &rayon));
    }
    let title = format!("{FRAMES} frames of {ROUNDS} rounds, {} a worker", duration(PART));
    print_table(&title, &lines);
    Ok(())
}

fn line(neighbour: Neighbour, setup: &Setup, rayon: &ThreadPool) -> Vec<String> {
    let pool = ours::pool(setup.workers);
    let steps = steps_of(PART);
    let serial = beside(neighbour, setup.workers, || {
        frames(neighbour, setup.workers, rayon, || (0..pool.workers()).for_each(|_| work(steps)))
    });
    let [out, taken] = [left_out(&pool), taken_over(&pool)];
    let times =
        beside(neighbour, setup.workers, || frames(neighbour, setup.workers, rayon, || pool.run(|_| work(steps))));
    let [out, taken] = [left_out(&pool) - out, taken_over(&pool) - taken];
    let rounds = (FRAMES * ROUNDS) as f64;
    let percent = |count: u64| format!("{count} ({:.1}%)", 100.0 * count as f64 / rounds);
    let ratio = mean(&times).as_secs_f64() / mean(&serial).as_secs_f64();
    let columns = [duration(mean(&serial)), duration(times[times.len() / 2]), duration(mean(&times))];
    [vec![neighbour.name().to_owned()], columns.to_vec(), vec![percent(out), percent(taken), format!("{ratio:.2}")]]
        .concat()
}

fn left_out(pool: &AffinityPool) -> u64 {
    pool.worker_stats().map(|worker| worker.rounds_left_out).max().unwrap_or_default()
}

fn taken_over(pool: &AffinityPool) -> u64 {
    pool.worker_stats().map(|worker| worker.taken_over).sum()
}

fn mean(times: &[Duration]) -> Duration {
    times.iter().sum::<Duration>() / times.len() as u32
}

/// What each call of `round` took, in ascending order.
fn frames(neighbour: Neighbour, workers: usize, rayon: &ThreadPool, round: impl Fn()) -> Vec<Duration> {
    let mut times = Vec::with_capacity(FRAMES * ROUNDS);
    for _ in 0..FRAMES {
        burst(neighbour, workers, rayon);
        for _ in 0..ROUNDS {
            let began = Instant::now();
            round();
            times.push(began.elapsed());
        }
        thread::sleep(PAUSE);
    }
    times.sort_unstable();
    times
}

/// Keeps all threads of a pool busy, and waits for them.
fn burst(neighbour: Neighbour, workers: usize, rayon: &ThreadPool) {
    let busy = || spin_for(BURST);
    match neighbour {
        Neighbour::Bevy | Neighbour::ProcessAndBevy => {
            ComputeTaskPool::get().scope(|scope| (0..workers).for_each(|_| scope.spawn(async move { busy() })));
        }
        Neighbour::Rayon => drop(rayon.broadcast(|_| busy())),
        Neighbour::ShortThreads => thread::scope(|scope| (0..workers).for_each(|_| _ = scope.spawn(busy))),
        _ => {}
    }
}

/// `frames` beside threads that are there all the time.
fn beside<R>(neighbour: Neighbour, workers: usize, frames: impl FnOnce() -> R) -> R {
    let over = AtomicBool::new(false);
    let (threads, pause) = match neighbour {
        Neighbour::Renderer => (1, BURST),
        Neighbour::Rasteriser => (workers, Duration::ZERO),
        _ => (0, Duration::ZERO),
    };
    let busy = || {
        while !over.load(Ordering::Relaxed) {
            spin_for(BURST);
            thread::sleep(pause);
        }
    };
    thread::scope(|scope| {
        (0..threads).for_each(|_| _ = scope.spawn(busy));
        let result = frames();
        over.store(true, Ordering::Relaxed);
        result
    })
}

fn spin_for(time: Duration) {
    let began = Instant::now();
    while began.elapsed() < time {
        work(100);
    }
}

fn work(steps: u64) {
    let mut value = 1_u64;
    for step in 0..steps {
        value = black_box(value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(step));
    }
    black_box(value);
}

/// How many steps take so long on a core that nothing else has: the fastest of some measurements.
fn steps_of(time: Duration) -> u64 {
    const STEPS: u64 = 500_000;
    let measure = |_| {
        let began = Instant::now();
        work(STEPS);
        began.elapsed()
    };
    let fastest = (0..8).map(measure).min().unwrap_or(time);
    (STEPS as f64 * time.as_secs_f64() / fastest.as_secs_f64()) as u64
}
