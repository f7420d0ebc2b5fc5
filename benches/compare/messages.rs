//! Group `messages`: every row sends one to another, which adds it up: by `scatter`, by Bevy's
//! query that looks up each receiver, and by plain arrays, which no ECS can beat.

use std::time::{Duration, Instant};

use bevy::ecs::schedule::ScheduleLabel;
use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::ours;
use crate::race::{Pace, Race, Turn};
use crate::report::{grouped, print_table};
use crate::setup::Setup;
use crate::shared::tables::mark;

/// Rows, from what fits a core's own cache to what does not fit the one that cores share, and in
/// how many tables they are.
const SIZES: [(usize, usize); 5] = [(10_000, 1), (100_000, 1), (1_000_000, 1), (10_000, 1_000), (100_000, 1_000)];

/// Turns of some calls of up to 100 milliseconds each.
const PACE: Pace = Pace {
    settle: Duration::from_micros(500),
    turn: Duration::from_millis(5),
    calls: (3, 200),
    budget: Duration::from_secs(20),
};

pub fn run(setup: &Setup) -> Result<(), String> {
    let mut lines = Vec::new();
    for (to_whom, target) in TARGETS {
        for (rows, tables) in SIZES.into_iter().filter(|(rows, _)| setup.sizes.contains(rows)) {
            let mut race = Race::new(app(setup.workers, (rows, tables), target), fault).at_pace(PACE);
            race.enter_baseline("plain arrays", play_arrays);
            race.enter("Bevy, `get_mut`", Contest::LookUp.play(SchedulerMode::Serial));
            race.enter("`scatter`, one worker", Contest::Scatter.play(SchedulerMode::Serial));
            race.enter("lock step", Contest::Scatter.play(SchedulerMode::LockStep));
            race.enter("heartbeat", Contest::Scatter.play(SchedulerMode::Heartbeat));
            race.enter("`Auto`", Contest::Scatter.play(SchedulerMode::Auto));
            let standings = race.run(setup.rounds)?;
            if lines.is_empty() {
                let names = standings.iter().map(|standing| standing.name.clone());
                lines.push(["to", "rows", "tables"].map(str::to_owned).into_iter().chain(names).collect::<Vec<_>>());
            }
            let each = |median: Duration| format!("{:.1}", median.as_nanos() as f64 / rows as f64);
            let cells = standings.iter().map(|standing| each(standing.median));
            lines.push([to_whom.to_owned(), grouped(rows), grouped(tables)].into_iter().chain(cells).collect());
        }
    }
    print_table("nanoseconds a message, sent and applied", &lines);
    Ok(())
}

/// The receiver of the message of `row`, one of `rows` rows.
type Target = fn(row: usize, rows: usize) -> usize;

const TARGETS: [(&str, Target); 3] = [
    ("the next row", |row, rows| (row + 1) % rows),
    ("one of the next 1,000", |row, rows| (row + 1 + scattered(row) % 1_000) % rows),
    ("any row", |row, rows| scattered(row) % rows),
];

fn scattered(row: usize) -> usize {
    ((row as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) as usize
}

#[derive(Component, Clone, Copy)]
struct Sends {
    to: Entity,
    amount: u64,
}

#[derive(Component)]
struct Account(u64);

/// The same rows without an ECS.
#[derive(Resource)]
struct Arrays {
    to: Vec<u32>,
    amounts: Vec<u64>,
    accounts: Vec<u64>,
    sent: Vec<(u32, u64)>,
}

#[derive(ScheduleLabel, Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Contest {
    LookUp,
    Scatter,
}

impl Contest {
    fn play(self, mode: SchedulerMode) -> impl FnMut(&mut App, &mut Turn) {
        move |app, turn| {
            app.insert_resource(mode);
            turn.repeat_timed(|| {
                let start = Instant::now();
                app.world_mut().run_schedule(self);
                start.elapsed()
            });
        }
    }
}

fn play_arrays(app: &mut App, turn: &mut Turn) {
    let Arrays { to, amounts, accounts, sent } = &mut *app.world_mut().resource_mut::<Arrays>();
    turn.repeat(|| {
        sent.extend(to.iter().copied().zip(amounts.iter().copied()));
        sent.drain(..).for_each(|(to, amount)| accounts[to as usize] += amount);
    });
}

fn app(workers: usize, (rows, tables): (usize, usize), target: Target) -> App {
    let mut app = ours::app(workers);
    app.add_systems(Contest::LookUp, look_up).add_systems(Contest::Scatter, scatter.affine());
    for contest in [Contest::LookUp, Contest::Scatter] {
        ours::run_on_one_thread(&mut app, contest);
    }
    let world = app.world_mut();
    let entities: Vec<_> = world.spawn_batch((0..rows).map(|_| Account(0))).collect();
    (0..).zip(&entities).for_each(|(row, &entity)| mark(&mut world.entity_mut(entity), row * tables / rows));
    let sends = |row: usize| Sends { to: entities[target(row, rows)], amount: 1 };
    world.insert_batch(entities.iter().enumerate().map(|(row, &entity)| (entity, sends(row))));
    world.insert_resource(Arrays {
        to: (0..rows).map(|row| target(row, rows) as u32).collect(),
        amounts: vec![1; rows],
        accounts: vec![0; rows],
        sent: Vec::new(),
    });
    app
}

/// As one would without `scatter`: whom a row sends to may not be borrowed while it sends.
fn look_up(senders: Query<&Sends>, mut accounts: Query<&mut Account>, mut sent: Local<Vec<Sends>>) {
    sent.extend(senders.iter().copied());
    for Sends { to, amount } in sent.drain(..) {
        if let Ok(mut account) = accounts.get_mut(to) {
            account.0 += amount;
        }
    }
}

fn scatter(senders: AffineQuery<&Sends>, mut accounts: AffineQuery<&mut Account>) {
    senders.par_iter().scatter(
        &mut accounts,
        |outbox, sends| outbox.send(sends.to, sends.amount),
        |mut account, amount| account.0 += amount,
    );
}

/// Every call adds one for each row.
fn fault(app: &mut App, calls: u64) -> Option<String> {
    let world = app.world_mut();
    let rows = world.resource::<Arrays>().accounts.len() as u64;
    let by_systems: u64 = world.query::<&Account>().iter(world).map(|account| account.0).sum();
    let found = by_systems + world.resource::<Arrays>().accounts.iter().sum::<u64>();
    (found != calls * rows).then(|| format!("{found} received in {calls} calls of {rows} rows"))
}
