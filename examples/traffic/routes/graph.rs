//! The network as the route search sees it: what each road costs, which grows with the number of
//! routes along it.
//!
//! If every car took the way that is fastest on empty roads, a few arterials would jam and the rest
//! stay empty. So the routes are searched in batches, and each batch sees the load that the ones
//! before have put on the roads (incremental assignment, with the volume-delay curve of the US
//! Bureau of Public Roads).

use crate::map::Network;
use crate::model::{Incidence, PARTS, capacities, drive_time};

/// Costs are in tenths of a second.
const PER_SECOND: u64 = 10;

/// Mean wait at a red light that shows for 33 s of 60: 33^2 / (2 x 60) s.
const SIGNAL_WAIT: u64 = 90;

/// What the fullest road carries, in thousandths of its capacity. How much traffic there is, nobody
/// knows here; the routes are those that let the most of it flow.
const HIGHEST_LOAD: u64 = 1_500;

/// So that the costs of a whole route fit.
const HIGHEST_COST: u64 = u32::MAX as u64 / 4;

#[derive(Clone)]
pub struct Edge {
    pub target: u32,
    /// Time to the far end and past its signals, as loaded as the road is.
    pub cost: u32,
    pub closed: bool,
    /// With a mean wait at the signals.
    free_cost: u64,
    drive: u64,
    /// Vehicles an hour.
    capacity: u64,
    routes: u64,
}

/// The edges of a node stand side by side, in the order of its exits.
#[derive(Clone)]
pub struct Graph {
    /// The edges of node `n` are `edges[first[n]..first[n + 1]]`.
    first: Vec<u32>,
    edges: Vec<Edge>,
    bans: Bans,
}

/// The edges that may not follow each edge; empty where all turns are allowed.
#[derive(Clone, Default)]
struct Bans {
    /// What may not follow edge `e` is `next[first[e]..first[e + 1]]`.
    first: Vec<u32>,
    next: Vec<u32>,
}

impl Graph {
    pub fn new(network: &Network, incidence: &Incidence) -> Self {
        let edges = Vec::with_capacity(network.links.len());
        let mut graph = Self { first: vec![0], edges, bans: Bans::default() };
        let capacities = capacities(network, incidence);
        for node in 0..network.nodes.len() as u32 {
            let links = incidence.exits(node).iter();
            graph.edges.extend(links.map(|&link| Edge::new(network, link, capacities[link as usize])));
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

    pub fn edge(&self, node: u32, exit: u8) -> &Edge {
        &self.edges[self.first[node as usize] as usize + usize::from(exit)]
    }

    /// No search takes a closed road.
    pub fn set_closed(&mut self, node: u32, exit: u8, closed: bool) {
        self.edge_mut(node, exit).closed = closed;
    }

    fn edge_mut(&mut self, node: u32, exit: u8) -> &mut Edge {
        &mut self.edges[self.first[node as usize] as usize + usize::from(exit)]
    }

    /// What a way costs now, and on empty roads.
    pub fn cost(&self, start: u32, exits: impl Iterator<Item = u8>) -> (u64, u64) {
        let (mut node, mut cost, mut free) = (start, 0, 0);
        for exit in exits {
            let edge = self.edge(node, exit);
            (node, cost, free) = (edge.target, cost + u64::from(edge.cost), free + edge.free_cost);
        }
        (cost.max(free), free)
    }

    /// A road costs its drive and the wait at its end, in tenths of a second, where that is known.
    pub fn set_wait(&mut self, node: u32, exit: u8, wait: Option<u32>) {
        let edge = self.edge_mut(node, exit);
        edge.cost = wait.map_or(edge.free_cost, |wait| edge.drive + u64::from(wait)).min(HIGHEST_COST) as u32;
    }

    /// Lets the costs follow the load.
    pub fn update_costs(&mut self) {
        let fullest = self.edges.iter().map(Edge::routes_for_capacity).fold(0.0, f64::max);
        self.edges.iter_mut().for_each(|edge| edge.update_cost(fullest));
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
    fn new(network: &Network, link: u32, capacity: u32) -> Self {
        let link = &network.links[link as usize];
        let signal = network.nodes[link.to as usize].has_signals();
        let wait = if signal { SIGNAL_WAIT } else { 0 };
        let drive = u64::from(drive_time(link)) * PER_SECOND / u64::from(PARTS);
        let free_cost = drive + wait;
        let mut edge =
            Self { target: link.to, cost: 0, closed: false, free_cost, drive, capacity: capacity.into(), routes: 0 };
        edge.update_cost(0.0);
        edge
    }

    fn routes_for_capacity(&self) -> f64 {
        self.routes as f64 / self.capacity.max(1) as f64
    }

    /// 15% more at capacity, and with the fourth power of the load beyond it. `fullest` is what the
    /// fullest road has of [`routes_for_capacity`](Self::routes_for_capacity).
    fn update_cost(&mut self, fullest: f64) {
        let share = if fullest > 0.0 { self.routes_for_capacity() / fullest } else { 0.0 };
        let load = (share * HIGHEST_LOAD as f64) as u64;
        let square = load * load;
        let extra = self.free_cost * 15 * (square / 1_000) * (square / 1_000) / 100_000_000;
        self.cost = (self.free_cost + extra).min(HIGHEST_COST) as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_follow_the_load() {
        let edge = |routes| {
            let mut edge =
                Edge { target: 0, cost: 0, closed: false, free_cost: 1_000, drive: 1_000, capacity: 460, routes };
            edge.update_cost(15.0 / 460.0);
            edge.cost
        };
        assert_eq!([0, 5, 10, 15].map(edge), [1_000, 1_009, 1_150, 1_759], "15 is half more than the road passes");
    }
}
