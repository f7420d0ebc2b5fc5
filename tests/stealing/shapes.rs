//! Queries of every shape over many tables, with chunks of several rows that reach from one table
//! into the next.

use std::sync::{
    Mutex,
    atomic::{AtomicU32, Ordering},
};

use bevy::{ecs::entity::EntityHashMap, prelude::*};
use bevy_affinity::{Row as KernelRow, prelude::*};

use crate::{Row, Swept, common::Scheduling, tables::move_to_table, until_stolen};

const ROWS: u32 = 3_000;
const TABLES: u32 = 7;
const FRAMES: u32 = 6;

/// A component that a third of the rows has: twice as many tables.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
struct Extra(u32);

/// A component in a sparse set, that half of the rows has: two archetypes in each table.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(storage = "SparseSet")]
struct Rare(u32);

/// Few rows are dear, all near the ends of their tables: the average row is cheap enough that a
/// chunk has several, and the last worker is late.
fn row(number: u32) -> Row {
    Row { number, dear: number >= ROWS * 2 / 3 && number.is_multiple_of(40) }
}

fn app(scheduling: Scheduling) -> App {
    let mut app = scheduling.app();
    let world = app.world_mut();
    // Tables that match and have no rows, before the others and between them.
    let empty = |world: &mut World, table| {
        let mut entity = world.spawn((row(0), Swept(0)));
        move_to_table(&mut entity, table);
        entity.despawn();
    };
    for number in 0..ROWS {
        if number < TABLES {
            empty(world, 64 + number as usize);
        }
        let mut entity = world.spawn((row(number), Swept(0)));
        move_to_table(&mut entity, (number % TABLES) as usize);
        if number % 3 == 0 {
            entity.insert(Extra(0));
        }
        if number % 2 == 0 {
            entity.insert(Rare(0));
        }
    }
    app
}

/// What each row has, by number.
fn rows(app: &mut App) -> Vec<(u32, Swept, Option<Extra>, Option<Rare>)> {
    let mut rows = app.world_mut().query::<(&Row, &Swept, Option<&Extra>, Option<&Rare>)>();
    let mut rows: Vec<_> = rows
        .iter(app.world())
        .map(|(row, &swept, extra, rare)| (row.number, swept, extra.copied(), rare.copied()))
        .collect();
    rows.sort_unstable_by_key(|row| row.0);
    rows
}

/// Asserts that what `add` brings leaves the same in the world with a gang, of which somebody
/// steals, as without.
fn assert_same<T: PartialEq>(add: impl Fn(&mut App), read: impl Fn(&mut App) -> T) {
    let run = |scheduling| {
        let mut app = app(scheduling);
        add(&mut app);
        (0..FRAMES).for_each(|_| app.update());
        app
    };
    let mut serial = run(Scheduling::SERIAL);
    let (expected, expected_rows) = (read(&mut serial), rows(&mut serial));
    for workers in 2..=4 {
        until_stolen(workers, |scheduling| {
            let mut app = run(scheduling);
            let rows = rows(&mut app);
            let other = rows.iter().zip(&expected_rows).find(|(row, expected)| row != expected);
            assert!(other.is_none(), "{workers} workers: (seen, expected) {other:?}");
            assert!(read(&mut app) == expected, "{workers} workers");
            app
        });
    }
}

fn nothing_else(_: &mut App) {}

#[test]
fn rows_of_many_tables() {
    let sweep = |mut rows: AffineQuery<(&Row, &mut Swept)>| {
        rows.par_iter_mut().for_each(|(row, mut swept)| {
            row.work();
            swept.0 += 1;
        });
    };
    assert_same(|app| _ = app.add_systems(Update, sweep.affine()), nothing_else);
}

#[test]
fn values_per_worker_and_chunk() {
    fn sweep(mut rows: AffineQuery<(&Row, &mut Swept)>, mut all: Local<u32>) {
        let visited = AtomicU32::new(0);
        // Counts when it is dropped what it was lent for.
        struct Count<'a>(u32, &'a AtomicU32);
        impl Drop for Count<'_> {
            fn drop(&mut self) {
                self.1.fetch_add(self.0, Ordering::Relaxed);
            }
        }
        rows.par_iter_mut().for_each_init(
            || Count(0, &visited),
            |count, (row, mut swept)| {
                row.work();
                swept.0 += 1;
                count.0 += 1;
            },
        );
        *all += visited.into_inner();
        assert!(all.is_multiple_of(ROWS));
    }
    assert_same(|app| _ = app.add_systems(Update, sweep.affine()), nothing_else);
}

