//! Commands from a parallel sweep are applied in the order of rows, in every mode and with every
//! number of workers.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::common::Scheduling;

/// Enough rows that even the cheapest go to the gang.
const ROWS: u32 = 20_000;

#[derive(Component, Clone, Copy, PartialEq, Eq, Debug)]
struct Number(u32);

/// In the first third of rows.
#[derive(Component)]
#[component(storage = "SparseSet")]
struct Marked;

/// Puts each third row into another table.
#[derive(Component)]
struct Heavy;

#[derive(Resource, Default, PartialEq, Debug)]
struct Applied(Vec<u32>);

fn populate(world: &mut World) {
    for number in 0..ROWS {
        let mut entity = world.spawn(Number(number));
        if number % 3 == 0 {
            entity.insert(Heavy);
        }
        if number < ROWS / 3 {
            entity.insert(Marked);
        }
    }
}

/// Spawns, despawns, inserts and removes, and notes in which order that happens.
fn change(mut numbers: AffineQuery<(Entity, &mut Number)>, mut commands: AffineCommands) {
    numbers.par_iter_mut().for_each_with_commands(&mut commands, |commands, (entity, mut number)| {
        let Number(n) = *number;
        number.0 = n.wrapping_mul(7) % 100_003;
        match n % 5 {
            0 => commands.entity(entity).despawn(),
            1 => _ = commands.entity(entity).insert(Heavy),
            2 => _ = commands.entity(entity).remove::<(Heavy, Marked)>(),
            3 => commands.queue(move |world: &mut World| _ = world.spawn((Number(n + 1), Marked))),
            _ => return,
        }
        commands.queue(move |world: &mut World| world.resource_mut::<Applied>().0.push(n));
    });
    commands.queue(|world: &mut World| world.resource_mut::<Applied>().0.push(u32::MAX));
}

/// Everything that can differ: which commands were applied in which order, and all entities, row by
/// row.
fn outcome(scheduling: Scheduling) -> (Applied, Vec<(Entity, Number, bool, bool)>) {
    let mut app = scheduling.app();
    app.init_resource::<Applied>().add_systems(Update, change.affine());
    populate(app.world_mut());
    (0..4).for_each(|_| app.update());
    let world = app.world_mut();
    let mut query = world.query::<(Entity, &Number, Has<Heavy>, Has<Marked>)>();
    let rows = query.iter(world).map(|(entity, &number, heavy, marked)| (entity, number, heavy, marked)).collect();
    (std::mem::take(&mut world.resource_mut::<Applied>()), rows)
}

#[test]
fn the_world_comes_out_the_same_everywhere() {
    let serial = outcome(Scheduling::SERIAL);
    assert!(serial.0.0.len() > 3 * ROWS as usize / 5 && serial.1.len() > ROWS as usize / 2);
    for scheduling in Scheduling::all() {
        assert!(outcome(scheduling) == serial, "{scheduling:?}");
    }
}

#[test]
fn reserved_entities_are_spawned_with_what_was_recorded() {
    fn split(numbers: AffineQuery<&Number, With<Heavy>>, mut commands: AffineCommands) {
        numbers.par_iter().for_each_with_commands(&mut commands, |commands, number| {
            commands.spawn((Marked, Number(number.0 + ROWS)));
        });
    }
    for scheduling in Scheduling::all() {
        let mut app = scheduling.app();
        app.add_systems(Update, split.affine());
        (0..ROWS).for_each(|number| _ = app.world_mut().spawn((Number(number), Heavy)));
        app.update();
        let world = app.world_mut();
        let mut query = world.query_filtered::<&Number, With<Marked>>();
        let spawned: Vec<_> = query.iter(world).map(|number| number.0).collect();
        assert_eq!(spawned, (ROWS..2 * ROWS).collect::<Vec<_>>(), "in the order of the rows: {scheduling:?}");
    }
}

#[test]
fn a_panic_applies_nothing_of_the_call() {
    fn fail(numbers: AffineQuery<&Number>, mut commands: AffineCommands) {
        numbers.par_iter().for_each_with_commands(&mut commands, |commands, number| {
            commands.queue(|world: &mut World| world.resource_mut::<Applied>().0.push(0));
            assert!(number.0 < ROWS - 1, "planted");
        });
    }
    for scheduling in [Scheduling::SERIAL, Scheduling::lock_step(3), Scheduling::heartbeat(3)] {
        let mut app = scheduling.app();
        app.init_resource::<Applied>().add_systems(Update, fail.affine());
        populate(app.world_mut());
        assert!(catch_unwind(AssertUnwindSafe(|| app.update())).is_err());
        assert_eq!(*app.world().resource::<Applied>(), Applied::default());
    }
}

/// One of nine that make tables.
#[derive(Component)]
struct Mark<const N: u32>;

/// A table for each set of marks: some with no rows, most with a few, one with many.
fn populate_tables(world: &mut World) {
    for table in 0..512_u32 {
        let rows = if table == 300 { 3_000 } else { table * 7 % 23 };
        for row in 0..rows {
            let mut entity = world.spawn(Number(table << 16 | row));
            macro_rules! mark {
                ($($n:literal)*) => {
                    $(if table >> $n & 1 == 1 {
                        entity.insert(Mark::<$n>);
                    })*
                };
            }
            mark!(0 1 2 3 4 5 6 7 8);
        }
    }
}

fn note(numbers: AffineQuery<&Number>, mut commands: AffineCommands) {
    numbers.par_iter().for_each_with_commands(&mut commands, |commands, &Number(number)| {
        if number % 8 != 3 {
            commands.queue(move |world: &mut World| world.resource_mut::<Applied>().0.push(number));
        }
    });
}

#[test]
fn the_order_is_the_same_over_hundreds_of_tables() {
    let applied = |scheduling: Scheduling| {
        let mut app = scheduling.app();
        app.init_resource::<Applied>().add_systems(Update, note.affine());
        populate_tables(app.world_mut());
        (0..6).for_each(|_| app.update());
        std::mem::take(&mut app.world_mut().resource_mut::<Applied>().0)
    };
    let serial = applied(Scheduling::SERIAL);
    let (first, rest) = serial.split_at(serial.len() / 6);
    assert!(first.len() > 5_000 && rest.chunks(first.len()).all(|frame| frame == first));
    assert!(first.chunk_by(|a, b| a >> 16 == b >> 16).all(|table| table.is_sorted()));
    for scheduling in Scheduling::all() {
        assert!(applied(scheduling) == serial, "{scheduling:?}");
    }
}
