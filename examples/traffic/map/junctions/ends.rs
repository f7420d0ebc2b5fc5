//! Which links begin or end at which node.

use crate::map::Link;

/// The numbers of the links at every node, as one array cut by offsets.
pub struct Ends {
    first: Vec<u32>,
    links: Vec<u32>,
}

impl Ends {
    /// The links of each of `nodes` nodes, by the end that `end` tells.
    pub fn new(nodes: usize, links: &[Link], end: impl Fn(&Link) -> u32) -> Self {
        let mut first = vec![0; nodes + 1];
        links.iter().for_each(|link| first[end(link) as usize + 1] += 1);
        for node in 0..nodes {
            first[node + 1] += first[node];
        }
        let mut next = first.clone();
        let mut sorted = vec![0; links.len()];
        for (number, link) in (0..).zip(links) {
            let place = &mut next[end(link) as usize];
            sorted[*place as usize] = number;
            *place += 1;
        }
        Self { first, links: sorted }
    }

    /// The links at a node in the order of their numbers.
    pub fn of(&self, node: u32) -> &[u32] {
        &self.links[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }
}
