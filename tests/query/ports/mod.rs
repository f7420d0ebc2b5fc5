//! Programs written for Bevy, with one type name and one word changed: see `systems.rs`, which is compiled twice.

use bevy::{ecs::schedule::ScheduleConfigs, ecs::system::ScheduleSystem, prelude::*};
use bevy_affinity::prelude::*;

use crate::common::Scheduling;

mod bevys {
    use bevy::prelude::Query;
    include!("systems.rs");
}

mod ours {
    use bevy_affinity::AffineQuery as Query;
    include!("systems.rs");
}

/// What all systems of both compilations read and write.
mod components {
    use bevy::prelude::*;

    #[derive(Component, Clone, Copy)]
    pub struct Velocity(pub Vec2);
    #[derive(Component, Clone, Copy)]
    pub struct Place(pub Vec3);
    #[derive(Component, Clone, Copy)]
    pub struct Rotation(pub Vec3);
    #[derive(Component, Clone, Copy)]
    pub struct Matrix(pub Mat4);
    #[derive(Component, Clone, Copy)]
    #[component(storage = "SparseSet")]
    pub struct Sparse(pub f32);
    #[derive(Component, Clone, Copy)]
    pub struct Data(pub f32);

    /// One of the components by which rows are scattered over many tables.
    #[derive(Component, Clone, Copy)]
    pub struct Fragment<const N: usize>;
}
use components::{Data, Fragment, Matrix, Place, Rotation, Sparse, Velocity};

#[derive(Component)]
struct Row(u32);

/// A number from 0 to 1 for a row: no two runs differ.
fn number(row: u32, salt: u32) -> f32 {
    let mixed = row.wrapping_mul(0x9E37_79B9).wrapping_add(salt.wrapping_mul(0x85EB_CA6B));
    (mixed ^ (mixed >> 15)).wrapping_mul(0x2C1B_3C6D) as f32 / u32::MAX as f32
}

fn spawn(world: &mut World) {
    for row in 0..4000 {
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

/// The bits of every component after ten frames, by row: two worlds may have their tables in different orders.
fn bits_after(mut app: App, systems: ScheduleConfigs<ScheduleSystem>) -> Vec<(u32, Vec<u32>)> {
    spawn(app.world_mut());
    app.add_systems(Update, systems);
    (0..10).for_each(|_| app.update());
    let mut query = app.world_mut().query::<(&Row, &Velocity, &Place, &Rotation, &Matrix, &Data, Option<&Sparse>)>();
    let rows = query.iter(app.world()).map(|(row, velocity, place, rotation, matrix, data, sparse)| {
        let vectors = [place.0.to_array(), rotation.0.to_array()].into_iter().flatten();
        let others = [data.0, sparse.map_or(-1.0, |sparse| sparse.0)];
        let floats = velocity.0.to_array().into_iter().chain(vectors).chain(matrix.0.to_cols_array()).chain(others);
        (row.0, floats.map(f32::to_bits).collect())
    });
    let mut rows: Vec<_> = rows.collect();
    rows.sort();
    rows
}

macro_rules! ports {
    ($($(#[$meta:meta])* $name:ident),*) => {
        $(
            $(#[$meta])*
            #[test]
            fn $name() {
                let expected = bits_after(Scheduling::BEVY.bare_app(), bevys::$name.into_configs());
                for scheduling in Scheduling::all() {
                    let bits = bits_after(scheduling.app(), ours::$name.affine());
                    assert!(bits == expected, "{scheduling:?}");
                }
            }
        )*
    };
}

ports!(
    move_sprites,
    bounce_sprites,
    simple,
    simple_loop,
    simple_parallel,
    #[cfg_attr(debug_assertions, ignore = "fails an assertion of Bevy 0.20.1's, with Bevy's `Query`")]
    simple_contiguous,
    sparse,
    wide,
    fragmented,
    fragmented_parallel,
    heavy,
    heavy_with_scratch,
    pairs
);
