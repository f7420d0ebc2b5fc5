//! Which roads meet at which intersection.

use std::fmt;
use std::ops::Range;

use crate::map::{Link, Network};

/// Roads that an intersection may have each way: an exit's number is a byte, and the two last ones
/// mean something else.
pub const MOST_ROADS: u8 = u8::MAX - 1;

/// The links into and out of every node. Links are sorted by the node they lead to, so those into a
/// node are a range.
pub struct Incidence {
    /// The links into node `n` are `first_in[n]..first_in[n + 1]`.
    first_in: Vec<u32>,
    /// The links out of node `n` are `out[first_out[n]..first_out[n + 1]]`.
    first_out: Vec<u32>,
    out: Vec<u32>,
    /// The number of each link among those out of the same node.
    exit_numbers: Vec<u8>,
}

/// A network that the model cannot hold.
#[derive(Debug, PartialEq, Eq)]
pub enum NetworkError {
    Empty {
        network: String,
    },
    TooManyRoads {
        network: String,
        node: usize,
        roads: u32,
    },
    LongRoutes {
        network: String,
        most: u64,
    },
    /// None of the trips that were asked for has a way.
    NoTrip {
        network: String,
    },
    /// The links of a requested way do not follow each other.
    BrokenWay {
        network: String,
        from: u32,
        to: u32,
        link: u32,
    },
}

impl fmt::Display for NetworkError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTrip { network } => {
                write!(out, "{network}: no trip that can be driven: no way that is allowed leads to the end of any")
            }
            Self::Empty { network } => write!(out, "{network}: no roads to drive on"),
            Self::BrokenWay { network, from, to, link } => {
                write!(out, "{network}: a trip from {from} to {to} is broken at link {link}")
            }
            Self::LongRoutes { network, most } => {
                write!(out, "{network}: too far from place to place, the routes have more than {most} roads in all")
            }
            Self::TooManyRoads { network, node, roads } => {
                write!(
                    out,
                    "{network}: {roads} roads at intersection {node}, at most {MOST_ROADS} each way are supported"
                )
            }
        }
    }
}

impl std::error::Error for NetworkError {}

impl Incidence {
    pub fn new(network: &Network) -> Result<Self, NetworkError> {
        let name = || network.name.clone();
        if network.links.is_empty() {
            return Err(NetworkError::Empty { network: name() });
        }
        let nodes = network.nodes.len();
        let first_in = ends(nodes, network.links.iter().map(|link| link.to));
        let first_out = ends(nodes, network.links.iter().map(|link| link.from));
        for (node, (into, out)) in first_in.windows(2).zip(first_out.windows(2)).enumerate() {
            let roads = (into[1] - into[0]).max(out[1] - out[0]);
            if roads > u32::from(MOST_ROADS) {
                return Err(NetworkError::TooManyRoads { network: name(), node, roads });
            }
        }
        let (out, exit_numbers) = number_exits(network, &first_out);
        Ok(Self { first_in, first_out, out, exit_numbers })
    }

    /// The links that lead to a node.
    pub fn approaches(&self, node: u32) -> Range<u32> {
        let node = node as usize;
        self.first_in[node]..self.first_in[node + 1]
    }

    /// The links that lead to a node, of the network that this was made of.
    pub fn links_into<'a>(&self, network: &'a Network, node: u32) -> &'a [Link] {
        let roads = self.approaches(node);
        &network.links[roads.start as usize..roads.end as usize]
    }

    /// The links that leave a node.
    pub fn exits(&self, node: u32) -> &[u32] {
        let node = node as usize;
        &self.out[self.first_out[node] as usize..self.first_out[node + 1] as usize]
    }

    pub fn exit_number(&self, link: u32) -> u8 {
        self.exit_numbers[link as usize]
    }
}

/// For every node how many ends belong to the nodes before it, and the number of ends at the end.
fn ends(nodes: usize, ends: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut first = vec![0_u32; nodes + 1];
    ends.for_each(|node| first[node as usize + 1] += 1);
    let mut sum = 0;
    for count in &mut first {
        sum += *count;
        *count = sum;
    }
    first
}

fn number_exits(network: &Network, first_out: &[u32]) -> (Vec<u32>, Vec<u8>) {
    let mut out = vec![0; network.links.len()];
    let mut exit_numbers = Vec::with_capacity(network.links.len());
    let mut taken = vec![0_u8; network.nodes.len()];
    for (number, link) in (0..).zip(&network.links) {
        let from = link.from as usize;
        out[first_out[from] as usize + usize::from(taken[from])] = number;
        exit_numbers.push(taken[from]);
        taken[from] += 1;
    }
    (out, exit_numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::{Control, Link, Node};

    fn star(arms: u32) -> Network {
        let link = |from, to| Link::new(from, to, 1_000, 1, 50);
        let nodes = (0..=arms).map(|_| Node::new(0.0, 0.0, Control::Priority)).collect();
        let links = (1..=arms).map(|arm| link(arm, 0)).chain((1..=arms).map(|arm| link(0, arm))).collect();
        Network::new("star", nodes, links)
    }

    #[test]
    fn an_empty_network_is_refused() {
        let error = Incidence::new(&star(0)).err().unwrap();
        assert_eq!(error.to_string(), "star: no roads to drive on");
    }

    #[test]
    fn as_many_roads_as_a_hop_can_tell_apart() {
        let incidence = Incidence::new(&star(254)).unwrap();
        assert_eq!(incidence.approaches(0), 0..254);
        assert_eq!(incidence.exit_number(incidence.exits(0)[253]), 253);
        let error = Incidence::new(&star(255)).err().unwrap();
        assert_eq!(error.to_string(), "star: 255 roads at intersection 0, at most 254 each way are supported");
    }
}