#[test]
fn entities_alone() {
    #[derive(Resource)]
    struct Rows(EntityHashMap<(Row, AtomicU32)>);

    fn sweep(entities: AffineQuery<Entity, With<Row>>, rows: Res<Rows>) {
        entities.par_iter().for_each(|entity| {
            let (row, swept) = &rows.0[&entity];
            row.work();
            swept.fetch_add(1, Ordering::Relaxed);
        });
    }
    let add = |app: &mut App| {
        let mut rows = app.world_mut().query::<(Entity, &Row)>();
        let rows = rows.iter(app.world()).map(|(entity, &row)| (entity, (row, AtomicU32::new(0)))).collect();
        app.insert_resource(Rows(rows)).add_systems(Update, sweep.affine());
    };
    assert_same(add, |app| {
        let rows = app.world().resource::<Rows>().0.values();
        rows.map(|(_, swept)| swept.load(Ordering::Relaxed)).all(|swept| swept == FRAMES)
    });
}

#[test]
fn components_that_only_some_tables_have() {
    let sweep = |mut rows: AffineQuery<(&Row, &mut Swept, Option<&mut Extra>, Has<Rare>)>| {
        rows.par_iter_mut().for_each(|(row, mut swept, extra, rare)| {
            row.work();
            swept.0 += 1 + u32::from(rare);
            if let Some(mut extra) = extra {
                extra.0 += swept.0;
            }
        });
    };
    assert_same(|app| _ = app.add_systems(Update, sweep.affine()), nothing_else);
}

#[test]
fn filters_by_archetype() {
    let sweep = |mut rows: AffineQuery<(&Row, &mut Swept), With<Rare>>| {
        rows.par_iter_mut().for_each(|(row, mut swept)| {
            row.work();
            swept.0 += 1;
        });
    };
    assert_same(|app| _ = app.add_systems(Update, sweep.affine()), nothing_else);
}

#[test]
fn components_in_sparse_sets() {
    let sweep = |mut rows: AffineQuery<(&Row, &mut Rare, Option<&mut Extra>)>| {
        rows.par_iter_mut().for_each(|(row, mut rare, extra)| {
            row.work();
            rare.0 += 1;
            if let Some(mut extra) = extra {
                extra.0 += rare.0;
            }
        });
    };
    assert_same(|app| _ = app.add_systems(Update, sweep.affine()), nothing_else);
}

