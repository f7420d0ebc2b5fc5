//! Drivers who have waited look for other ways.
//!
//! From time to time the places whose trips lose most have their routes searched again, by what
//! roads took of late; few at a time, or all would leave the same jam for the same side road.

use std::ops::Range;

use super::reroute::Rerouter;
use super::search::Turns;
use super::{Route, drive};
use crate::map::Network;
use crate::model::Incidence;

/// The share of places that look for other ways at a time is one in this number.
const SHARE: usize = 20;

/// The most places at a time: the search of each takes some milliseconds in a large city.
const MOST_PLACES: usize = 100;

/// A way is worth changing for one that takes less than this percentage of its cost.
const BETTER: u64 = 90;

/// The hops of all routes may grow to this multiple of their first number.
const GROWTH: usize = 4;

/// Cursors have 32 bits; detours need some of what is left.
const MOST_HOPS: usize = 1 << 31;

impl Rerouter {
    /// Searches the routes of the places that lose most. `waits` holds for each link the tenths of
    /// a second that cars have waited at its end, where some have passed.
    pub fn replan(&mut self, network: &Network, incidence: &Incidence, waits: &[Option<u32>]) {
        for (link, wait) in (0..).zip(waits) {
            let from = network.links[link as usize].from;
            self.graph.set_wait(from, incidence.exit_number(link), *wait);
        }
        if self.routes.hops.len() < most_hops(self.first_hops) {
            for place in self.worst_places() {
                self.search_again(network, incidence, place);
            }
            self.go_around(network, incidence);
        }
    }

    /// The places whose routes lose most against empty roads, in the order of their numbers.
    fn worst_places(&self) -> Vec<u32> {
        let count = (self.routes.places() as usize / SHARE).clamp(1, MOST_PLACES);
        let lost = |place| {
            let routes = &self.open[self.numbers(place)];
            let lost = routes.iter().map(|route| self.cost(place, route).0 - self.cost(place, route).1);
            lost.sum::<u64>() / routes.len().max(1) as u64
        };
        let mut ranked: Vec<(u64, u32)> = (0..self.routes.places()).map(|place| (lost(place), place)).collect();
        ranked.sort_unstable_by_key(|&(lost, place)| (std::cmp::Reverse(lost), place));
        let mut worst: Vec<u32> = ranked.into_iter().take(count).map(|(_, place)| place).collect();
        worst.sort_unstable();
        worst
    }

    fn search_again(&mut self, network: &Network, incidence: &Incidence, place: u32) {
        let node = self.routes.node(place);
        let numbers = self.numbers(place);
        let goals: Vec<u32> =
            self.open[numbers.clone()].iter().map(|route| self.routes.node(route.destination)).collect();
        let paths = self.search.run(&self.graph, node, &goals, Turns::Allowed);
        for (number, path) in numbers.zip(paths) {
            let Some(path) = path else { continue };
            let route = self.open[number];
            let cost = self.graph.cost(node, path.iter().copied()).0;
            if cost * 100 < self.cost(place, &route).0 * BETTER {
                let (free_time, metres) = drive(network, incidence, node, &path);
                let cursor = self.add_way(node, &path);
                self.open[number] = Route { cursor, free_time, metres, ..route };
                self.set_route(number, self.open[number]);
            }
        }
    }

    /// What a route costs by what its roads took of late, and on empty roads.
    fn cost(&self, place: u32, route: &Route) -> (u64, u64) {
        let node = self.routes.node(place);
        self.graph.cost(node, self.hops((node, route.cursor)).map(|hop| hop.road.1))
    }

    fn numbers(&self, place: u32) -> Range<usize> {
        let place = place as usize;
        self.routes.first[place] as usize..self.routes.first[place + 1] as usize
    }
}

/// No new ways are looked for at so many hops: old ones stay, since cars may be on them.
fn most_hops(first: usize) -> usize {
    first.saturating_mul(GROWTH).min(MOST_HOPS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_do_not_start_anew() {
        assert_eq!([1_000, 1 << 30, u32::MAX as usize].map(most_hops), [4_000, MOST_HOPS, MOST_HOPS]);
    }
}
