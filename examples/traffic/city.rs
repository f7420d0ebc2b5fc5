//! Everything that stays the same while a simulation runs, and the state it starts from.

use std::cell::LazyCell;
use std::ops::Range;
use std::sync::Arc;

use indicatif::ProgressBar;

use crate::map::{Control, Network};
use crate::model::{
    Day, Demand, Due, Incidence, Intersection, LinkState, MORNING, NetworkError, Order, PARTS, PATIENCE, PlannedTrips,
    Refusal, Road, Rules, TripRequest, Trips, drive_time, intersections,
};
#[cfg(feature = "game")]
use crate::model::{Timing, green_wave_along};
use crate::routes::{self, Planned, Rerouter, Routes};

/// Seconds between two trips of a car, in the busiest hour: enough for it to be somewhere else.
pub const RESTS: Range<u32> = 1_800..5_400;

/// Seconds between two times at which some drivers look for other ways.
pub const REPLANS: u32 = 900;

/// How cars travel: how many, when, and how patiently.
#[derive(Clone, Debug)]
pub struct Travel {
    /// As many as the roads carry, where it is not said.
    pub cars: Option<u32>,
    pub seed: u64,
    /// Seconds after midnight.
    pub start: u32,
    pub rests: Range<u32>,
    /// Seconds after which a car pushes into a full road.
    pub patience: u32,
    /// Seconds after which some drivers look for other ways; `None` for never.
    pub replans: Option<u32>,
}

impl Default for Travel {
    fn default() -> Self {
        Self { cars: None, seed: 1, start: MORNING, rests: RESTS, patience: PATIENCE, replans: Some(REPLANS) }
    }
}

/// A road network with its routes and the number of cars that will use it.
pub struct City {
    pub network: Network,
    /// With all roads open.
    pub routes: Arc<Routes>,
    pub cars: u32,
    /// How many cars the roads carry without lasting jams.
    pub carries: u32,
    pub seed: u64,
    pub day: Day,
    travel: Travel,
    planned: Option<Arc<PlannedTrips>>,
    /// Trips that were asked for, but end where they begin or have no way.
    pub left_out: u32,
    incidence: Incidence,
}

impl City {
    /// `prepare` finds the routes.
    pub fn new(
        network: Network,
        travel: Travel,
        prepare: impl FnOnce(&Network, &Incidence) -> Result<Routes, NetworkError>,
    ) -> Result<Self, NetworkError> {
        let incidence = Incidence::new(&network)?;
        let routes = Arc::new(prepare(&network, &incidence)?);
        let carries = carries(&network, &incidence, &routes, &travel.rests);
        Ok(Self {
            network,
            routes,
            cars: travel.cars.unwrap_or(carries),
            carries,
            seed: travel.seed,
            day: Day::starting_at(travel.start),
            travel,
            planned: None,
            left_out: 0,
            incidence,
        })
    }

    /// A city with these trips and no others.
    pub fn with_trips(
        network: Network,
        travel: Travel,
        requests: &[TripRequest],
        progress: &ProgressBar,
    ) -> Result<Self, NetworkError> {
        let mut planned = None;
        let mut city = Self::new(network, travel, |network, incidence| {
            let Planned { routes, trips, left_out } = routes::plan(network, incidence, requests, progress)?;
            planned = Some((trips, left_out));
            Ok(routes)
        })?;
        if let Some((trips, left_out)) = planned {
            (city.cars, city.carries, city.left_out) = (trips.cars(), u32::MAX, left_out);
            city.planned = Some(Arc::new(trips));
        }
        Ok(city)
    }

    /// All intersections at the start, the roads between them empty.
    pub fn intersections(&self) -> Vec<Intersection> {
        let all = intersections(&self.network, &self.incidence);
        all.into_iter().map(|intersection| intersection.with_patience(self.travel.patience)).collect()
    }

    pub fn roads(&self) -> Vec<Road> {
        self.network.links.iter().map(Road::new).collect()
    }

    /// What decides about trips, at the start.
    pub fn demand(&self) -> Demand {
        match &self.planned {
            Some(planned) => Demand::planned(self.seed, self.day, Arc::clone(planned)),
            None => Demand::endless(self.seed, self.day, self.travel.rests.clone()),
        }
    }

    pub fn first_departures(&self) -> Vec<Due> {
        let demand = self.demand();
        (0..self.cars).map(|car| Due::first(car, &demand)).collect()
    }

