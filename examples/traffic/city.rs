//! Everything that stays the same while a simulation runs, and the state it starts from.

use std::sync::Arc;

use crate::map::Network;
use crate::model::{Due, Incidence, Intersection, NetworkError, Road, Trips, intersections};
#[cfg(any(test, feature = "game"))]
use crate::routes::Rerouter;
use crate::routes::Routes;

/// A road network with its routes and the number of cars that will use it.
pub struct City {
    pub network: Network,
    /// With all roads open.
    pub routes: Arc<Routes>,
    pub cars: u32,
    pub seed: u64,
    incidence: Incidence,
}

impl City {
    /// `prepare` finds the routes.
    pub fn new(
        network: Network,
        cars: u32,
        seed: u64,
        prepare: impl FnOnce(&Network, &Incidence) -> Result<Routes, NetworkError>,
    ) -> Result<Self, NetworkError> {
        let incidence = Incidence::new(&network)?;
        let routes = Arc::new(prepare(&network, &incidence)?);
        Ok(Self { network, routes, cars, seed, incidence })
    }

    /// All intersections at the start, the roads between them empty.
    pub fn intersections(&self) -> Vec<Intersection> {
        intersections(&self.network, &self.incidence)
    }

    pub fn roads(&self) -> Vec<Road> {
        self.network.links.iter().map(Road::new).collect()
    }

    pub fn first_departures(&self) -> Vec<Due> {
        (0..self.cars).map(|car| Due::first(car, self.seed)).collect()
    }

    pub fn first_trips(&self) -> Vec<Trips> {
        (0..self.cars).map(|car| Trips::first(car, self.cars, &self.routes)).collect()
    }

    /// Where a road begins: the intersection and the number of the exit.
    #[cfg(any(test, feature = "game"))]
    pub fn road_start(&self, road: u32) -> (u32, u8) {
        (self.network.links[road as usize].from, self.incidence.exit_number(road))
    }

    #[cfg(any(test, feature = "game"))]
    pub fn rerouter(&self) -> Rerouter {
        Rerouter::new(&self.network, &self.incidence, &self.routes)
    }

    /// The first of the roads that lead to an intersection, in the order of its approaches.
    pub fn first_road(&self, node: u32) -> u32 {
        self.incidence.approaches(node).start
    }
}
