//! A quadtree over the intersections of a city. It does not change while the city lives.

use std::ops::Range;

use crate::map::Node;

/// The most intersections of a district that is not divided further: some dozen microseconds of
/// looking at queues.
const SMALLEST: usize = 64;

/// Districts of a few metres are not divided further, however many intersections lie in one place.
const DEEPEST: u32 = 20;

/// A square of the map, in metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Square {
    /// The western edge.
    pub x: f32,
    /// The southern edge.
    pub y: f32,
    pub side: f32,
}

impl Square {
    pub const EMPTY: Self = Self { x: 0.0, y: 0.0, side: 0.0 };

    /// The smallest square around all `nodes`.
    fn around(nodes: &[Node]) -> Self {
        let least = |coordinate: fn(&Node) -> f32| nodes.iter().map(coordinate).fold(f32::INFINITY, f32::min);
        let most = |coordinate: fn(&Node) -> f32| nodes.iter().map(coordinate).fold(f32::NEG_INFINITY, f32::max);
        let (x, y) = (least(|node| node.x), least(|node| node.y));
        Self { x, y, side: (most(|node| node.x) - x).max(most(|node| node.y) - y) }
    }

    /// Its quarters: south-west, south-east, north-west, north-east.
    fn quarters(self) -> [Self; 4] {
        let side = self.side / 2.0;
        [(0.0, 0.0), (side, 0.0), (0.0, side), (side, side)].map(|(x, y)| Self { x: self.x + x, y: self.y + y, side })
    }

    fn touches(self, other: Self) -> bool {
        let overlap = |a: f32, a_side: f32, b: f32, b_side: f32| a <= b + b_side && b <= a + a_side;
        overlap(self.x, self.side, other.x, other.side) && overlap(self.y, self.side, other.y, other.side)
    }
}

/// A part of the city.
#[derive(Clone, Debug)]
pub struct District {
    pub square: Square,
    /// How many districts it is made of, itself included: in the tree its parts follow it.
    pub size: usize,
    /// Where its intersections are in the order of the tree.
    members: Range<usize>,
}

impl District {
    pub fn is_divided(&self) -> bool {
        self.size > 1
    }

    /// Ascends from one undivided district to the next, by about one.
    pub fn number(&self) -> usize {
        self.members.start / SMALLEST
    }
}

/// All districts, each followed by its parts, so that a district and all below it are one slice.
pub struct Quadtree {
    districts: Vec<District>,
    /// The intersections by district.
    members: Vec<u32>,
}

impl Quadtree {
    pub fn new(nodes: &[Node]) -> Self {
        let mut tree = Self { districts: Vec::new(), members: (0..nodes.len() as u32).collect() };
        if !nodes.is_empty() {
            tree.divide(nodes, Square::around(nodes), 0..nodes.len(), 0);
        }
        tree
    }

    /// Adds the district of `members` and all its parts.
    fn divide(&mut self, nodes: &[Node], square: Square, members: Range<usize>, depth: u32) {
        let place = self.districts.len();
        self.districts.push(District { square, size: 1, members: members.clone() });
        if members.len() <= SMALLEST || depth == DEEPEST {
            return;
        }
        let (x, y) = (square.x + square.side / 2.0, square.y + square.side / 2.0);
        let quarter = |member: &u32| {
            let node = &nodes[*member as usize];
            usize::from(node.y >= y) * 2 + usize::from(node.x >= x)
        };
        // Stable: within a district intersections stay in the order in which they lie in memory.
        self.members[members.clone()].sort_by_key(quarter);
        let mut start = members.start;
        for (number, square) in square.quarters().into_iter().enumerate() {
            let end = start + self.members[start..members.end].partition_point(|member| quarter(member) <= number);
            if start < end {
                self.divide(nodes, square, start..end, depth + 1);
            }
            start = end;
        }
        self.districts[place].size = self.districts.len() - place;
    }

    pub fn districts(&self) -> &[District] {
        &self.districts
    }

    pub fn intersections(&self) -> usize {
        self.members.len()
    }

    /// The numbers of the intersections in a district.
    pub fn members(&self, district: &District) -> &[u32] {
        &self.members[district.members.clone()]
    }

    /// The places of the districts that touch `view` and are not above `side` or not divided.
    pub fn cover(&self, view: Square, side: f32) -> impl Iterator<Item = usize> {
        let mut place = 0;
        std::iter::from_fn(move || {
            while let Some(district) = self.districts.get(place) {
                let here = place;
                let is_inside = district.square.touches(view);
                let is_small = district.square.side <= side || !district.is_divided();
                place += if is_inside && !is_small { 1 } else { district.size };
                if is_inside && is_small {
                    return Some(here);
                }
            }
            None
        })
    }
}
