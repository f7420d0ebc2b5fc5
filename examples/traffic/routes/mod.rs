//! The prepared set of routes that cars draw from. Routing is done before the first step, so that
//! it is neither measured nor able to make a run depend on timing.
//!
//! A search from every place (in parallel, ended as soon as its few destinations are reached) was
//! chosen over contraction hierarchies: trips are local, so a search sees a small part of the map,
//! and there is nothing to prepare first.

mod cache;
mod capacity;
mod graph;
mod places;
mod planned;
mod replan;
mod reroute;
mod search;

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use indicatif::ProgressBar;
use rayon::prelude::*;

use crate::hash::below;
use crate::map::Network;
use crate::model::{Incidence, MOST_ROADS, NetworkError, PARTS, drive_time};
pub use cache::folder as cache_folder;
pub use capacity::trips_an_hour;
use graph::Graph;
use places::Places;
pub use planned::{Planned, plan};
pub use reroute::Rerouter;
use search::{Search, Turns};

/// In the place of the next exit: the car has arrived.
pub const ARRIVE: u8 = u8::MAX;

/// In the place of an exit to a closed road: the way goes on elsewhere in the hops.
pub const DETOUR: u8 = MOST_ROADS;

/// Rounds of searching and loading: each adds a tenth of the traffic.
const BATCHES: usize = 10;

/// Most roads that the routes may have on average: 8 km of 16 m each. Those of New York have 59. A
/// map that is one ring would take memory with the square of its size.
const HOPS_PER_ROUTE: u64 = 500;

/// What any map may have, in all routes together: the average of a few routes says little.
const HOPS_ANYWAY: u64 = 4 << 20;

/// A destination and the exits to take on the way to it.
type Found = (u32, Vec<u8>);

/// A route as a car sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The place where it ends.
    pub destination: u32,
    /// Where it begins in the hops of all routes.
    pub cursor: u32,
    /// Seconds that it takes when nothing holds the car up.
    pub free_time: u32,
    pub metres: u32,
}

/// Shortest routes from place to place. Every place is the start of at least one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Routes {
    /// The intersection of each place.
    nodes: Vec<u32>,
    /// The routes from place `p` are `routes[first[p]..first[p + 1]]`.
    first: Vec<u32>,
    routes: Vec<Route>,
    /// For each route the number of the exit to take at each of its intersections, then [`ARRIVE`].
    /// One byte a hop: all routes of a large city stay in a core's cache.
    hops: Vec<u8>,
    /// Where the way goes on for each [`DETOUR`] among the hops.
    detours: HashMap<u32, u32>,
}

impl Routes {
    /// The routes of a network, from the folder `cache` if they are there, else searched and stored
    /// there. `warn` is told if they cannot be stored.
    pub fn prepare(
        network: &Network,
        incidence: &Incidence,
        cache: &Path,
        progress: &ProgressBar,
        warn: impl FnOnce(&str),
    ) -> Result<Self, NetworkError> {
        let key = cache::key(network);
        let file = cache::file(cache, key);
        if let Some(routes) = cache::read(&file, key) {
            return Ok(routes);
        }
        let routes = Self::search(network, incidence, progress)?;
        if let Err(error) = cache::write(&file, key, &routes) {
            warn(&format!("warning: the routes could not be kept in {}: {error}", file.display()));
        }
        Ok(routes)
    }

    /// Searches all routes, on all of rayon's threads. The result does not depend on their number.
    pub fn search(network: &Network, incidence: &Incidence, progress: &ProgressBar) -> Result<Self, NetworkError> {
        let places = places::choose(network);
        let mut graph = Graph::new(network, incidence);
        progress.set_length(places.len() as u64);
        let mut by_place = vec![Vec::new(); places.len()];
        let allowance = Allowance::new(places.len() * places::ROUTES_PER_PLACE, HOPS_PER_ROUTE);
        for batch in 0..BATCHES {
            for (place, paths) in search_batch(&graph, &places, batch, &allowance, progress) {
                paths.iter().for_each(|(_, path)| graph.load(places.node(place), path));
                by_place[place as usize] = paths;
            }
            if allowance.is_used_up() {
                return Err(allowance.refusal(network));
            }
            graph.update_costs();
        }
        Ok(Self::collect(network, incidence, places.into_nodes(), by_place))
    }

