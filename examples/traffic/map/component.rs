//! Strongly connected components, by Kosaraju's two sweeps.

use std::cmp::Reverse;

/// Outgoing neighbours of every node, as one array cut by offsets.
struct Adjacency {
    starts: Vec<usize>,
    neighbours: Vec<u32>,
}

impl Adjacency {
    fn new(nodes: usize, edges: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut starts = vec![0; nodes + 1];
        for (from, _) in edges.clone() {
            starts[from as usize + 1] += 1;
        }
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        let mut next = starts.clone();
        let mut neighbours = vec![0; starts[nodes]];
        for (from, to) in edges {
            neighbours[next[from as usize]] = to;
            next[from as usize] += 1;
        }
        Self { starts, neighbours }
    }

    fn of(&self, node: u32) -> &[u32] {
        &self.neighbours[self.starts[node as usize]..self.starts[node as usize + 1]]
    }
}

/// The number of each node's strongly connected component, from 0 in the order in which they are
/// found.
pub fn numbers(nodes: usize, edges: impl Iterator<Item = (u32, u32)> + Clone) -> Vec<u32> {
    let forward = Adjacency::new(nodes, edges.clone());
    let backward = Adjacency::new(nodes, edges.map(|(from, to)| (to, from)));
    let mut taken = vec![false; nodes];
    let mut numbers = vec![0; nodes];
    let mut found = 0;
    for &root in finish_order(&forward, nodes).iter().rev() {
        let component = reach(&backward, root, &mut taken);
        component.iter().for_each(|&node| numbers[node as usize] = found);
        found += u32::from(!component.is_empty());
    }
    numbers
}

/// The largest of the components that [`numbers`] has; of equally large ones, the one found first.
pub fn largest_of(numbers: &[u32]) -> u32 {
    let mut sizes = vec![0_u32; numbers.iter().max().map_or(0, |&last| last as usize + 1)];
    numbers.iter().for_each(|&number| sizes[number as usize] += 1);
    (0..).zip(sizes).max_by_key(|&(number, size)| (size, Reverse(number))).map_or(0, |(number, _)| number)
}

/// Marks the nodes of the largest strongly connected component; of equally large ones, the one
/// found first.
pub fn largest(nodes: usize, edges: impl Iterator<Item = (u32, u32)> + Clone) -> Vec<bool> {
    let numbers = numbers(nodes, edges);
    let largest = largest_of(&numbers);
    numbers.into_iter().map(|number| number == largest).collect()
}

/// Nodes in the order in which a depth-first search leaves them. The search keeps a stack of its
/// own, because a road network is deeper than a thread's.
fn finish_order(graph: &Adjacency, nodes: usize) -> Vec<u32> {
    let mut order = Vec::with_capacity(nodes);
    let mut seen = vec![false; nodes];
    let mut path = Vec::new();
    for root in 0..nodes as u32 {
        if !seen[root as usize] {
            seen[root as usize] = true;
            path.push((root, graph.of(root).iter()));
        }
        while let Some((node, rest)) = path.last_mut() {
            match rest.find(|&&next| !seen[next as usize]) {
                Some(&next) => {
                    seen[next as usize] = true;
                    path.push((next, graph.of(next).iter()));
                }
                None => {
                    order.push(*node);
                    path.pop();
                }
            }
        }
    }
    order
}

/// Takes every node that can be reached from `root` and is not taken yet.
fn reach(graph: &Adjacency, root: u32, taken: &mut [bool]) -> Vec<u32> {
    if taken[root as usize] {
        return Vec::new();
    }
    taken[root as usize] = true;
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&node) = found.get(next) {
        next += 1;
        for &neighbour in graph.of(node) {
            if !taken[neighbour as usize] {
                taken[neighbour as usize] = true;
                found.push(neighbour);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(nodes: usize, edges: &[(u32, u32)]) -> Vec<usize> {
        let inside = largest(nodes, edges.iter().copied());
        (0..nodes).filter(|&node| inside[node]).collect()
    }

    #[test]
    fn one_way_bridges_split_components() {
        // A ring of three, a one-way bridge, a ring of two, and a node on its own.
        let edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 3)];
        assert_eq!(members(6, &edges), [0, 1, 2]);
    }

    #[test]
    fn a_chain_has_only_single_nodes() {
        assert_eq!(members(3, &[(0, 1), (1, 2)]).len(), 1);
    }

    #[test]
    fn no_nodes_no_component() {
        assert!(members(0, &[]).is_empty());
    }

    #[test]
    fn a_deep_ring_does_not_overflow_the_stack() {
        let nodes = 1_000_000;
        let inside = largest(nodes, (0..nodes as u32).map(|node| (node, (node + 1) % nodes as u32)));
        assert!(inside.into_iter().all(|member| member));
    }

    /// Against the definition: two nodes are in one component when each reaches the other.
    #[test]
    fn agrees_with_mutual_reachability() {
        for seed in 0..200_u32 {
            let nodes = 8;
            let edges: Vec<_> =
                (0..12).map(|i| (seed.wrapping_mul(i * 7 + 3) >> 3) % 64).map(|e| (e / 8, e % 8)).collect();
            let graph = Adjacency::new(nodes, edges.iter().copied());
            let reached: Vec<_> = (0..nodes as u32).map(|node| reach(&graph, node, &mut vec![false; nodes])).collect();
            let size = |a: u32| reached[a as usize].iter().filter(|&&b| reached[b as usize].contains(&a)).count();
            let expected = (0..nodes as u32).map(size).max().unwrap();
            let found = members(nodes, &edges);
            assert_eq!(found.len(), expected, "seed {seed}");
            assert_eq!(size(found[0] as u32), expected, "seed {seed}");
        }
    }
}
