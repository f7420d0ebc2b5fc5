//! Remembers the trips that end, while a caller asks for them.

use bevy::prelude::{Query, Res, ResMut, Resource};

use super::Now;
use super::entities::{CurrentRoutes, Directory, Plan};
use crate::model::{EndedTrip, Intersection, Trips};

/// The trips that have ended since they were last taken.
#[derive(Resource, Default)]
pub struct Record(pub Vec<EndedTrip>);

/// Runs before the cars hear that their trips have ended.
pub fn note_ended(
    record: Option<ResMut<Record>>,
    intersections: Query<&Intersection>,
    cars: Query<&Trips>,
    (plan, directory, routes, now): (Res<Plan>, Res<Directory>, Res<CurrentRoutes>, Res<Now>),
) {
    let Some(mut record) = record else { return };
    for node in 0..plan.network.nodes.len() as u32 {
        let Ok(intersection) = intersections.get(directory.intersection(node)) else { continue };
        let ended = intersection.finished().iter().filter_map(|finish| {
            let trips = cars.get(directory.car(finish.car)).ok()?;
            Some(trips.ended(finish.car, finish.outcome, now.0, &routes))
        });
        record.0.extend(ended);
    }
}