    fn collect(network: &Network, incidence: &Incidence, nodes: Vec<u32>, by_place: Vec<Vec<Found>>) -> Self {
        let mut routes = Self { nodes, first: vec![0], ..Self::default() };
        for (place, found) in by_place.into_iter().enumerate() {
            for (destination, path) in found {
                let (free_time, metres) = drive(network, incidence, routes.nodes[place], &path);
                let cursor = routes.append(&path);
                routes.routes.push(Route { destination, cursor, free_time, metres });
            }
            routes.first.push(routes.routes.len() as u32);
        }
        routes
    }

    /// Adds the hops of a way and returns where they begin.
    fn append(&mut self, path: &[u8]) -> u32 {
        let cursor = self.hops.len() as u32;
        self.hops.extend(path);
        self.hops.push(ARRIVE);
        cursor
    }

    pub fn places(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// Hops alone, for tests that have no need of places.
    #[cfg(test)]
    pub fn from_hops(hops: Vec<u8>) -> Self {
        Self { hops, ..Self::default() }
    }

    pub fn node(&self, place: u32) -> u32 {
        self.nodes[place as usize]
    }

    /// One of the routes that start at a place.
    pub fn choose(&self, place: u32, choice: u64) -> Route {
        let routes = self.from(place);
        routes[below(choice, routes.len() as u32) as usize]
    }

    pub fn all(&self) -> impl Iterator<Item = &Route> {
        self.routes.iter()
    }

    pub fn from(&self, place: u32) -> &[Route] {
        let place = place as usize;
        &self.routes[self.first[place] as usize..self.first[place + 1] as usize]
    }

    /// The place where a route starts, by its number among all, and the route.
    pub fn numbered(&self, number: u32) -> (u32, Route) {
        let place = self.first.partition_point(|&first| first <= number) - 1;
        (place as u32, self.routes[number as usize])
    }

    /// The links along a route.
    pub fn links(
        &self,
        incidence: &Incidence,
        network: &Network,
        place: u32,
        route: &Route,
    ) -> impl Iterator<Item = u32> {
        let (mut node, mut cursor) = (self.node(place), route.cursor);
        std::iter::from_fn(move || {
            let (here, exit) = self.next(cursor);
            let link = *incidence.exits(node).get(usize::from(exit))?;
            (node, cursor) = (network.links[link as usize].to, here + 1);
            Some(link)
        })
    }

    /// The exit to take, or [`ARRIVE`], and where that stands: not at `cursor` if the way was
    /// closed there. Detours may be closed too, each by a later closure than the last.
    #[inline]
    pub fn next(&self, mut cursor: u32) -> (u32, u8) {
        loop {
            match self.hops[cursor as usize] {
                DETOUR => cursor = self.detours[&cursor],
                exit => return (cursor, exit),
            }
        }
    }
}

/// How many hops the routes of a map may have, and have by now.
struct Allowance {
    most: u64,
    used: AtomicU64,
}

impl Allowance {
    /// For so many routes, with so many hops on average.
    fn new(routes: usize, hops: u64) -> Self {
        let most = (routes as u64).saturating_mul(hops).saturating_add(HOPS_ANYWAY);
        // Cursors have 32 bits.
        Self { most: most.min(u32::MAX.into()), used: AtomicU64::new(0) }
    }

    fn use_up<'a>(&self, paths: impl Iterator<Item = &'a Vec<u8>>) {
        let hops: usize = paths.map(|path| path.len() + 1).sum();
        self.used.fetch_add(hops as u64, Ordering::Relaxed);
    }

    fn is_used_up(&self) -> bool {
        self.used.load(Ordering::Relaxed) > self.most
    }

