//! Ways around closed roads.
//!
//! A car under way learns of a closure where the closed road begins, and takes a detour from there;
//! who sets out later knows of it and takes another route from the start. So the hops that lead
//! onto a closed road become detours, the routes that meet one are replaced, and everything else
//! stays as it is: nothing has to look at the cars.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::graph::Graph;
use super::search::{Search, Turns};
use super::{ARRIVE, DETOUR, Route, Routes, drive};
use crate::map::Network;
use crate::model::Incidence;

/// An intersection and one of its exits: a road by where it begins.
type Road = (u32, u8);

/// One hop of a way.
#[derive(Clone, Copy)]
pub(super) struct Hop {
    pub(super) cursor: u32,
    pub(super) road: Road,
}

/// The routes, as they are with some roads closed.
#[derive(Clone)]
pub struct Rerouter {
    /// As they are with all roads open.
    pub(super) open: Vec<Route>,
    pub(super) routes: Arc<Routes>,
    pub(super) graph: Graph,
    pub(super) search: Search,
    /// How many hops there were at first.
    pub(super) first_hops: usize,
    /// The node and the cursor at which each way in the hops begins.
    ways: Vec<(u32, u32)>,
    /// The road that each detour goes around.
    avoided: BTreeMap<u32, Road>,
}

impl Rerouter {
    pub fn new(network: &Network, incidence: &Incidence, routes: Arc<Routes>) -> Self {
        let graph = Graph::new(network, incidence);
        let search = Search::new(&graph);
        let all = &*routes;
        let from = |place| all.from(place).iter().map(move |route| (all.node(place), route.cursor));
        let ways = (0..routes.places()).flat_map(from).collect();
        let open = routes.routes.clone();
        let first_hops = routes.hops.len();
        let mut rerouter = Self { open, routes, first_hops, graph, search, ways, avoided: BTreeMap::new() };
        rerouter.load();
        rerouter
    }

    /// The routes from now on.
    pub fn routes(&self) -> Arc<Routes> {
        Arc::clone(&self.routes)
    }

    /// Closes or reopens a road.
    pub fn set_closed(&mut self, network: &Network, incidence: &Incidence, (node, exit): Road, closed: bool) {
        self.graph.set_closed(node, exit, closed);
        self.lift_detours();
        self.go_around(network, incidence);
    }

    /// Lets no way lead onto a closed road that has another.
    pub(super) fn go_around(&mut self, network: &Network, incidence: &Incidence) {
        self.add_detours();
        self.replace_routes(network, incidence);
    }

    /// Roads cost what they cost with the usual traffic on them.
    fn load(&mut self) {
        for &(node, cursor) in &self.ways {
            let path = &self.routes.hops[cursor as usize..];
            let length = path.iter().position(|&hop| hop == ARRIVE).unwrap_or(path.len());
            self.graph.load(node, &path[..length]);
        }
        self.graph.update_costs();
    }

    /// Detours around roads that are open again end.
    fn lift_detours(&mut self) {
        let Self { avoided, graph, routes, .. } = self;
        let routes = Arc::make_mut(routes);
        avoided.retain(|&cursor, &mut (node, exit)| {
            let closed = graph.edge(node, exit).closed;
            if !closed {
                routes.hops[cursor as usize] = exit;
                routes.detours.remove(&cursor);
            }
            closed
        });
    }

    /// Every hop onto a closed road becomes a detour to the same destination, where there is one.
    fn add_detours(&mut self) {
        let mut by_start: BTreeMap<u32, BTreeMap<u32, Vec<Hop>>> = BTreeMap::new();
        for &way in &self.ways {
            let blocked = self.hops(way).filter(|hop| self.is_closed(hop) && !self.avoided.contains_key(&hop.cursor));
            for hop in blocked {
                by_start.entry(hop.road.0).or_default().entry(self.end(way)).or_default().push(hop);
            }
        }
        for (node, by_destination) in by_start {
            let destinations: Vec<u32> = by_destination.keys().copied().collect();
            let paths = self.search.run(&self.graph, node, &destinations, Turns::Allowed);
            for (path, hops) in paths.into_iter().zip(by_destination.into_values()) {
                if let Some(path) = path.filter(|path| leads_on(path)) {
                    self.detour(node, &path, &hops);
                }
            }
        }
    }

