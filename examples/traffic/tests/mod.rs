//! Tests of the whole model.

mod deferred;
mod flow;
mod modes;
mod orders;
mod theory;
mod whole_city;

use indicatif::ProgressBar;

use crate::city::{City, Travel};
use crate::map::{Control, Link, Network, Node};
use crate::routes::Routes;
use deferred::{Deferred, Order};

/// A small city with so many cars that every rule of the model comes into play.
pub fn crowded() -> City {
    city(grid(16), hectic(3_000))
}

pub fn city(network: Network, travel: Travel) -> City {
    let search = |network: &Network, incidence: &_| Routes::search(network, incidence, &ProgressBar::hidden());
    City::new(network, travel, search).unwrap()
}

/// So many cars that hardly rest, and look for other ways every minute.
pub fn hectic(cars: u32) -> Travel {
    Travel { cars: Some(cars), start: 7 * 3_600, rests: 30..150, replans: Some(60), ..Travel::default() }
}

/// A square grid of two-way streets, 100 m apart and with signals.
pub fn grid(side: u32) -> Network {
    let nodes = (0..side * side)
        .map(|number| Node::new((number % side * 100) as f32, (number / side * 100) as f32, Control::Signals))
        .collect();
    let mut links = Vec::new();
    for here in 0..side * side {
        let right = (here % side + 1 < side).then_some(here + 1);
        let up = (here / side + 1 < side).then_some(here + side);
        for there in right.into_iter().chain(up) {
            for (from, to) in [(here, there), (there, here)] {
                links.push(Link::new(from, to, 1_000, 1, 50));
            }
        }
    }
    links.sort_by_key(|link| (link.to, link.from));
    Network::new(format!("grid {side} x {side}"), nodes, links)
}
