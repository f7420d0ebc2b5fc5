//! Rows that sleep: a call that visits the due ones, against what one would have without it: a
//! sweep with a condition, by `AffineQuery` and by Bevy's `iter_mut`, a sweep with `Changed`, and a
//! binary heap of times and entities.
//!
//! ```text
//! cargo bench --bench due -- [--rows N] [--rounds N] [--workers N]
//! ```
//!
//! Each contender has a world of its own, in which the same happens: a row is due every so many
//! steps, and changes its state by a few instructions. Contenders take turns of some steps; what is
//! timed is the call inside the system. All states are compared at the end.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use bevy::prelude::*;
use bevy_affinity::prelude::*;
use clap::Parser;

#[derive(Parser)]
struct Arguments {
    /// Given by cargo.
    #[arg(long, hide = true)]
    bench: bool,
    #[arg(long, default_value_t = 1_000_000)]
    rows: u64,
    #[arg(long, default_value_t = 40)]
    rounds: usize,
    #[arg(long, default_value_t = 2)]
    workers: usize,
}

/// Steps of a turn, and those of them that are not timed.
const TURN: usize = 12;
const WARM_UP: usize = 4;

/// Every how many steps a row is due; `None` for never.
const PERIODS: [Option<u64>; 7] = [None, Some(10_000), Some(1_000), Some(100), Some(30), Some(10), Some(1)];

#[derive(Component)]
struct State(u64);

/// When a row is due, where the program looks itself.
#[derive(Component)]
struct At(u64);

/// Written when a row is due, where `Changed` tells.
#[derive(Component)]
struct Alarm(u64);

#[derive(Resource, Default)]
struct Now(u64);

#[derive(Resource)]
struct Period(u64);

/// What the last call took.
#[derive(Resource, Default)]
struct Took(Duration);

#[derive(Resource, Default)]
struct Heap(BinaryHeap<Reverse<(u64, Entity)>>);

fn work(state: &mut State, now: u64) {
    state.0 = (state.0 ^ now).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17);
}

fn due(
    mut rows: AffineQuery<&mut State>,
    mut agenda: Agenda,
    now: Res<Now>,
    period: Res<Period>,
    mut took: ResMut<Took>,
) {
    let began = Instant::now();
    let (now, period) = (now.0, period.0);
    rows.par_iter_mut().due(&mut agenda, now).for_each(|mut state| {
        work(&mut state, now);
        Some(now.saturating_add(period))
    });
    took.0 = began.elapsed();
}

fn sweep(mut rows: AffineQuery<(&mut At, &mut State)>, now: Res<Now>, period: Res<Period>, mut took: ResMut<Took>) {
    let began = Instant::now();
    let (now, period) = (now.0, period.0);
    rows.par_iter_mut().for_each(|(mut at, mut state)| {
        if at.0 <= now {
            work(&mut state, now);
            at.0 = now.saturating_add(period);
        }
    });
    took.0 = began.elapsed();
}

fn iter_mut(mut rows: Query<(&mut At, &mut State)>, now: Res<Now>, period: Res<Period>, mut took: ResMut<Took>) {
    let began = Instant::now();
    let (now, period) = (now.0, period.0);
    rows.iter_mut().for_each(|(mut at, mut state)| {
        if at.0 <= now {
            work(&mut state, now);
            at.0 = now.saturating_add(period);
        }
    });
    took.0 = began.elapsed();
}

/// Something has to write the alarms of the rows that are due; that is not timed.
fn ring(mut rows: Query<(&mut At, &mut Alarm)>, now: Res<Now>, period: Res<Period>) {
    for (mut at, mut alarm) in rows.iter_mut().filter(|(at, _)| at.0 <= now.0) {
        (at.0, alarm.0) = (now.0.saturating_add(period.0), now.0);
    }
}

fn changed(mut rows: AffineQuery<(&mut State, &Alarm), Changed<Alarm>>, now: Res<Now>, mut took: ResMut<Took>) {
    let began = Instant::now();
    let now = now.0;
    rows.par_iter_mut().for_each(|(mut state, alarm)| {
        // Not where it is new.
        if alarm.0 == now {
            work(&mut state, now);
        }
    });
    took.0 = began.elapsed();
}

fn heap(
    mut rows: Query<&mut State>,
    mut heap: ResMut<Heap>,
    now: Res<Now>,
    period: Res<Period>,
    mut took: ResMut<Took>,
) {
    let began = Instant::now();
    let (now, period) = (now.0, period.0);
    while let Some(mut first) = heap.0.peek_mut()
        && first.0.0 <= now
    {
        let row = first.0.1;
        *first = Reverse((now.saturating_add(period), row));
        drop(first);
        if let Ok(mut state) = rows.get_mut(row) {
            work(&mut state, now);
        }
    }
    took.0 = began.elapsed();
}

/// In the order of the table's columns.
const CONTENDERS: [&str; 5] =
    ["due rows", "sweep, AffineQuery", "sweep, Bevy's iter_mut", "Changed, AffineQuery", "binary heap"];

