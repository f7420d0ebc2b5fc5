//! As many tables as a test likes.

use bevy::prelude::*;

/// A component without data, one of many: each combination of them is a table.
#[derive(Component)]
struct Mark<const N: usize>;

fn insert<const N: usize>(entity: &mut EntityWorldMut) {
    entity.insert(Mark::<N>);
}

const MARKS: [fn(&mut EntityWorldMut); 14] = [
    insert::<0>,
    insert::<1>,
    insert::<2>,
    insert::<3>,
    insert::<4>,
    insert::<5>,
    insert::<6>,
    insert::<7>,
    insert::<8>,
    insert::<9>,
    insert::<10>,
    insert::<11>,
    insert::<12>,
    insert::<13>,
];

/// Moves an entity to a table of its own for each number below 2^14.
pub fn move_to_table(entity: &mut EntityWorldMut, table: usize) {
    for (bit, insert) in MARKS.iter().enumerate() {
        if table >> bit & 1 == 1 {
            insert(entity);
        }
    }
}
