//! Shortest routes from one node to several (Dijkstra's algorithm).
//!
//! Where all turns are allowed, the search knows for each node how it came there first. Where some
//! are forbidden that is not enough, since another way to the node may go on where the first may
//! not: there it knows for each edge how it came to its end.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::graph::Graph;

const UNREACHED: u64 = u64::MAX;

/// Tenths of a second that it costs to turn back into the road one came from: few would do so at
/// the next crossing to get around a forbidden turn.
const TURN_BACK: u64 = 1_200;

/// A node, or above all nodes an edge's end.
type State = u32;

/// How the search first came to a state by the fastest way so far.
#[derive(Clone, Copy)]
struct Label {
    /// Wider than the costs: even a route along every road of a map does not overflow it.
    time: u64,
    parent: State,
    exit: u8,
    settled: bool,
}

const BLANK: Label = Label { time: UNREACHED, parent: 0, exit: 0, settled: false };

/// Whether forbidden turns count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Turns {
    Allowed,
    /// All of them, as if no sign stood anywhere.
    All,
}

/// What a search is for: there may be as many goals as nodes, and several at one.
struct Goals {
    /// The node and the number of each, by their nodes.
    by_node: Vec<(u32, usize)>,
    /// The state in which each was reached first.
    ends: Vec<Option<State>>,
    /// How many were not.
    left: usize,
}

impl Goals {
    fn new(nodes: &[u32]) -> Self {
        let mut by_node: Vec<(u32, usize)> = nodes.iter().copied().zip(0..).collect();
        by_node.sort_unstable();
        Self { by_node, ends: vec![None; nodes.len()], left: nodes.len() }
    }

    fn settle(&mut self, node: u32, state: State) {
        let first = self.by_node.partition_point(|&(goal, _)| goal < node);
        for &(_, number) in self.by_node[first..].iter().take_while(|&&(goal, _)| goal == node) {
            if self.ends[number].is_none() {
                self.ends[number] = Some(state);
                self.left -= 1;
            }
        }
    }
}

/// The memory of a search, kept for the next one.
#[derive(Clone)]
pub struct Search {
    nodes: u32,
    labels: Vec<Label>,
    touched: Vec<State>,
    /// Time and state, the earliest first; of states with the same time the one with the lower
    /// number.
    queue: BinaryHeap<Reverse<(u64, State)>>,
}

impl Search {
    pub fn new(graph: &Graph) -> Self {
        let ends = if graph.has_bans() { graph.edges() } else { 0 };
        let labels = vec![BLANK; graph.nodes() + ends];
        Self { nodes: graph.nodes() as u32, labels, touched: Vec::new(), queue: BinaryHeap::new() }
    }

    /// The numbers of the exits to take from `start` to each goal, none where no open road leads
    /// there.
    pub fn run(&mut self, graph: &Graph, start: u32, goals: &[u32], turns: Turns) -> Vec<Option<Vec<u8>>> {
        let by_edge = turns == Turns::Allowed && graph.has_bans();
        let mut goals = Goals::new(goals);
        self.relax(start, Label { time: 0, ..BLANK });
        while goals.left > 0
            && let Some(Reverse((_, state))) = self.queue.pop()
        {
            if !std::mem::replace(&mut self.labels[state as usize].settled, true) {
                goals.settle(self.node(graph, state), state);
                if by_edge { self.leave_edge(graph, state) } else { self.leave_node(graph, state) }
            }
        }
        let paths = goals.ends.into_iter().map(|end| Some(self.path(start, end?))).collect();
        self.forget();
        paths
    }

    fn leave_node(&mut self, graph: &Graph, node: u32) {
        let time = self.labels[node as usize].time;
        for (exit, edge) in graph.exits(node).filter(|(_, edge)| !edge.closed) {
            let time = time + u64::from(edge.cost);
            self.relax(edge.target, Label { time, parent: node, exit, settled: false });
        }
    }

    /// From the end of an edge, or from the start.
    fn leave_edge(&mut self, graph: &Graph, state: State) {
        let node = self.node(graph, state);
        let Label { time, parent, .. } = self.labels[state as usize];
        let last = state.checked_sub(self.nodes);
        let origin = last.map(|_| self.node(graph, parent));
        let banned = last.map_or(&[][..], |edge| graph.banned_after(edge));
        for (exit, edge) in graph.exits(node).filter(|(_, edge)| !edge.closed) {
            let number = graph.first_exit(node) + u32::from(exit);
            if !banned.contains(&number) {
                let turn = if origin == Some(edge.target) { TURN_BACK } else { 0 };
                let time = time + u64::from(edge.cost) + turn;
                self.relax(self.nodes + number, Label { time, parent: state, exit, settled: false });
            }
        }
    }