struct Contender {
    name: &'static str,
    app: App,
    nanoseconds: Vec<u64>,
}

impl Contender {
    fn new(name: &'static str, arguments: &Arguments, period: Option<u64>) -> Self {
        Self { name, app: app(name, arguments, period), nanoseconds: Vec::new() }
    }
}

fn app(name: &str, arguments: &Arguments, period: Option<u64>) -> App {
    let mut app = App::new();
    app.insert_resource(AffinitySettings { workers: WorkerCount::Exactly(arguments.workers), ..default() })
        .add_plugins(AffinityParallelPlugin)
        .init_resource::<Now>()
        .init_resource::<Took>()
        .init_resource::<Heap>()
        .insert_resource(Period(period.unwrap_or(u64::MAX)));
    let first =
        move |row: u64| period.map_or(u64::MAX - 1, |period| (row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) % period);
    let rows = 0..arguments.rows;
    let world = app.world_mut();
    match name {
        "due rows" => world.spawn_batch(rows.map(move |row| (State(row), Due::<()>::at(first(row))))).for_each(drop),
        "Changed, AffineQuery" => {
            world.spawn_batch(rows.map(move |row| (State(row), At(first(row)), Alarm(u64::MAX)))).for_each(drop)
        }
        "binary heap" => {
            let entities: Vec<_> = world.spawn_batch(rows.map(State)).collect();
            world.resource_mut::<Heap>().0 =
                (0..).zip(entities).map(|(row, entity)| Reverse((first(row), entity))).collect();
        }
        _ => world.spawn_batch(rows.map(move |row| (State(row), At(first(row))))).for_each(drop),
    }
    match name {
        "due rows" => app.add_systems(Update, due.affine()),
        "sweep, AffineQuery" => app.add_systems(Update, sweep.affine()),
        "sweep, Bevy's iter_mut" => app.add_systems(Update, iter_mut),
        "Changed, AffineQuery" => app.add_systems(Update, (ring, changed.affine()).chain()),
        _ => app.add_systems(Update, heap),
    };
    app
}

fn take_turn(contender: &mut Contender, is_timed: bool) {
    for step in 0..TURN {
        contender.app.update();
        contender.app.world_mut().resource_mut::<Now>().0 += 1;
        if is_timed && step >= WARM_UP {
            contender.nanoseconds.push(contender.app.world().resource::<Took>().0.as_nanos() as u64);
        }
    }
}

/// The states in the order of rows, as one number.
fn state_hash(app: &mut App) -> u64 {
    let mut rows = app.world_mut().query::<&State>();
    rows.iter(app.world()).fold(0, |hash: u64, state| (hash ^ state.0).wrapping_mul(0x0100_0000_01b3))
}

fn main() {
    let arguments = Arguments::parse();
    println!("{} rows, {} workers, medians of a call in us\n", arguments.rows, arguments.workers);
    println!(
        "| due in a step | due rows | sweep, AffineQuery | sweep, Bevy's iter_mut | Changed, AffineQuery | binary heap | due / sweep |"
    );
    println!("|---|---|---|---|---|---|---|");
    for period in PERIODS {
        let mut nanoseconds = CONTENDERS.map(|_| Vec::new());
        for first in 0..CONTENDERS.len() {
            race(&arguments, period, first, &mut nanoseconds);
        }
        let medians = nanoseconds.map(median);
        let share = period.map_or("none".to_owned(), |period| format!("{:.2}%", 100.0 / period as f64));
        let cells: String = medians.iter().map(|median| format!(" {:.1} |", median / 1e3)).collect();
        println!("| {share} |{cells} {:.2} |", medians[0] / medians[1]);
    }
}

/// A part of the rounds, in worlds that are made for it: that of contender `first` before the
/// others. The one whose memory is the first of the process was seen to take 1.7 x as long for the
/// same loop as one that was made after it.
fn race(arguments: &Arguments, period: Option<u64>, first: usize, nanoseconds: &mut [Vec<u64>; CONTENDERS.len()]) {
    let mut order: Vec<_> = (0..CONTENDERS.len()).collect();
    order.rotate_left(first);
    let mut contenders: Vec<_> =
        order.iter().map(|&place| Contender::new(CONTENDERS[place], arguments, period)).collect();
    for round in 0..=arguments.rounds.div_ceil(CONTENDERS.len()) {
        contenders.iter_mut().for_each(|contender| take_turn(contender, round > 0));
    }
    let hashes: Vec<_> = contenders.iter_mut().map(|contender| state_hash(&mut contender.app)).collect();
    for (contender, hash) in contenders.iter().zip(&hashes) {
        assert_eq!(*hash, hashes[0], "{} has other states", contender.name);
    }
    for (place, contender) in order.into_iter().zip(contenders) {
        nanoseconds[place].extend(contender.nanoseconds);
    }
}

fn median(mut nanoseconds: Vec<u64>) -> f64 {
    nanoseconds.sort_unstable();
    nanoseconds[nanoseconds.len() / 2] as f64
}
