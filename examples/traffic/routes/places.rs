//! Where trips start and end.

use std::collections::HashMap;

use crate::hash::{below, hash};
use crate::map::Network;

/// One intersection in so many is a place: dense enough that the cars which start and end there do
/// not fill its roads.
const NODES_PER_PLACE: u32 = 16;

/// A small map still gets trips in all directions.
const FEWEST_PLACES: u32 = 64;

/// Routes from one place: enough for variety, few enough that a large city's routes stay in the
/// cache.
pub const ROUTES_PER_PLACE: usize = 5;

/// The longest trip as the crow flies, in decimetres.
const LONGEST_TRIP_DM: i64 = 80_000;

/// Whatever can change the choice of places and destinations, for the key of stored routes.
pub const PARAMETERS: [u64; 4] =
    [NODES_PER_PLACE as u64, FEWEST_PLACES as u64, ROUTES_PER_PLACE as u64, LONGEST_TRIP_DM as u64];

pub struct Places {
    nodes: Vec<u32>,
    positions: Vec<(i64, i64)>,
    /// Places by square cell, with sides of the longest trip.
    cells: HashMap<(i64, i64), Vec<u32>>,
    longest_trip: i64,
}

/// Picks one intersection by hash out of each stretch of neighbours.
pub fn choose(network: &Network) -> Places {
    let count = network.nodes.len() as u32;
    let places = (count / NODES_PER_PLACE).max(FEWEST_PLACES).min(count);
    let bound = |place: u32| (u64::from(place) * u64::from(count) / u64::from(places.max(1))) as u32;
    let pick = |place: u32| {
        let (first, next) = (bound(place), bound(place + 1));
        first + below(hash(&[u64::from(place)]), next - first)
    };
    Places::new(network, (0..places).map(pick).collect())
}

impl Places {
    fn new(network: &Network, nodes: Vec<u32>) -> Self {
        let decimetres = |metres: f32| (f64::from(metres) * 10.0).round() as i64;
        let position = |&node: &u32| {
            let node = &network.nodes[node as usize];
            (decimetres(node.x), decimetres(node.y))
        };
        let positions: Vec<_> = nodes.iter().map(position).collect();
        let longest_trip = LONGEST_TRIP_DM.min(extent(&positions) / 2).max(1);
        let mut cells: HashMap<_, Vec<u32>> = HashMap::new();
        for (place, position) in positions.iter().enumerate() {
            cells.entry(cell(*position, longest_trip)).or_default().push(place as u32);
        }
        Self { nodes, positions, cells, longest_trip }
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn node(&self, place: u32) -> u32 {
        self.nodes[place as usize]
    }

    pub fn into_nodes(self) -> Vec<u32> {
        self.nodes
    }

    /// Different places within the longest trip, picked by hash; the next place where there is
    /// none.
    pub fn destinations(&self, place: u32) -> Vec<u32> {
        let mut near = self.within_reach(place);
        if near.is_empty() {
            return vec![(place + 1) % self.nodes.len() as u32];
        }
        for pick in 0..ROUTES_PER_PLACE.min(near.len()) {
            let rest = (near.len() - pick) as u32;
            let other = pick + below(hash(&[u64::from(place), pick as u64]), rest) as usize;
            near.swap(pick, other);
        }
        near.truncate(ROUTES_PER_PLACE);
        near
    }

    fn within_reach(&self, place: u32) -> Vec<u32> {
        let here = self.positions[place as usize];
        let (column, row) = cell(here, self.longest_trip);
        let cells = (-1..=1).flat_map(|x| (-1..=1).map(move |y| (column + x, row + y)));
        let others = cells.filter_map(|cell| self.cells.get(&cell)).flatten().copied();
        others.filter(|&other| other != place && self.reaches(here, other)).collect()
    }

    fn reaches(&self, here: (i64, i64), other: u32) -> bool {
        let there = self.positions[other as usize];
        let (x, y) = (there.0 - here.0, there.1 - here.1);
        x * x + y * y <= self.longest_trip * self.longest_trip
    }
}

fn cell((x, y): (i64, i64), side: i64) -> (i64, i64) {
    (x.div_euclid(side), y.div_euclid(side))
}

/// The longer side of the map.
fn extent(positions: &[(i64, i64)]) -> i64 {
    let side = |axis: fn(&(i64, i64)) -> i64| {
        let (least, most) = (positions.iter().map(axis).min(), positions.iter().map(axis).max());
        most.zip(least).map_or(0, |(most, least)| most - least)
    };
    side(|position| position.0).max(side(|position| position.1))
}
