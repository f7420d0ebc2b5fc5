//! What goes on in each part of the city: a quadtree of districts, down to a few intersections
//! each, whose counts are summed up from the streets to the whole city by fork/join. The dense
//! districts are deep, so no equal shares would do.

mod quadtree;
mod refit;
#[cfg(test)]
mod tests;
mod traffic;

pub use quadtree::Square;
pub use traffic::Traffic;

use bevy::prelude::Resource;

use crate::map::Network;
use quadtree::Quadtree;

/// The districts of a city and the traffic in each, as of the last frame; in a large city as of one
/// of the last frames.
#[derive(Resource)]
pub struct Districts {
    tree: Quadtree,
    /// By place in the tree.
    traffic: Vec<Traffic>,
    /// Which districts are counted in the next frame.
    turn: usize,
}

impl Districts {
    pub fn new(network: &Network) -> Self {
        let tree = Quadtree::new(&network.nodes);
        let traffic = vec![Traffic::default(); tree.districts().len()];
        Self { tree, traffic, turn: 0 }
    }

    /// The districts that touch `view`, as large as they come but not above `side` metres, unless
    /// they have no parts. They do not overlap.
    pub fn cover(&self, view: Square, side: f32) -> impl Iterator<Item = (Square, &Traffic)> {
        self.tree.cover(view, side).map(|place| (self.tree.districts()[place].square, &self.traffic[place]))
    }

    /// The square that all districts are parts of.
    pub fn city(&self) -> Square {
        self.tree.districts().first().map_or(Square::EMPTY, |city| city.square)
    }

    /// Intersections in all districts.
    pub fn intersections(&self) -> usize {
        self.tree.intersections()
    }

    /// Of the districts of about an eighth of the city's side the one with the most cars on its
    /// roads.
    pub fn busiest(&self) -> Option<(Square, Traffic)> {
        let districts = self.cover(self.city(), self.city().side / 8.0);
        districts.max_by_key(|(_, traffic)| traffic.cars).map(|(square, traffic)| (square, *traffic))
    }
}
