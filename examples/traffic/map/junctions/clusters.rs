//! Nodes that grow together, within bounds.

use crate::map::Node;

/// Metres from side to side that a junction may have: about what a crossing of two wide roads
/// takes up. Without a bound a whole street of short links would become one junction.
const EXTENT: f32 = 50.0;

/// Metres by which what lies around a roundabout may widen it: the islands between its entries and
/// exits.
const AROUND_A_RING: f32 = 30.0;

/// Most links each way at the nodes of a junction, those within it included: a roundabout with six
/// arms has about twenty.
const MOST_ROADS: u32 = 64;

/// Sets of nodes, each of which becomes one junction.
pub struct Clusters {
    /// A node nearer to the one that stands for its set, which is its own parent.
    parents: Vec<u32>,
    /// Of the sets, at the nodes that stand for them.
    sets: Vec<Set>,
}

/// What is known of a set of nodes.
#[derive(Clone, Copy, Debug)]
struct Set {
    /// Metres: west, south, east and north.
    bounds: [f32; 4],
    /// Metres from side to side that it may have.
    most: f32,
    /// Links into and out of its nodes.
    into: u32,
    out: u32,
    ring: bool,
}

impl Clusters {
    /// Every node on its own; `roads` tells how many links lead into and out of each.
    pub fn new(nodes: &[Node], roads: impl Fn(u32) -> (usize, usize)) -> Self {
        let set = |(number, node): (u32, &Node)| {
            let (into, out) = roads(number);
            let bounds = [node.x, node.y, node.x, node.y];
            Set { bounds, most: EXTENT, into: into as u32, out: out as u32, ring: false }
        };
        Self { parents: (0..nodes.len() as u32).collect(), sets: (0..).zip(nodes).map(set).collect() }
    }

    /// The node that stands for the set of a node.
    pub fn find(&mut self, mut node: u32) -> u32 {
        while self.parents[node as usize] != node {
            // Every second node on the way is hung up higher, so that ways stay short.
            let grandparent = self.parents[self.parents[node as usize] as usize];
            self.parents[node as usize] = grandparent;
            node = grandparent;
        }
        node
    }

    /// Makes one set of those of two nodes if it stays within bounds.
    pub fn unite(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        if a != b {
            let set = self.sets[a as usize].with(&self.sets[b as usize]);
            if set.fits() {
                self.join(a, b, set);
            }
        }
    }

    /// Makes one set of a ring of nodes if it measures no more than `most` metres.
    pub fn unite_ring(&mut self, nodes: &[u32], most: f32) {
        let Some((&first, rest)) = nodes.split_first() else { return };
        let whole = rest.iter().fold(self.sets[first as usize], |set, &node| set.with(&self.sets[node as usize]));
        if whole.extent() > most || whole.into.max(whole.out) > MOST_ROADS {
            return;
        }
        let whole = Set { ring: true, most: EXTENT.max(whole.extent() + AROUND_A_RING), ..whole };
        for &node in rest {
            let (a, b) = (self.find(first), self.find(node));
            self.join(a, b, whole);
        }
        let root = self.find(first);
        self.sets[root as usize] = whole;
    }

    fn join(&mut self, a: u32, b: u32, set: Set) {
        let (root, child) = (a.min(b), a.max(b));
        self.parents[child as usize] = root;
        self.sets[root as usize] = set;
    }

    pub fn is_ring(&mut self, node: u32) -> bool {
        let root = self.find(node);
        self.sets[root as usize].ring
    }

    /// The middle of the set of a node, in metres east and north.
    pub fn middle(&mut self, node: u32) -> (f32, f32) {
        let root = self.find(node);
        let [west, south, east, north] = self.sets[root as usize].bounds;
        ((west + east) / 2.0, (south + north) / 2.0)
    }
}

impl Set {
    fn with(&self, other: &Self) -> Self {
        let ([w, s, e, n], [w2, s2, e2, n2]) = (self.bounds, other.bounds);
        Self {
            bounds: [w.min(w2), s.min(s2), e.max(e2), n.max(n2)],
            most: self.most.max(other.most),
            into: self.into.saturating_add(other.into),
            out: self.out.saturating_add(other.out),
            ring: self.ring || other.ring,
        }
    }

    fn extent(&self) -> f32 {
        let [west, south, east, north] = self.bounds;
        (east - west).max(north - south)
    }

    fn fits(&self) -> bool {
        self.extent() <= self.most && self.into.max(self.out) <= MOST_ROADS
    }
}