    fn refusal(&self, network: &Network) -> NetworkError {
        NetworkError::LongRoutes { network: network.name.clone(), most: self.most }
    }
}

/// The routes from every [`BATCHES`]th place, beginning with place number `batch`; none any more
/// once the allowance is used up.
fn search_batch(
    graph: &Graph,
    places: &Places,
    batch: usize,
    allowance: &Allowance,
    progress: &ProgressBar,
) -> Vec<(u32, Vec<Found>)> {
    let from_place = |search: &mut Search, place: usize| {
        let place = place as u32;
        if allowance.is_used_up() {
            return (place, Vec::new());
        }
        let destinations = places.destinations(place);
        let goals: Vec<u32> = destinations.iter().map(|&destination| places.node(destination)).collect();
        let mut paths = search.run(graph, places.node(place), &goals, Turns::Allowed);
        // Every place needs a route: where signs forbid all of them, they are not heeded.
        if paths.iter().all(Option::is_none) {
            paths = search.run(graph, places.node(place), &goals, Turns::All);
        }
        progress.inc(1);
        let found = destinations.into_iter().zip(paths);
        let found: Vec<Found> = found.filter_map(|(destination, path)| Some((destination, path?))).collect();
        allowance.use_up(found.iter().map(|(_, path)| path));
        (place, found)
    };
    let batch = (batch..places.len()).into_par_iter().step_by(BATCHES);
    batch.map_init(|| Search::new(graph), from_place).collect()
}

/// Seconds along a path on empty roads, and metres.
fn drive(network: &Network, incidence: &Incidence, start: u32, path: &[u8]) -> (u32, u32) {
    let (mut node, mut parts, mut decimetres) = (start, 0_u64, 0_u64);
    for &exit in path {
        let link = &network.links[incidence.exits(node)[usize::from(exit)] as usize];
        node = link.to;
        parts += u64::from(drive_time(link));
        decimetres += u64::from(link.length_dm);
    }
    let number = |value: u64| value.min(u64::from(u32::MAX / 4)) as u32;
    (number(parts.div_ceil(PARTS.into())), number(decimetres / 10))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::{Control, Link, Node};
    use crate::model;
    use crate::tests::grid;

    /// One-way streets of so many decimetres: every way back leads all around.
    pub fn ring(nodes: u32, length_dm: u32) -> Network {
        let link = |from: u32| Link::new(from, (from + 1) % nodes, length_dm, 1, 5);
        let mut links: Vec<Link> = (0..nodes).map(link).collect();
        links.sort_unstable_by_key(|link| link.to);
        let nodes = (0..nodes).map(|_| Node::new(0.0, 0.0, Control::Priority)).collect();
        Network::new("ring", nodes, links)
    }

    #[test]
    fn routes_that_would_take_all_memory_are_refused() {
        let network = ring(40_000, u32::MAX);
        let incidence = Incidence::new(&network).unwrap();
        let error = Routes::search(&network, &incidence, &ProgressBar::hidden()).unwrap_err().to_string();
        assert!(error.starts_with("ring: too far from place to place"), "{error}");
    }

    #[test]
    fn every_route_leads_to_its_destination() {
        let network = grid(12);
        let incidence = Incidence::new(&network).unwrap();
        let routes = Routes::search(&network, &incidence, &ProgressBar::hidden()).unwrap();
        let intersections = model::intersections(&network, &incidence);
        for place in 0..routes.places() {
            assert!(!routes.from(place).is_empty());
            for route in routes.from(place) {
                let (mut node, mut cursor, mut time) = (routes.node(place), route.cursor, 0);
                while let (_, hop) = routes.next(cursor)
                    && hop != ARRIVE
                {
                    let exit = &intersections[node as usize].exits()[usize::from(hop)];
                    (node, cursor, time) = (exit.target, cursor + 1, time + exit.drive_time);
                }
                assert_eq!(time.div_ceil(PARTS), route.free_time);
                assert_eq!(node, routes.node(route.destination));
                assert_ne!(route.destination, place);
            }
        }
    }
}
