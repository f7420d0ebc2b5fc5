//! Worlds of odd shapes: thousands of tables, rows without size, rows that come and go.

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::{Count, common::Scheduling, count_up, mix::mix_slowly, tables::move_to_table};

const TABLES: usize = 10_000;

fn sorted_counts(app: &mut App) -> Vec<(Entity, u64)> {
    let mut counts = app.world_mut().query::<(Entity, &Count)>();
    let mut counts: Vec<_> = counts.iter(app.world()).map(|(entity, count)| (entity, count.0)).collect();
    counts.sort_unstable();
    counts
}

#[test]
fn ten_thousand_tables_of_one_row() {
    fn mix(mut counts: AffineQuery<(Entity, &mut Count)>) {
        counts.par_iter_mut().for_each(|(entity, mut count)| count.0 = mix_slowly(count.0 ^ entity.to_bits()));
    }

    let results: Vec<_> = [Scheduling::SERIAL, Scheduling::BEVY, Scheduling::lock_step(3)]
        .map(|scheduling| {
            let mut app = scheduling.app();
            for table in 0..TABLES {
                move_to_table(&mut app.world_mut().spawn(Count(0)), table);
            }
            app.add_systems(Update, (mix, count_up).affine().chain());
            (0..2).for_each(|_| app.update());
            sorted_counts(&mut app)
        })
        .into();
    assert_eq!(results[0].len(), TABLES);
    assert!(results.iter().all(|result| *result == results[0]));
}

#[test]
fn rows_without_size() {
    #[derive(Component)]
    struct Empty;

    fn touch(mut rows: AffineQuery<&mut Empty>) {
        rows.par_iter_mut().for_each(|mut row| row.set_changed());
    }

    fn touch_in_chunks(mut rows: AffineQuery<(&mut Empty, ())>) {
        rows.par_iter_mut().for_each_chunk(|(rows, ())| assert!(!rows.is_empty()));
    }

    fn count(rows: AffineQuery<(), Changed<Empty>>, mut changed: ResMut<Changes>) {
        changed.0.push(rows.iter().count());
    }

    #[derive(Resource, Default)]
    struct Changes(Vec<usize>);

    for scheduling in Scheduling::all() {
        let mut app = scheduling.app();
        app.world_mut().spawn_batch((0..5000).map(|_| Empty));
        app.init_resource::<Changes>();
        app.add_systems(Update, (count, touch, count, touch_in_chunks, count).affine().chain());
        (0..2).for_each(|_| app.update());
        // Each counts what changed since it ran last.
        assert_eq!(app.world().resource::<Changes>().0, [5000; 6], "{scheduling:?}");
    }
}

#[test]
fn tables_that_grow_and_shrink() {
    let results: Vec<_> = Scheduling::all()
        .map(|scheduling| {
            let mut app = scheduling.app();
            app.add_systems(Update, (count_up, count_up).affine().chain());
            let mut entities = Vec::new();
            for rows in [0, 1, 9000, 3, 0, 5000, 5001, 4097, 9001, 2, 70, 6000] {
                let world = app.world_mut();
                entities.drain(rows.min(entities.len())..).for_each(|entity| assert!(world.despawn(entity)));
                let missing = rows - entities.len();
                entities.extend(world.spawn_batch((0..missing).map(|_| Count(0))));
                app.update();
            }
            sorted_counts(&mut app)
        })
        .collect();
    assert_eq!(results[0].len(), 6000);
    assert!(results.iter().all(|result| *result == results[0]));
}
