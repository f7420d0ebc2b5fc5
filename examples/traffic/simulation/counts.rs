//! Counts the traffic of each district in every frame.

use bevy::app::{App, Update};
use bevy::prelude::{IntoScheduleConfigs, Local, Query, Res, ResMut, resource_exists};
use bevy_affinity::prelude::*;

use super::Now;
use super::entities::{Directory, Plan};
use crate::districts::{Districts, Traffic};
use crate::model::Intersection;

/// Brings the counts up to date in every frame, once there is a city. `affine`: whether the work is
/// shared with the gang.
pub fn plugin(app: &mut App, affine: bool) {
    let there_is_a_city = resource_exists::<Districts>;
    if affine {
        app.add_systems(Update, refit.affine().run_if(there_is_a_city));
    } else {
        app.add_systems(Update, refit.run_if(there_is_a_city));
    }
}

/// Counts the traffic of all districts.
fn refit(
    mut districts: ResMut<Districts>,
    intersections: Query<&Intersection>,
    (plan, directory, now): (Res<Plan>, Res<Directory>, Res<Now>),
    gang: Option<Res<AffinityPool>>,
    mode: Option<Res<SchedulerMode>>,
    alone: Local<Alone>,
) {
    let is_shared = mode.is_some_and(|mode| match *mode {
        SchedulerMode::Auto => districts.intersections() >= WORTH_A_SESSION,
        mode => matches!(mode, SchedulerMode::LockStep | SchedulerMode::Heartbeat),
    });
    let at = |number: u32| {
        let intersection = intersections.get(directory.intersection(number));
        intersection.map_or(Traffic::default(), |intersection| Traffic::at(number, intersection, &plan, now.0))
    };
    let pool = gang.as_deref().filter(|_| is_shared).unwrap_or(&alone.0);
    districts.refit(pool, at);
}

/// In mode `Auto`, which knows nothing of a session that a system begins itself: in a smaller city
/// the count (some 60 ns an intersection) takes less than waking workers up for it may.
const WORTH_A_SESSION: usize = 1_024;

/// Where there is no gang, or the mode does without it.
pub struct Alone(AffinityPool);

impl Default for Alone {
    fn default() -> Self {
        Self(AffinityPool::new(&AffinitySettings { workers: WorkerCount::Exactly(1), ..Default::default() }))
    }
}
