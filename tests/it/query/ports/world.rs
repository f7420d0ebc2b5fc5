//! The rows that the ported systems sweep.

use bevy::prelude::*;

use super::components::{Data, Fragment, Matrix, Place, Rotation, Sparse, Velocity};

/// Which row it is, in all worlds.
#[derive(Component)]
pub struct Row(pub u32);

/// A number from 0 to 1 for a row: no two runs differ.
fn number(row: u32, salt: u32) -> f32 {
    let mixed = row.wrapping_mul(0x9E37_79B9).wrapping_add(salt.wrapping_mul(0x85EB_CA6B));
    (mixed ^ (mixed >> 15)).wrapping_mul(0x2C1B_3C6D) as f32 / u32::MAX as f32
}

pub fn spawn(world: &mut World, rows: u32) {
    for row in 0..rows {
        let x = |salt| number(row, salt);
        let point = Vec3::new(x(1), x(2), x(3)) * 400.0 - 200.0;
        let mut entity = world.spawn((Row(row), Velocity(Vec2::new(x(4), x(5)) * 20.0 - 10.0), Place(point)));
        entity.insert((Rotation(point.normalize_or_zero()), Matrix(Mat4::from_axis_angle(Vec3::X, x(6))), Data(x(7))));
        if row % 3 == 0 {
            entity.insert(Sparse(x(8)));
        }
        match row % 8 {
            0 => _ = entity.insert(Fragment::<0>),
            1 => _ = entity.insert(Fragment::<1>),
            2 => _ = entity.insert((Fragment::<0>, Fragment::<1>)),
            3 => _ = entity.insert(Fragment::<2>),
            4 => _ = entity.insert((Fragment::<2>, Fragment::<0>)),
            _ => {}
        }
    }
}
