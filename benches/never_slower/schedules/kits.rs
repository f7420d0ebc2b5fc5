//! Components, and the systems for each of them.

use bevy::ecs::schedule::ScheduleConfigs;
use bevy::ecs::system::ScheduleSystem;
use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::contest::Contest;

/// One component as functions.
pub struct Kit {
    pub spawn: fn(&mut World, usize),
    iter_mut: fn() -> ScheduleConfigs<ScheduleSystem>,
    par_iter_mut: fn() -> ScheduleConfigs<ScheduleSystem>,
    affine: fn() -> ScheduleConfigs<ScheduleSystem>,
    /// A count other than that of the calls, if there is one.
    pub wrong: fn(&mut World, u64) -> Option<u32>,
}

impl Kit {
    const fn of<const N: usize>() -> Self {
        Self {
            spawn: |world, rows| drop(world.spawn_batch((0..rows).map(|_| Count::<N>(0)))),
            iter_mut: || iter_mut::<N>.into_configs(),
            par_iter_mut: || par_iter_mut::<N>.into_configs(),
            affine: || affine::<N>.affine(),
            wrong: wrong::<N>,
        }
    }

    /// The system with which a contender adds one to every row.
    pub fn system(&self, contest: Contest) -> ScheduleConfigs<ScheduleSystem> {
        match contest {
            Contest::Serial | Contest::SerialAlone => (self.iter_mut)(),
            Contest::ParIter => (self.par_iter_mut)(),
            Contest::Affine(_) => (self.affine)(),
        }
    }
}

#[derive(Component)]
struct Count<const N: usize>(u32);

fn iter_mut<const N: usize>(mut rows: Query<&mut Count<N>>) {
    rows.iter_mut().for_each(|mut row| row.0 += 1);
}

fn par_iter_mut<const N: usize>(mut rows: Query<&mut Count<N>>) {
    rows.par_iter_mut().for_each(|mut row| row.0 += 1);
}

fn affine<const N: usize>(mut rows: AffineQuery<&'static mut Count<N>>) {
    rows.par_iter_mut().for_each(|mut row| row.0 += 1);
}

fn wrong<const N: usize>(world: &mut World, calls: u64) -> Option<u32> {
    let mut rows = world.query::<&Count<N>>();
    rows.iter(world).map(|row| row.0).find(|&count| u64::from(count) != calls)
}

macro_rules! kits {
    ($($number:literal)*) => {
        [$(Kit::of::<$number>()),*]
    };
}

/// As many as systems can run at the same time on most machines; a hundred would be built for
/// minutes.
pub static KITS: [Kit; 20] = kits!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19);
