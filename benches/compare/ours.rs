//! The contenders of this crate: all that the comparison calls of it stands here.

use bevy_affinity::prelude::*;

pub use crate::shared::ours::{app, pool, settings};

/// A pool whose rounds are recorded in the timeline of an app.
pub fn recorded_pool(workers: usize) -> AffinityPool {
    let mut app = app(workers);
    app.world_mut().resource_mut::<AffinityTimeline>().record(true);
    app.world().resource::<AffinityPool>().clone()
}
