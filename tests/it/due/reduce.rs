//! `fold_reduce` and `for_each_init` of due rows: what an oracle adds up, to the bit, whether few
//! rows are due or many.

use bevy::prelude::*;
use bevy_affinity::prelude::*;
use proptest::prelude::*;

use super::Now;

/// Rows that are folded from left to right.
const BLOCK_ROWS: usize = 64;

/// Enough that a few due rows are found, and more are not.
const ROWS: usize = 12_000;

const FRAMES: u64 = 12;

/// Numbers its row, and says how long that sleeps.
#[derive(Component, Clone, Copy, Debug)]
struct Row {
    number: u32,
    sleeps: u64,
}

/// Puts rows into a table of their own.
#[derive(Component)]
struct Other;

/// What one call found: a sum that depends on the order of additions, and a list.
#[derive(Clone, Debug, Default, PartialEq)]
struct Found {
    sum: f32,
    rows: Vec<u32>,
}

impl Found {
    fn add(&mut self, row: &Row) {
        self.sum += 1.0 / (row.number + 1) as f32;
        self.rows.push(row.number);
    }

    fn combine(mut self, mut other: Self) -> Self {
        self.sum += other.sum;
        self.rows.append(&mut other.rows);
        self
    }
}

#[derive(Resource, Default)]
struct All(Vec<Found>);

fn find(rows: AffineQuery<&Row>, mut agenda: Agenda, now: Res<Now>, mut all: ResMut<All>) {
    let (due, now) = (rows.par_iter().due(&mut agenda, now.0), now.0);
    let fold = |found: &mut Found, row: &Row| {
        found.add(row);
        Some(now + row.sleeps)
    };
    all.0.push(due.fold_reduce(Found::default, fold, Found::combine));
}

/// What stands in each table: rows, and when they are due first.
type Tables = [Vec<(Row, u64)>; 2];

fn found_in(mode: SchedulerMode, workers: usize, tables: &Tables) -> Vec<Found> {
    let mut app = App::new();
    app.insert_resource(AffinitySettings { workers: WorkerCount::Exactly(workers), ..default() });
    app.insert_resource(mode).init_resource::<Now>().init_resource::<All>();
    app.add_plugins((bevy::app::TaskPoolPlugin::default(), AffinityParallelPlugin));
    app.add_systems(First, |mut now: ResMut<Now>| now.0 += 1).add_systems(Update, find.affine());
    let [one, other] = tables.clone();
    app.world_mut().spawn_batch(one.into_iter().map(|(row, time)| (row, Due::<()>::at(time))));
    app.world_mut().spawn_batch(other.into_iter().map(|(row, time)| (row, Due::<()>::at(time), Other)));
    (0..FRAMES).for_each(|_| app.update());
    std::mem::take(&mut app.world_mut().resource_mut::<All>().0)
}

/// One call: the due rows of each block from left to right, then neighbours.
fn expected(tables: &mut Tables, now: u64) -> Found {
    let mut blocks = Vec::new();
    for block in tables.iter_mut().flat_map(|table| table.chunks_mut(BLOCK_ROWS)) {
        let mut found = None;
        for (row, time) in block.iter_mut().filter(|(_, time)| *time <= now) {
            found.get_or_insert_with(Found::default).add(row);
            *time = now + row.sleeps;
        }
        blocks.extend(found);
    }
    while blocks.len() > 1 {
        let pairs = blocks.chunks(2);
        blocks = pairs.map(|pair| pair[1..].iter().cloned().fold(pair[0].clone(), Found::combine)).collect();
    }
    blocks.pop().unwrap_or_default()
}

/// One in some rows sleeps for a few frames, the others for longer than there are frames.
fn tables() -> impl Strategy<Value = Tables> {
    let row = |seldom| (0..seldom, 1..4_u64).prop_map(|(number, sleeps)| if number == 0 { sleeps } else { 2 * FRAMES });
    let sleeps = (1..400_u32).prop_flat_map(move |seldom| prop::collection::vec(row(seldom), 0..ROWS));
    (sleeps, 0.0..1.0).prop_map(|(sleeps, cut)| {
        let rows = sleeps.into_iter().enumerate().map(|(number, sleeps)| Row { number: number as u32, sleeps });
        let mut one: Vec<_> = rows.map(|row| (row, row.sleeps)).collect();
        let other = one.split_off((one.len() as f64 * cut) as usize);
        [one, other]
    })
}

fn check(tables: &Tables, mode: SchedulerMode, workers: usize) {
    let mut kept = tables.clone();
    for (now, found) in (1..).zip(found_in(mode, workers, tables)) {
        assert_eq!(found, expected(&mut kept, now), "{mode:?}, {workers} workers, call {now}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 16))]

    #[test]
    fn what_an_oracle_folds(tables in tables()) {
        check(&tables, SchedulerMode::Bevy, 2);
        for workers in 1..=3 {
            for mode in [SchedulerMode::Serial, SchedulerMode::LockStep, SchedulerMode::Heartbeat, SchedulerMode::Auto] {
                check(&tables, mode, workers);
            }
        }
    }
}

/// Due rows on both sides of each border between blocks, and alone in some.
#[test]
fn few_rows_around_the_borders_of_blocks() {
    let is_due = |number: usize| {
        let (block, row) = (number / BLOCK_ROWS, number % BLOCK_ROWS);
        (block < 3 || block > 180 && block.is_multiple_of(3)) && !(2..BLOCK_ROWS - 2).contains(&row)
    };
    let sleeps = |number| if is_due(number) { 1 } else { 2 * FRAMES };
    let rows = (0..ROWS).map(|number| Row { number: number as u32, sleeps: sleeps(number) });
    let tables = [rows.clone().map(|row| (row, row.sleeps)).collect(), rows.map(|row| (row, row.sleeps)).collect()];
    for mode in [SchedulerMode::Serial, SchedulerMode::LockStep, SchedulerMode::Heartbeat] {
        for workers in 1..=4 {
            check(&tables, mode, workers);
        }
    }
}

fn swap(mut rows: AffineQuery<&mut Row>, mut agenda: Agenda, now: Res<Now>) {
    let now = now.0;
    rows.par_iter_mut().due(&mut agenda, now).for_each_init(Vec::new, |scratch, mut row| {
        // What the last row of this value left.
        scratch.clear();
        scratch.extend([row.number, 1]);
        row.number = scratch.iter().sum();
        Some(now + row.sleeps)
    });
}

#[test]
fn a_value_for_each_part_goes_from_row_to_row() {
    for mode in [SchedulerMode::Bevy, SchedulerMode::Serial, SchedulerMode::LockStep, SchedulerMode::Heartbeat] {
        let mut app = App::new();
        app.insert_resource(AffinitySettings { workers: WorkerCount::Exactly(2), ..default() });
        app.insert_resource(mode).init_resource::<Now>();
        app.add_plugins((bevy::app::TaskPoolPlugin::default(), AffinityParallelPlugin));
        app.add_systems(First, |mut now: ResMut<Now>| now.0 += 1).add_systems(Update, swap.affine());
        let rows = (0..5_000).map(|number| Row { number: 0, sleeps: if number % 500 == 0 { 1 } else { 5 } });
        app.world_mut().spawn_batch(rows.map(|row| (row, Due::<()>::at(row.sleeps))));
        (0..FRAMES).for_each(|_| app.update());
        let mut rows = app.world_mut().query::<&Row>();
        assert!(rows.iter(app.world()).all(|row| row.number == (FRAMES / row.sleeps) as u32), "{mode:?}");
    }
}
