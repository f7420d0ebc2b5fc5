//! Scenarios: networks and trips that other programs or people have made.
//!
//! Whatever a file holds, reading it ends with a scenario or one line that says which file, which
//! line and what is wrong there; it takes memory in proportion to what is in the file.

#[cfg(test)]
mod hostile;
mod matsim;
mod nearest;
mod orders;
mod request;
mod roads;
mod sumo;
mod table;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod text;
mod time;
mod trips;
mod xml;

use std::path::PathBuf;

use crate::map::{MapError, Network};
use crate::model::TripRequest;
pub use orders::OrderFile;
use request::Demand;
pub use roads::Names;
use roads::{Keep, Roads};

/// Which files a scenario comes from.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// MATSim's.
    pub network: Option<PathBuf>,
    pub plans: Option<PathBuf>,
    /// SUMO's.
    pub net: Option<PathBuf>,
    pub routes: Vec<PathBuf>,
    /// Ours, for any network.
    pub trips: Option<PathBuf>,
    pub orders: Option<PathBuf>,
}

/// A network, what its file calls the nodes and links, and trips where some are given.
pub struct Scenario {
    pub network: Network,
    pub names: Option<(Names, Names)>,
    pub trips: Option<Vec<TripRequest>>,
    pub orders: OrderFile,
    /// What was left out, one line for each kind of thing.
    pub notes: Vec<String>,
}

impl Files {
    fn has_demand(&self) -> bool {
        self.plans.is_some() || !self.routes.is_empty() || self.trips.is_some()
    }

    /// Reads all of them; `map` reads the network where it is not among them.
    pub fn read(&self, seed: u64, map: impl FnOnce() -> Result<Network, MapError>) -> Result<Scenario, MapError> {
        let mut scenario = self.read_trips(seed, map)?;
        if let Some(orders) = &self.orders {
            scenario.orders = OrderFile::read(orders, &scenario.network)?;
        }
        Ok(scenario)
    }

    fn read_trips(&self, seed: u64, map: impl FnOnce() -> Result<Network, MapError>) -> Result<Scenario, MapError> {
        let Some(roads) = self.roads()? else {
            let network = map()?;
            let demand = self.trips.as_ref().map(|trips| trips::read(trips, &network)).transpose()?;
            return Ok(Scenario::new(network, None, demand));
        };
        let demand = match (&self.plans, &self.trips) {
            (Some(plans), _) => Some(matsim::plans(plans, &roads)?),
            (_, Some(trips)) => Some(trips::read(trips, &roads.network)?),
            _ if self.routes.is_empty() => None,
            _ => Some(sumo::demand(&self.routes, &roads, seed)?),
        };
        let names = Some((roads.node_names(), roads.link_names()));
        Ok(Scenario::new(roads.network, names, demand))
    }

    fn roads(&self) -> Result<Option<Roads>, MapError> {
        let draft = match (&self.network, &self.net) {
            (Some(network), _) => matsim::network(network)?,
            (_, Some(net)) => sumo::net(net, &self.routes)?,
            _ => return Ok(None),
        };
        draft.assemble(if self.has_demand() { Keep::All } else { Keep::Core }).map(Some)
    }
}

/// Seconds after the last departure in which most trips of a scenario end.
const LAST_DRIVE: u32 = 3_600;

impl Scenario {
    /// When the given trips are likely to have ended.
    pub fn end(&self) -> Option<u32> {
        let last = self.trips.as_ref()?.iter().map(|trip| trip.depart).max();
        Some(last.unwrap_or(0) + LAST_DRIVE)
    }

    /// When the given trips begin.
    pub fn departures(&self) -> Vec<u32> {
        self.trips.iter().flatten().map(|trip| trip.depart).collect()
    }

    fn new(network: Network, names: Option<(Names, Names)>, demand: Option<Demand>) -> Self {
        let mut notes = network.unread.clone();
        let trips = demand.map(|demand| {
            notes.extend(demand.notes);
            demand.trips
        });
        Self { network, names, trips, orders: OrderFile::default(), notes }
    }
}
