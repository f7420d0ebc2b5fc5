//! How much traffic the roads carry.

use super::Routes;
use crate::map::Network;
use crate::model::{Incidence, capacities};

/// Share of its capacity up to which a road flows well: beyond it queues grow fast (Webster).
const FLOWING: f64 = 0.8;

/// Rounds of the walk from place to place: by then its shares have settled.
const ROUNDS: usize = 60;

/// Trips in an hour at which the busiest road is used as far as it flows well, if cars go on from
/// place to place by the routes.
pub fn trips_an_hour(network: &Network, incidence: &Incidence, routes: &Routes) -> f64 {
    let mut uses = vec![0.0; network.links.len()];
    for (place, share) in (0..).zip(shares(routes)) {
        let each = share / routes.from(place).len().max(1) as f64;
        for route in routes.from(place) {
            routes.links(incidence, network, place, route).for_each(|link| uses[link as usize] += each);
        }
    }
    let load = |(uses, capacity): (&f64, u32)| uses / f64::from(capacity.max(1));
    let fullest = uses.iter().zip(capacities(network, incidence)).map(load).fold(0.0, f64::max);
    if fullest > 0.0 { FLOWING / fullest } else { 0.0 }
}

/// Share of the trips that start at each place, after a long time.
fn shares(routes: &Routes) -> Vec<f64> {
    let places = routes.places() as usize;
    let mut shares = vec![1.0 / places.max(1) as f64; places];
    for _ in 0..ROUNDS {
        let mut next = vec![0.0; places];
        for (place, share) in (0..).zip(&shares) {
            let from = routes.from(place);
            from.iter().for_each(|route| next[route.destination as usize] += share / from.len() as f64);
        }
        // The mean of two rounds: a walk that goes back and forth settles too.
        shares.iter_mut().zip(next).for_each(|(share, next)| *share = (*share + next) / 2.0);
    }
    shares
}