    pub fn first_trips(&self) -> Vec<Trips> {
        (0..self.cars).map(|car| Trips::first(car, self.cars, &self.routes)).collect()
    }

    /// Whether it takes these orders from its start on; a refusal comes with the place of its
    /// order.
    pub fn check(&self, orders: &[(u32, Order)]) -> Result<(), (usize, Refusal)> {
        let lit = LazyCell::new(|| self.intersections().iter().map(Intersection::has_signals).collect::<Vec<_>>());
        Order::check_all(orders, [], &self.network, |node| lit[node as usize])
    }

    /// Visits the links that lead to an intersection.
    pub fn visit_links(&self, node: u32, intersection: &Intersection, now: u32, visit: &mut dyn FnMut(u32, LinkState)) {
        for (road, approach) in (self.first_road(node)..).zip(intersection.approaches()) {
            let (left, occupancy) = (u64::from(approach.passed.cars), approach.occupancy());
            let driven = left * u64::from(drive_time(&self.network.links[road as usize]));
            let state = LinkState {
                entered: left + u64::from(occupancy),
                left,
                parts_spent: driven + approach.passed.waited * u64::from(PARTS),
                occupancy,
                queued: approach.queued(now),
            };
            visit(road, state);
        }
    }

    /// The rules of an intersection with signals put up, or taken away.
    pub fn rules(&self, node: u32, has_signals: bool) -> Rules {
        let control = if has_signals { Control::Signals } else { Control::Priority };
        Rules::new(&self.network, &self.incidence, node, control, 0)
    }

    /// The roads that begin at an intersection.
    #[cfg(feature = "game")]
    pub fn exits(&self, node: u32) -> &[u32] {
        self.incidence.exits(node)
    }

    /// A green wave from the intersection where a road begins, along that road: the next signals
    /// and their timings.
    #[cfg(feature = "game")]
    pub fn green_wave(&self, exit: u32, timing: Timing, has_signals: impl Fn(u32) -> bool) -> Vec<(u32, Timing)> {
        green_wave_along(&self.network, &self.incidence, (exit, timing), has_signals)
    }

    /// Where a road begins: the intersection and the number of the exit.
    pub fn road_start(&self, road: u32) -> (u32, u8) {
        (self.network.links[road as usize].from, self.incidence.exit_number(road))
    }

    /// Finds other ways than the present ones.
    pub fn rerouter(&self, routes: Arc<Routes>) -> Rerouter {
        Rerouter::new(&self.network, &self.incidence, routes)
    }

    /// Closes or reopens a road for those who set out later: see [`Rerouter`].
    pub fn set_closed(&self, rerouter: &mut Rerouter, road: u32, closed: bool) {
        rerouter.set_closed(&self.network, &self.incidence, self.road_start(road), closed);
    }

    /// Lets drivers look for other ways: see [`Rerouter::replan`].
    pub fn replan(&self, rerouter: &mut Rerouter, waits: &[Option<u32>]) {
        rerouter.replan(&self.network, &self.incidence, waits);
    }

    /// Seconds between two times at which drivers look for other ways. Those whose trips were asked
    /// for keep to them.
    pub fn replans_every(&self) -> Option<u32> {
        self.travel.replans.filter(|_| self.planned.is_none())
    }

    /// The first of the roads that lead to an intersection, in the order of its approaches.
    pub fn first_road(&self, node: u32) -> u32 {
        self.incidence.approaches(node).start
    }
}

/// Cars whose trips, one after another, are as many as the roads carry in the busiest hour.
fn carries(network: &Network, incidence: &Incidence, routes: &Routes, rests: &Range<u32>) -> u32 {
    let (count, seconds) =
        routes.all().fold((0.0, 0.0), |(count, seconds), route| (count + 1.0, seconds + f64::from(route.free_time)));
    let rest = f64::from(rests.start) / 2.0 + f64::from(rests.end) / 2.0;
    // Signals and queues take a third of the free time more.
    let cycle = rest + seconds / f64::max(count, 1.0) * 4.0 / 3.0;
    let cars = routes::trips_an_hour(network, incidence, routes) / 3_600.0 * cycle;
    (cars.round() as u32).clamp(1, MOST_CARS)
}

/// Most cars in a city: enough that their numbers fit wherever the model stores them.
pub const MOST_CARS: u32 = 100_000_000;
