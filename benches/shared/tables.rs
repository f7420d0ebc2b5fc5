//! Worlds of many tables.

use bevy::prelude::*;

/// Which markers an entity has tells its table: ten of them make 1,024.
#[derive(Component)]
struct Marker<const BIT: usize>;

/// Moves an entity to the table of this number.
pub fn mark(entity: &mut EntityWorldMut, table: usize) {
    fn insert<const BIT: usize>(entity: &mut EntityWorldMut) {
        entity.insert(Marker::<BIT>);
    }
    const INSERT: [fn(&mut EntityWorldMut); 10] = [
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
    ];
    (0..).zip(INSERT).filter(|(bit, _)| table >> bit & 1 == 1).for_each(|(_, insert)| insert(entity));
}
