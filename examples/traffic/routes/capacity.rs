//! How much traffic the roads carry.

use super::Routes;
use crate::map::Network;
use crate::model::{Incidence, capacities};

/// Use of the roads at which traffic still flows, as a part of the capacity of the fullest but for
/// [`EVADED`]. A little more than they pass: drivers who have waited find other ways. Measured on
/// the Isle of Man, Portland and generated cities, where trips then take 1.2 to 1.4 times as long
/// as on empty roads in the busiest hour, and half as many cars again jam.
const FLOWING: f64 = 1.1;

/// Share of all driving on the very fullest roads, which drivers go around.
const EVADED: f64 = 0.02;

/// Rounds of the walk from place to place: by then its shares have settled.
const ROUNDS: usize = 60;

/// Trips in an hour at which the roads flow, if cars go on from place to place by the routes.
pub fn trips_an_hour(network: &Network, incidence: &Incidence, routes: &Routes) -> f64 {
    let mut uses = vec![0.0; network.links.len()];
    for (place, share) in (0..).zip(shares(routes)) {
        let each = share / routes.from(place).len().max(1) as f64;
        for route in routes.from(place) {
            routes.links(incidence, network, place, route).for_each(|link| uses[link as usize] += each);
        }
    }
    let all: f64 = uses.iter().sum();
    let load = |(&uses, capacity): (&f64, u32)| (uses / f64::from(capacity.max(1)), uses);
    let mut loads: Vec<(f64, f64)> = uses.iter().zip(capacities(network, incidence)).map(load).collect();
    loads.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut evaded = 0.0;
    let fullest = loads.iter().find(|(_, uses)| {
        evaded += uses;
        evaded > EVADED * all
    });
    fullest.map_or(0.0, |&(load, _)| FLOWING / load)
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
