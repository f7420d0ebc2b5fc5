//! One second in four systems, each a call that visits the rows that are due and sends messages.
//! What a row does depends on that row alone, and messages are applied when all rows have had their
//! turn: so the city is the same to the bit, whichever worker visits which rows. Cars at rest, cars
//! on the road and intersections at which nothing can move cost nothing.

use bevy::ecs::system::SystemParam;
use bevy::prelude::{Entity, Res};
use bevy_affinity::prelude::{AffineQuery, Agenda};

use super::Now;
use super::entities::{Arrivals, Crossings, CurrentRoutes, Departures, Directory, Number, Plan, Samples, time};
use super::record::Record;
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
    mut departures: Agenda<Departures>,
    mut intersections: AffineQuery<(Entity, &mut Intersection)>,
    crossings: Agenda<Crossings>,
    scene: Scene,
) {
    let now = scene.now.0;
    cars.par_iter_mut().due(&mut departures, time(now)).scatter(
        &mut intersections,
        |outbox, (number, mut due, mut trips)| {
            *due = Due::ON_THE_WAY;
            let (start, departure) = trips.depart(number.0, now, &scene.demand, &scene.routes);
            outbox.send(scene.directory.intersection(start), departure);
            None
        },
        |(entity, mut intersection), departure| {
            intersection.depart(departure, &scene.routes);
            crossings.wake(entity, time(now));
            None
        },
    );
}

/// Intersections let cars pass, and tell their neighbours which cars come and which have gone.
pub fn cross(
    mut intersections: AffineQuery<(Entity, &mut Intersection)>,
    mut crossings: Agenda<Crossings>,
    arrivals: Agenda<Arrivals>,
    scene: Scene,
) {
    let now = scene.now.0;
    intersections.par_iter_mut().due(&mut crossings, time(now)).scatter_within(
        |outbox, (entity, mut intersection)| {
            let send = |neighbour, message| outbox.send(scene.directory.intersection(neighbour), message);
            let next = intersection.step(now, &scene.routes, send);
            if intersection.has_finished() {
                arrivals.wake(entity, time(now));
            }
            Some(time(next))
        },
        |(_, mut intersection), message| Some(time(intersection.receive(message))),
    );
}

/// Cars hear that their trips have ended, and rest until the next one.
pub fn arrive(
    mut intersections: AffineQuery<&mut Intersection>,
    mut arrivals: Agenda<Arrivals>,
    mut cars: AffineQuery<(Entity, &Number, &mut Due, &mut Trips)>,
    departures: Agenda<Departures>,
    (scene, record): (Scene, Option<Res<Record>>),
) {
    let now = scene.now.0;
    intersections.par_iter_mut().due(&mut arrivals, time(now)).scatter(
        &mut cars,
        |outbox, mut intersection| {
            for finish in intersection.take_finished() {
                outbox.send(scene.directory.car(finish.car), finish.outcome);
            }
            None
        },
        |(entity, number, mut due, mut trips), outcome| {
            if let Some(record) = &record {
                record.add(trips.ended(number.0, outcome, now, &scene.routes));
            }
            *due = trips.finish(number.0, outcome, now, &scene.demand, &scene.times);
            departures.wake(entity, time(due.0));
            None
        },
    );
}

/// Roads hear how many cars are on them: from some of the intersections in each step, so that no
/// step has to ask all.
pub fn sample(
    intersections: AffineQuery<(&Number, &Intersection)>,
    mut samples: Agenda<Samples>,
    mut roads: AffineQuery<&mut Road>,
    scene: Scene,
) {
    let now = scene.now.0;
    intersections.par_iter().due(&mut samples, time(now)).scatter(
        &mut roads,
        |outbox, (number, intersection)| {
            let roads = scene.plan.first_road(number.0)..;
            for (road, approach) in roads.zip(intersection.approaches()) {
                outbox.send(scene.directory.road(road), approach.occupancy());
            }
            Some(time(now + SAMPLE_INTERVAL))
        },
        |mut road, occupancy| {
            road.occupancy = occupancy;
            None
        },
    );
}
