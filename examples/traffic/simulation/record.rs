//! Remembers the trips that end, while a caller asks for them.

use bevy::app::App;
use bevy::prelude::{IntoScheduleConfigs, Query, Res, ResMut, Resource};

use super::entities::{CurrentRoutes, Directory, Plan};
use super::systems::{arrive, cross};
use super::{Now, Step};
use crate::model::{EndedTrip, Intersection, Trips};

/// The trips that have ended since they were last taken.
#[derive(Resource, Default)]
pub struct Record(pub Vec<EndedTrip>);

/// Remembers trips from now on.
pub fn start(app: &mut App) {
    if !app.world().contains_resource::<Record>() {
        app.init_resource::<Record>().add_systems(Step, note_ended.after(cross).before(arrive));
    }
}

/// Runs before the cars hear that their trips have ended.
fn note_ended(
    mut record: ResMut<Record>,
    intersections: Query<&Intersection>,
    cars: Query<&Trips>,
    (plan, directory, routes, now): (Res<Plan>, Res<Directory>, Res<CurrentRoutes>, Res<Now>),
) {
    for node in 0..plan.network.nodes.len() as u32 {
        let Ok(intersection) = intersections.get(directory.intersection(node)) else { continue };
        let ended = intersection.finished().iter().filter_map(|finish| {
            let trips = cars.get(directory.car(finish.car)).ok()?;
            Some(trips.ended(finish.car, finish.outcome, now.0, &routes))
        });
        record.0.extend(ended);
    }
}