    fn detour(&mut self, node: u32, path: &[u8], hops: &[Hop]) {
        let cursor = self.add_way(node, path);
        let routes = Arc::make_mut(&mut self.routes);
        for hop in hops {
            routes.hops[hop.cursor as usize] = DETOUR;
            routes.detours.insert(hop.cursor, cursor);
            self.avoided.insert(hop.cursor, hop.road);
        }
    }

    /// New trips do not begin with a way that is closed somewhere, if there is another. Their
    /// length is that of the other way, their free time stays the original's: what they take longer
    /// is a delay, as it is for cars that meet the closed road.
    fn replace_routes(&mut self, network: &Network, incidence: &Incidence) {
        for place in 0..self.routes.places() {
            for number in self.routes.first[place as usize]..self.routes.first[place as usize + 1] {
                let number = number as usize;
                let node = self.routes.node(place);
                let original = self.open[number];
                if self.is_open(node, original.cursor) {
                    self.set_route(number, original);
                } else if !self.is_open(node, self.routes.routes[number].cursor)
                    && let Some(path) = self.find(node, self.routes.node(original.destination))
                {
                    let (_, metres) = drive(network, incidence, node, &path);
                    let cursor = self.add_way(node, &path);
                    self.set_route(number, Route { cursor, metres, ..original });
                }
            }
        }
    }

    /// Copies nothing where a route stays as it is: somebody may hold all of them.
    pub(super) fn set_route(&mut self, number: usize, route: Route) {
        if self.routes.routes[number] != route {
            Arc::make_mut(&mut self.routes).routes[number] = route;
        }
    }

    fn find(&mut self, start: u32, goal: u32) -> Option<Vec<u8>> {
        self.search.run(&self.graph, start, &[goal], Turns::Allowed).pop()?.filter(|path| leads_on(path))
    }

    pub(super) fn add_way(&mut self, node: u32, path: &[u8]) -> u32 {
        let cursor = Arc::make_mut(&mut self.routes).append(path);
        self.ways.push((node, cursor));
        cursor
    }

    pub(super) fn is_open(&self, node: u32, cursor: u32) -> bool {
        !self.hops((node, cursor)).any(|hop| self.is_closed(&hop))
    }

    fn is_closed(&self, hop: &Hop) -> bool {
        self.graph.edge(hop.road.0, hop.road.1).closed
    }

    /// The node at which a way ends.
    fn end(&self, way: (u32, u32)) -> u32 {
        self.hops(way).last().map_or(way.0, |hop| self.graph.edge(hop.road.0, hop.road.1).target)
    }

    /// The hops of a way as they were before any closure.
    pub(super) fn hops(&self, (mut node, mut cursor): (u32, u32)) -> impl Iterator<Item = Hop> {
        std::iter::from_fn(move || {
            let exit = match self.routes.hops[cursor as usize] {
                ARRIVE => return None,
                DETOUR => self.avoided[&cursor].1,
                exit => exit,
            };
            let hop = Hop { cursor, road: (node, exit) };
            (node, cursor) = (self.graph.edge(node, exit).target, cursor + 1);
            Some(hop)
        })
    }
}

/// Whether it is a way: from a place to itself, as in a round trip, the shortest has no road.
fn leads_on(path: &[u8]) -> bool {
    !path.is_empty()
}

#[cfg(test)]
mod tests {
    use indicatif::ProgressBar;

    use super::*;
    use crate::tests::grid;

    #[test]
    fn ways_around_closed_roads_have_their_own_length() {
        let network = grid(6);
        let incidence = Incidence::new(&network).unwrap();
        let open = Arc::new(Routes::search(&network, &incidence, &ProgressBar::hidden()).unwrap());
        let mut rerouter = Rerouter::new(&network, &incidence, Arc::clone(&open));
        let mut set_closed = |closed| {
            for road in (0..network.links.len() as u32).step_by(7) {
                let begin = (network.links[road as usize].from, incidence.exit_number(road));
                rerouter.set_closed(&network, &incidence, begin, closed);
            }
            rerouter.routes()
        };
        let closed = set_closed(true);
        let mut longer = 0;
        for place in 0..open.places() {
            for (before, route) in open.from(place).iter().zip(closed.from(place)) {
                let links = closed.links(&incidence, &network, place, route);
                assert_eq!(route.metres, links.map(|link| network.links[link as usize].length_dm / 10).sum::<u32>());
                assert_eq!(route.free_time, before.free_time);
                longer += u32::from(route.metres > before.metres);
            }
        }
        assert!(longer > 0, "some are longer than with all roads open");
        assert!(set_closed(false).all().eq(open.all()));
    }
}
