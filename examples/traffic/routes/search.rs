//! Shortest routes from one node to several (Dijkstra's algorithm).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::graph::Graph;

const UNREACHED: u64 = u64::MAX;

/// How the search first came to a node by the fastest way so far.
#[derive(Clone, Copy)]
struct Label {
    /// Wider than the costs: even a route along every road of a map does not overflow it.
    time: u64,
    parent: u32,
    exit: u8,
    settled: bool,
}

const BLANK: Label = Label { time: UNREACHED, parent: 0, exit: 0, settled: false };

/// The memory of a search, kept for the next one.
pub struct Search {
    labels: Vec<Label>,
    touched: Vec<u32>,
    /// Time and node, the earliest first; of nodes with the same time the one with the lower
    /// number.
    queue: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Search {
    pub fn new(graph: &Graph) -> Self {
        Self { labels: vec![BLANK; graph.nodes()], touched: Vec::new(), queue: BinaryHeap::new() }
    }

    /// The numbers of the exits to take from `start` to each goal, none where no open road leads
    /// there.
    pub fn run(&mut self, graph: &Graph, start: u32, goals: &[u32]) -> Vec<Option<Vec<u8>>> {
        self.relax(start, Label { time: 0, ..BLANK });
        let mut missing = goals.len();
        while missing > 0
            && let Some(Reverse((time, node))) = self.queue.pop()
        {
            let label = &mut self.labels[node as usize];
            if label.settled {
                continue;
            }
            label.settled = true;
            missing -= usize::from(goals.contains(&node));
            for (exit, edge) in graph.exits(node).filter(|(_, edge)| !edge.closed) {
                let time = time + u64::from(edge.cost);
                self.relax(edge.target, Label { time, parent: node, exit, settled: false });
            }
        }
        let paths = goals.iter().map(|&goal| self.path(start, goal)).collect();
        self.forget();
        paths
    }

    fn relax(&mut self, node: u32, label: Label) {
        let known = &mut self.labels[node as usize];
        if label.time < known.time {
            if known.time == UNREACHED {
                self.touched.push(node);
            }
            *known = label;
            self.queue.push(Reverse((label.time, node)));
        }
    }

    fn path(&self, start: u32, goal: u32) -> Option<Vec<u8>> {
        let mut path = Vec::new();
        let mut node = goal;
        while node != start {
            let label = self.labels[node as usize];
            if label.time == UNREACHED {
                return None;
            }
            path.push(label.exit);
            node = label.parent;
        }
        path.reverse();
        Some(path)
    }

    fn forget(&mut self) {
        self.queue.clear();
        for node in self.touched.drain(..) {
            self.labels[node as usize] = BLANK;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::{Control, Link, Network, Node};
    use crate::model::Incidence;

    /// Three nodes in a ring, and a slow short cut back from node 1.
    fn ring() -> Network {
        let link = |from, to, length_dm| Link::new(from, to, length_dm, 1, 36);
        let nodes = (0..3).map(|_| Node::new(0.0, 0.0, Control::Priority)).collect();
        let links = vec![link(1, 0, 5_000), link(2, 0, 1_000), link(0, 1, 1_000), link(1, 2, 1_000)];
        Network::new("ring", nodes, links)
    }

    #[test]
    fn the_faster_way_is_taken_though_it_has_more_hops() {
        let network = ring();
        let graph = Graph::new(&network, &Incidence::new(&network).unwrap());
        let mut search = Search::new(&graph);
        for _ in 0..2 {
            assert_eq!(search.run(&graph, 1, &[0, 2]), [Some(vec![1, 0]), Some(vec![1])]);
        }
    }

    #[test]
    fn closed_roads_are_not_taken() {
        let network = ring();
        let mut graph = Graph::new(&network, &Incidence::new(&network).unwrap());
        let mut search = Search::new(&graph);
        graph.set_closed(1, 1, true);
        assert_eq!(search.run(&graph, 1, &[0, 2]), [Some(vec![0]), None]);
        graph.set_closed(1, 1, false);
        assert_eq!(search.run(&graph, 1, &[0, 2]), [Some(vec![1, 0]), Some(vec![1])]);
    }
}