    fn node(&self, graph: &Graph, state: State) -> u32 {
        state.checked_sub(self.nodes).map_or(state, |edge| graph.target(edge))
    }

    fn relax(&mut self, state: State, label: Label) {
        let known = &mut self.labels[state as usize];
        if label.time < known.time {
            if known.time == UNREACHED {
                self.touched.push(state);
            }
            *known = label;
            self.queue.push(Reverse((label.time, state)));
        }
    }

    fn path(&self, start: u32, end: State) -> Vec<u8> {
        let mut path = Vec::new();
        let mut state = end;
        while state != start {
            let label = self.labels[state as usize];
            path.push(label.exit);
            state = label.parent;
        }
        path.reverse();
        path
    }

    fn forget(&mut self) {
        self.queue.clear();
        for state in self.touched.drain(..) {
            self.labels[state as usize] = BLANK;
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
            assert_eq!(search.run(&graph, 1, &[0, 2], Turns::Allowed), [Some(vec![1, 0]), Some(vec![1])]);
        }
    }

    #[test]
    fn closed_roads_are_not_taken() {
        let network = ring();
        let mut graph = Graph::new(&network, &Incidence::new(&network).unwrap());
        let mut search = Search::new(&graph);
        graph.set_closed(1, 1, true);
        assert_eq!(search.run(&graph, 1, &[0, 2], Turns::Allowed), [Some(vec![0]), None]);
        graph.set_closed(1, 1, false);
        assert_eq!(search.run(&graph, 1, &[0, 2], Turns::Allowed), [Some(vec![1, 0]), Some(vec![1])]);
    }

    /// As [`ring`], with a turn forbidden; links are given by their ends.
    fn banned(turn: [(u32, u32); 2]) -> Graph {
        let mut network = ring();
        let number = |(from, to)| network.links.iter().position(|link| (link.from, link.to) == (from, to)).unwrap();
        network.bans = vec![(number(turn[0]) as u32, number(turn[1]) as u32)];
        Graph::new(&network, &Incidence::new(&network).unwrap())
    }

    #[test]
    fn every_goal_is_found_as_if_it_were_the_only_one() {
        let mut network = crate::tests::grid(5);
        let incidence = Incidence::new(&network).unwrap();
        // In no order, some twice, and the start too.
        let goals: Vec<u32> = (0..40).map(|number| number * 7 % 25).collect();
        for bans in [Vec::new(), vec![(0, 12), (3, 40), (17, 8)]] {
            network.bans = bans;
            let graph = Graph::new(&network, &incidence);
            let mut search = Search::new(&graph);
            for start in [0, 12, 23] {
                let alone = goals.iter().map(|&goal| search.run(&graph, start, &[goal], Turns::Allowed).remove(0));
                let alone: Vec<_> = alone.collect();
                assert_eq!(search.run(&graph, start, &goals, Turns::Allowed), alone);
            }
        }
    }

    #[test]
    fn forbidden_turns_are_gone_around() {
        // From 0 by 1 and 2 back to 0: with the turn at 1 forbidden the short cut is all there is.
        let graph = banned([(0, 1), (1, 2)]);
        let mut search = Search::new(&graph);
        for _ in 0..2 {
            // The short cut back to 0 and around again would meet the same sign.
            assert_eq!(search.run(&graph, 0, &[1, 2], Turns::Allowed), [Some(vec![0]), None]);
            assert_eq!(search.run(&graph, 0, &[1, 2], Turns::All), [Some(vec![0]), Some(vec![0, 1])]);
            assert_eq!(search.run(&graph, 1, &[2], Turns::Allowed), [Some(vec![1])], "who starts there has no sign");
        }
    }

    #[test]
    fn nobody_turns_back_but_for_a_long_way_round() {
        // 1 and 2 are joined both ways; the turn from 0 by 1 to 3 is forbidden, from 2 it is not.
        let link = |from, to, length_dm| Link::new(from, to, length_dm, 1, 36);
        let links = |detour| {
            let links = vec![link(0, 1, 100), link(2, 1, 100), link(1, 2, 100), link(1, 3, 100), link(2, 3, detour)];
            let nodes = (0..4).map(|_| Node::new(0.0, 0.0, Control::Priority)).collect();
            Network { bans: vec![(0, 3)], ..Network::new("spur", nodes, links) }
        };
        let path = |detour| {
            let network = links(detour);
            let graph = Graph::new(&network, &Incidence::new(&network).unwrap());
            Search::new(&graph).run(&graph, 0, &[3], Turns::Allowed)
        };
        // 1,000 m take 100 s, 2,000 m 200 s; to turn back takes 120 s.
        assert_eq!(path(10_000), [Some(vec![0, 0, 1])]);
        assert_eq!(path(20_000), [Some(vec![0, 0, 0, 1])]);
    }
}