#[test]
fn filters_by_row() {
    type Followed = (&'static Row, Ref<'static, Swept>, Option<&'static mut Rare>);
    type Touched = Or<(Changed<Rare>, Added<Swept>)>;

    fn touch(mut rows: AffineQuery<(&Row, &mut Swept)>, mut frame: Local<u32>) {
        *frame += 1;
        let frame = *frame;
        rows.par_iter_mut().for_each(|(row, mut swept)| {
            if (row.number + frame) % 4 < 3 {
                swept.0 += 1;
            }
        });
    }
    fn follow(mut rows: AffineQuery<Followed, Changed<Swept>>) {
        rows.par_iter_mut().for_each(|(row, swept, rare)| {
            assert!(swept.is_changed());
            row.work();
            if let Some(mut rare) = rare {
                rare.0 += swept.0;
            }
        });
    }
    fn follow_further(rows: AffineQuery<&Row, Touched>, mut seen: ResMut<Seen>) {
        let numbers = Mutex::new(Vec::new());
        rows.par_iter().for_each(|row| {
            row.work();
            numbers.lock().unwrap().push(row.number);
        });
        let mut numbers = numbers.into_inner().unwrap();
        numbers.sort_unstable();
        seen.0.push(numbers);
    }
    #[derive(Resource, Default)]
    struct Seen(Vec<Vec<u32>>);

    let add = |app: &mut App| {
        app.init_resource::<Seen>().add_systems(Update, (touch, follow, follow_further).affine().chain());
    };
    assert_same(add, |app| app.world().resource::<Seen>().0.clone());
}

#[test]
fn slices() {
    let sweep = |mut rows: AffineQuery<(&Row, &mut Swept, Option<&mut Extra>)>| {
        rows.par_iter_mut().for_each_chunk(|(rows, swept, extra): (&[Row], &mut [Swept], Option<&mut [Extra]>)| {
            rows.iter().for_each(|row| row.work());
            swept.iter_mut().for_each(|swept| swept.0 += 1);
            extra.into_iter().flatten().for_each(|extra| extra.0 += 1);
        });
    };
    let add = |app: &mut App| {
        app.world_mut().resource_mut::<AffinitySettings>().chunk_rows = 5;
        app.add_systems(Update, sweep.affine());
    };
    assert_same(add, nothing_else);
}

#[test]
fn kernels() {
    fn begin(KernelRow((row, mut swept)): KernelRow<(&Row, &mut Swept)>) {
        row.work();
        swept.0 += 1;
    }
    fn add_up(KernelRow((swept, mut extra)): KernelRow<(&Swept, &mut Extra)>) {
        extra.0 += swept.0;
    }
    fn double(KernelRow((mut swept, mut rare)): KernelRow<(&mut Swept, &mut Rare), Changed<Swept>>) {
        rare.0 += swept.0;
        swept.0 *= 2;
    }
    assert_same(|app| _ = app.add_systems(Update, fused((begin, add_up, double)).affine()), nothing_else);
}

#[test]
fn sweeps_inside_a_sweep() {
    fn sweep(mut rows: AffineQuery<(&Row, &mut Swept)>, marked: AffineQuery<&Rare, With<Row>>) {
        rows.par_iter_mut().for_each(|(row, mut swept)| {
            row.work();
            if row.number.is_multiple_of(50) {
                let count = AtomicU32::new(0);
                marked.par_iter().for_each(|_| _ = count.fetch_add(1, Ordering::Relaxed));
                marked.par_iter().for_each_init(|| 1, |one, _| _ = count.fetch_add(*one, Ordering::Relaxed));
                swept.0 += count.into_inner() + marked.par_iter().map_reduce(|| 0, |_| 1, |left, right| left + right);
            }
        });
    }
    assert_same(|app| _ = app.add_systems(Update, sweep.affine()), nothing_else);
}

/// Where an entity sends to: others, and one that all send to.
#[derive(Component, Clone, Copy)]
struct Targets([Entity; 2]);

fn add_targets(app: &mut App) {
    let mut rows = app.world_mut().query::<(&Row, Entity)>();
    let mut rows: Vec<_> = rows.iter(app.world()).map(|(row, entity)| (row.number, entity)).collect();
    rows.sort_unstable();
    for &(number, entity) in &rows {
        let other = rows[(number * 7 + 11) as usize % rows.len()].1;
        app.world_mut().entity_mut(entity).insert(Targets([other, rows[0].1]));
    }
}

/// Folds a number into another one, so that the result tells the order.
fn fold(state: u32, number: u32) -> u32 {
    (state ^ number).wrapping_mul(0x9e37_79b9).rotate_left(7)
}

#[test]
fn messages_within_a_query_of_many_tables() {
    fn tell(mut rows: AffineQuery<(&Row, &Targets, &mut Swept)>) {
        let report = rows.par_iter_mut().scatter_within(
            |outbox, (row, targets, mut swept)| {
                row.work();
                swept.0 = swept.0.wrapping_add(1);
                targets.0.iter().for_each(|&target| outbox.send(target, row.number));
            },
            |(_, _, mut swept), number| swept.0 = fold(swept.0, number),
        );
        assert_eq!(report, ScatterReport { delivered: 2 * u64::from(ROWS), ..default() });
    }
    let add = |app: &mut App| {
        add_targets(app);
        app.add_systems(Update, tell.affine());
    };
    assert_same(add, nothing_else);
}

#[test]
fn messages_from_archetypes_to_tables() {
    fn tell(rows: AffineQuery<(&Row, &Targets), With<Rare>>, mut others: AffineQuery<&mut Swept>) {
        let report = rows.par_iter().scatter(
            &mut others,
            |outbox, (row, targets)| {
                row.work();
                targets.0.iter().for_each(|&target| outbox.send(target, row.number));
            },
            |mut swept, number| swept.0 = fold(swept.0, number),
        );
        assert_eq!(report, ScatterReport { delivered: u64::from(ROWS), ..default() });
    }
    let add = |app: &mut App| {
        add_targets(app);
        app.add_systems(Update, tell.affine());
    };
    assert_same(add, nothing_else);
}

/// What systems note, in the order of commands.
#[derive(Resource, Default)]
struct Log(Vec<u32>);

#[test]
fn commands_from_rows_of_many_tables() {
    fn speak(rows: AffineQuery<&Row>, mut commands: AffineCommands) {
        rows.par_iter().for_each_with_commands(&mut commands, |commands, row| {
            row.work();
            let number = row.number;
            commands.queue(move |world: &mut World| world.resource_mut::<Log>().0.push(number));
        });
    }
    let add = |app: &mut App| _ = app.init_resource::<Log>().add_systems(Update, speak.affine());
    assert_same(add, |app| app.world().resource::<Log>().0.clone());
}

#[test]
fn sums_over_rows_of_many_tables() {
    fn weigh(rows: AffineQuery<&Row>, mut log: ResMut<Log>) {
        let weigh = |row: &Row| {
            row.work();
            1.0 / (row.number as f32 + 0.3)
        };
        log.0.push(rows.par_iter().map_reduce(|| 0.0, weigh, |left, right| left + right).to_bits());
    }
    // A block of rows is swept by whoever has its first row: cheap ones would leave nothing to
    // steal.
    let sweep = |mut rows: AffineQuery<(&Row, &mut Swept)>| {
        rows.par_iter_mut().for_each(|(row, mut swept)| {
            row.work();
            swept.0 += 1;
        });
    };
    let add = |app: &mut App| _ = app.init_resource::<Log>().add_systems(Update, (sweep, weigh).affine());
    assert_same(add, |app| app.world().resource::<Log>().0.clone());
}
