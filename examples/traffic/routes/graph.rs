//! The network as the route search sees it: what each road costs, which grows with the number of
//! routes along it.
//!
//! If every car took the way that is fastest on empty roads, a few arterials would jam and the rest
//! stay empty. So the routes are searched in batches, and each batch sees the load that the ones
//! before have put on the roads (incremental assignment, with the volume-delay curve of the US
//! Bureau of Public Roads).

use crate::map::Network;
use crate::model::{Incidence, travel_time};

/// Costs are in tenths of a second.
const PER_SECOND: u64 = 10;

/// Mean wait at a red light that shows for 33 s of 60: 33^2 / (2 x 60) s.
const SIGNAL_WAIT: u64 = 90;

/// Greens last 27 s of 60.
const SIGNAL_PERCENT: u64 = 45;

/// Vehicles an hour that one route stands for: four cars for each intersection, a place for
/// sixteen, five routes from each, and about three and a half trips an hour.
const ROUTE_FLOW: u64 = 46;

/// Beyond four times its capacity a road gets no worse, so that costs stay small.
const HIGHEST_LOAD: u64 = 4_000;

pub struct Edge {
    pub target: u32,
    /// Time to the far end and past its signals, as loaded as the road is.
    pub cost: u32,
    pub closed: bool,
    free_cost: u64,
    /// Vehicles an hour.
    capacity: u64,
    routes: u64,
}

/// The edges of a node stand side by side, in the order of its exits.
pub struct Graph {
    /// The edges of node `n` are `edges[first[n]..first[n + 1]]`.
    first: Vec<u32>,
    edges: Vec<Edge>,
    bans: Bans,
}

/// The edges that may not follow each edge; empty where all turns are allowed.
#[derive(Default)]
struct Bans {
    /// What may not follow edge `e` is `next[first[e]..first[e + 1]]`.
    first: Vec<u32>,
    next: Vec<u32>,
}

impl Graph {
    pub fn new(network: &Network, incidence: &Incidence) -> Self {
        let edges = Vec::with_capacity(network.links.len());
        let mut graph = Self { first: vec![0], edges, bans: Bans::default() };
        for node in 0..network.nodes.len() as u32 {
            let links = incidence.exits(node).iter();
            graph.edges.extend(links.map(|&link| Edge::new(network, link)));
            graph.first.push(graph.edges.len() as u32);
        }
        let number =
            |link: u32| graph.first_exit(network.links[link as usize].from) + u32::from(incidence.exit_number(link));
        graph.bans = Bans::new(graph.edges.len(), network.bans.iter().map(|&(from, to)| (number(from), number(to))));
        graph
    }

    pub fn nodes(&self) -> usize {
        self.first.len() - 1
    }

    pub fn edges(&self) -> usize {
        self.edges.len()
    }

    /// Whether some turns are forbidden.
    pub fn has_bans(&self) -> bool {
        !self.bans.next.is_empty()
    }

    /// The edges that may not follow one, in no order.
    pub fn banned_after(&self, edge: u32) -> &[u32] {
        self.bans.after(edge)
    }

    /// The node that an edge leads to.
    pub fn target(&self, edge: u32) -> u32 {
        self.edges[edge as usize].target
    }

    /// The number of the edge that is exit 0 of a node; the others follow.
    pub fn first_exit(&self, node: u32) -> u32 {
        self.first[node as usize]
    }

    pub fn exits(&self, node: u32) -> impl Iterator<Item = (u8, &Edge)> {
        let range = self.first[node as usize] as usize..self.first[node as usize + 1] as usize;
        self.edges[range].iter().zip(0..).map(|(edge, exit)| (exit, edge))
    }

    /// Puts a route on the roads, given by its first node and the exits that it takes.
    pub fn load(&mut self, start: u32, path: &[u8]) {
        let mut node = start;
        for &exit in path {
            let edge = self.edge_mut(node, exit);
            edge.routes += 1;
            node = edge.target;
        }
    }

    #[cfg(any(test, feature = "game"))]
    pub fn edge(&self, node: u32, exit: u8) -> &Edge {
        &self.edges[self.first[node as usize] as usize + usize::from(exit)]
    }

    /// No search takes a closed road.
    #[cfg(any(test, feature = "game"))]
    pub fn set_closed(&mut self, node: u32, exit: u8, closed: bool) {
        self.edge_mut(node, exit).closed = closed;
    }

    fn edge_mut(&mut self, node: u32, exit: u8) -> &mut Edge {
        &mut self.edges[self.first[node as usize] as usize + usize::from(exit)]
    }

    /// Lets the costs follow the load.
    pub fn update_costs(&mut self) {
        self.edges.iter_mut().for_each(Edge::update_cost);
    }
}

impl Bans {
    /// Of pairs of edges, in a network of so many.
    fn new(edges: usize, pairs: impl Iterator<Item = (u32, u32)>) -> Self {
        let mut pairs: Vec<_> = pairs.collect();
        if pairs.is_empty() {
            return Self::default();
        }
        pairs.sort_unstable();
        let first = (0..=edges as u32).map(|edge| pairs.partition_point(|&(from, _)| from < edge) as u32).collect();
        Self { first, next: pairs.into_iter().map(|(_, to)| to).collect() }
    }

    fn after(&self, edge: u32) -> &[u32] {
        let edge = edge as usize;
        match self.first.get(edge..edge + 2) {
            Some(&[first, end]) => &self.next[first as usize..end as usize],
            _ => &[],
        }
    }
}

impl Edge {
    fn new(network: &Network, link: u32) -> Self {
        let link = &network.links[link as usize];
        let signal = network.nodes[link.to as usize].has_signals();
        let (wait, percent) = if signal { (SIGNAL_WAIT, SIGNAL_PERCENT) } else { (0, 100) };
        let free_cost = u64::from(travel_time(link)) * PER_SECOND + wait;
        let capacity = u64::from(link.lane_flow) * u64::from(link.lanes) * percent / 100;
        let mut edge = Self { target: link.to, cost: 0, closed: false, free_cost, capacity, routes: 0 };
        edge.update_cost();
        edge
    }

    /// 15% more at capacity, and with the fourth power of the load beyond it.
    fn update_cost(&mut self) {
        let load = (self.routes * ROUTE_FLOW * 1_000 / self.capacity.max(1)).min(HIGHEST_LOAD);
        let square = load * load;
        let extra = self.free_cost * 15 * (square / 1_000) * (square / 1_000) / 100_000_000;
        self.cost = (self.free_cost + extra).min(u64::from(u32::MAX / 4)) as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_follow_the_load() {
        let edge = |routes| {
            let mut edge = Edge { target: 0, cost: 0, closed: false, free_cost: 1_000, capacity: 460, routes };
            edge.update_cost();
            edge.cost
        };
        assert_eq!([0, 5, 10, 20].map(edge), [1_000, 1_009, 1_150, 3_400]);
        assert_eq!(edge(1_000), edge(40), "bounded");
    }
}
