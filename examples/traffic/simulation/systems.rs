//! One second in four systems, each a sweep that sends messages. What a row does depends on that
//! row alone, and messages are applied when all rows have had their turn: so the city is the same
//! to the bit, whoever sweeps which rows.

use bevy::ecs::system::SystemParam;
use bevy::prelude::{Res, ResMut};
use bevy_affinity::prelude::*;

use super::Now;
use super::entities::{CurrentRoutes, Directory, HasFinished, Number, Plan, Wake};
use crate::model::{Demand, Due, Intersection, Road, SAMPLE_INTERVAL, TravelTimes, Trips};

/// What every row may look at.
#[derive(SystemParam)]
pub struct Scene<'w> {
    plan: Res<'w, Plan>,
    routes: Res<'w, CurrentRoutes>,
    demand: Res<'w, Demand>,
    times: Res<'w, TravelTimes>,
    directory: Res<'w, Directory>,
    now: Res<'w, Now>,
}

/// Cars whose rest is over queue up at their intersections.
pub fn depart(
    mut cars: AffineQuery<(&Number, &mut Due, &mut Trips)>,
    mut intersections: AffineQuery<(&mut Wake, &mut Intersection)>,
    scene: Scene,
) {
    let now = scene.now.0;
    cars.par_iter_mut().scatter(
        &mut intersections,
        |outbox, (number, mut due, mut trips)| {
            if due.0 <= now {
                *due = Due::ON_THE_WAY;
                let (start, departure) = trips.depart(number.0, now, &scene.demand, &scene.routes);
                outbox.send(scene.directory.intersection(start), departure);
            }
        },
        |(mut wake, mut intersection), departure| {
            intersection.depart(departure, &scene.routes);
            wake.0 = now;
        },
    );
}

/// Intersections let cars pass, and tell their neighbours which cars come and which have gone.
pub fn cross(mut intersections: AffineQuery<(&mut Wake, &mut HasFinished, &mut Intersection)>, scene: Scene) {
    let now = scene.now.0;
    intersections.par_iter_mut().scatter_within(
        |outbox, (mut wake, mut has_finished, mut intersection)| {
            if wake.0 <= now {
                let send = |neighbour, message| outbox.send(scene.directory.intersection(neighbour), message);
                wake.0 = intersection.step(now, &scene.routes, send);
                if intersection.has_finished() {
                    has_finished.0 = true;
                }
            }
        },
        |(mut wake, _, mut intersection), message| {
            let can_move_at = intersection.receive(message);
            if can_move_at < wake.0 {
                wake.0 = can_move_at;
            }
        },
    );
}

/// Cars hear that their trips have ended, and rest until the next one.
pub fn arrive(
    mut intersections: AffineQuery<(&mut HasFinished, &mut Intersection)>,
    mut cars: AffineQuery<(&Number, &mut Due, &mut Trips)>,
    scene: Scene,
) {
    let now = scene.now.0;
    intersections.par_iter_mut().scatter(
        &mut cars,
        |outbox, (mut has_finished, mut intersection)| {
            if has_finished.0 {
                has_finished.0 = false;
                for finish in intersection.take_finished() {
                    outbox.send(scene.directory.car(finish.car), finish.outcome);
                }
            }
        },
        |(number, mut due, mut trips), outcome| {
            *due = trips.finish(number.0, outcome, now, &scene.demand, &scene.times);
        },
    );
}

/// Roads hear how many cars are on them: from some of the intersections in each step, so that no
/// step has to ask all.
pub fn sample(intersections: AffineQuery<(&Number, &Intersection)>, mut roads: AffineQuery<&mut Road>, scene: Scene) {
    let now = scene.now.0;
    intersections.par_iter().scatter(
        &mut roads,
        |outbox, (number, intersection)| {
            if (number.0 + now).is_multiple_of(SAMPLE_INTERVAL) {
                let roads = scene.plan.first_road(number.0)..;
                for (road, approach) in roads.zip(intersection.approaches()) {
                    outbox.send(scene.directory.road(road), approach.occupancy());
                }
            }
        },
        |mut road, occupancy| road.occupancy = occupancy,
    );
}

/// The second is over.
pub fn tick(mut now: ResMut<Now>) {
    now.0 += 1;
}
