//! Counts the cars, for the bar at the top and for the score: two sweeps on all workers.

use std::time::Duration;

use bevy::ecs::schedule::ScheduleLabel;
use bevy::prelude::*;
use bevy::time::common_conditions::on_real_timer;
use bevy_affinity::prelude::*;

use super::shared::GameState;
use crate::model::{Due, Intersection, Totals, Trips};
use crate::simulation::Now;

/// Often enough to read, seldom enough to cost nothing: a million cars take milliseconds to count.
const INTERVAL: Duration = Duration::from_millis(500);

/// Counts at once.
#[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
pub struct CountNow;

/// The last count.
#[derive(Resource, Default, Deref)]
pub struct Census(Totals);

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Census>().add_systems(CountNow, count.affine()).add_systems(
        Update,
        count.affine().run_if(resource_equals(GameState::Playing).and_then(on_real_timer(INTERVAL))),
    );
}

fn count(
    intersections: AffineQuery<&Intersection>,
    cars: AffineQuery<(&Due, &Trips)>,
    mut census: ResMut<Census>,
    now: Res<Now>,
) {
    let now = now.0;
    let of_intersection = |intersection: &Intersection| Totals::of_intersection(intersection, now);
    let queued = intersections.par_iter().map_reduce(Totals::default, of_intersection, Totals::merge);
    let trips = cars.par_iter().map_reduce(Totals::default, |(&due, trips)| Totals::of_car(due, trips), Totals::merge);
    census.0 = queued.merge(trips);
}
