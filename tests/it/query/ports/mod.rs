//! Programs written for Bevy, with one type name and one word changed: see `systems.rs`, which is
//! compiled twice.

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

mod components;
mod world;

use components::{Data, Matrix, Place, Rotation, Sparse, Velocity};
use world::{Row, spawn};

/// Rows: enough for every worker to have some.
const ROWS: u32 = 4000;

/// The bits of every component after ten frames, by row: two worlds may have their tables in
/// different orders.
fn bits_after(mut app: App, systems: ScheduleConfigs<ScheduleSystem>) -> Vec<(u32, Vec<u32>)> {
    spawn(app.world_mut(), ROWS);
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
