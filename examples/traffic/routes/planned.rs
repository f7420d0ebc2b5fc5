//! Routes for requested trips.

use std::collections::BTreeMap;

use indicatif::ProgressBar;
use rayon::prelude::*;

use super::graph::Graph;
use super::search::{Search, Turns};
use super::{Allowance, Found, Routes};
use crate::map::Network;
use crate::model::{Incidence, NetworkError, PlannedTrip, PlannedTrips, TripRequest};

/// Most roads that the routes of given trips may have on average: those from end to end of a large
/// country. Trips on a map that is one ring would take memory with the square of the files' size.
const HOPS_PER_ROUTE: u64 = 4_000;

/// Routes that are searched before their hops are counted.
const AT_A_TIME: usize = 1_000;

/// What becomes of requests.
pub struct Planned {
    pub routes: Routes,
    pub trips: PlannedTrips,
    /// Trips that end where they begin, or have no way.
    pub left_out: u32,
}

/// Where a trip goes, and how if that is given.
type Wish<'a> = (u32, Option<&'a [u32]>);

/// Places and routes for all requests, the fastest on empty roads where no way is given.
pub fn plan(
    network: &Network,
    incidence: &Incidence,
    requests: &[TripRequest],
    progress: &ProgressBar,
) -> Result<Planned, NetworkError> {
    let mut wishes: BTreeMap<u32, Vec<Wish>> = BTreeMap::new();
    for request in requests {
        wishes.entry(request.to).or_default();
        wishes.entry(request.from).or_default().push((request.to, request.via.as_deref()));
    }
    for wishes in wishes.values_mut() {
        wishes.sort_unstable();
        wishes.dedup();
    }
    let paths = find(network, incidence, &wishes, progress)?;
    let nodes: Vec<u32> = wishes.keys().copied().collect();
    let place = |node: u32| nodes.partition_point(|&other| other < node) as u32;
    let mut numbers: BTreeMap<(u32, Wish), u32> = BTreeMap::new();
    let mut by_place: Vec<Vec<Found>> = Vec::new();
    for ((&from, wishes), paths) in wishes.iter().zip(paths) {
        let mut found = Vec::new();
        for (&wish, path) in wishes.iter().zip(paths) {
            if let Some(path) = path.filter(|path| !path.is_empty()) {
                numbers.insert((from, wish), numbers.len() as u32);
                found.push((place(wish.0), path));
            }
        }
        by_place.push(found);
    }
    if numbers.is_empty() && !requests.is_empty() {
        return Err(NetworkError::NoTrip { network: network.name.clone() });
    }
    let routes = Routes::collect(network, incidence, nodes.clone(), by_place);
    let (trips, left_out) = trips(requests, &numbers);
    Ok(Planned { routes, trips, left_out })
}

/// The exits to take for every wish; none where no way leads there.
fn find(
    network: &Network,
    incidence: &Incidence,
    wishes: &BTreeMap<u32, Vec<Wish>>,
    progress: &ProgressBar,
) -> Result<Vec<Vec<Option<Vec<u8>>>>, NetworkError> {
    let graph = Graph::new(network, incidence);
    progress.set_length(wishes.len() as u64);
    let allowance = Allowance::new(wishes.values().map(Vec::len).sum(), HOPS_PER_ROUTE);
    let some_from = |search: &mut Search, from: u32, wishes: &[Wish]| {
        let goals: Vec<u32> = wishes.iter().filter(|wish| wish.1.is_none()).map(|wish| wish.0).collect();
        let mut searched = search.run(&graph, from, &goals, Turns::Allowed).into_iter();
        let path = |wish: &Wish| match wish.1 {
            Some(links) => follow(network, incidence, from, wish.0, links).map(Some),
            None => Ok(searched.next().flatten()),
        };
        let paths = wishes.iter().map(path).collect::<Result<Vec<_>, _>>()?;
        allowance.use_up(paths.iter().flatten());
        if allowance.is_used_up() { Err(allowance.refusal(network)) } else { Ok(paths) }
    };
    let from_place = |search: &mut Search, (&from, wishes): (&u32, &Vec<Wish>)| {
        progress.inc(1);
        let parts = wishes.chunks(AT_A_TIME).map(|wishes| some_from(search, from, wishes));
        Ok(parts.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    };
    let wishes: Vec<_> = wishes.iter().collect();
    wishes.into_par_iter().map_init(|| Search::new(&graph), from_place).collect()
}

/// The exits along links, which must lead from one to the next and to the goal.
fn follow(
    network: &Network,
    incidence: &Incidence,
    from: u32,
    to: u32,
    links: &[u32],
) -> Result<Vec<u8>, NetworkError> {
    let broken = |link: u32| NetworkError::BrokenWay { network: network.name.clone(), from, to, link };
    let mut node = from;
    let mut path = Vec::with_capacity(links.len());
    for &link in links {
        let road = network.links.get(link as usize).filter(|road| road.from == node).ok_or_else(|| broken(link))?;
        node = road.to;
        path.push(incidence.exit_number(link));
    }
    if node == to { Ok(path) } else { Err(broken(links.last().copied().unwrap_or(0))) }
}

/// The trips of every traveller that have a route, and how many have none.
fn trips(requests: &[TripRequest], numbers: &BTreeMap<(u32, Wish), u32>) -> (PlannedTrips, u32) {
    let travellers = requests.iter().map(|request| request.traveller as usize + 1).max().unwrap_or(0);
    let mut by_car = vec![Vec::new(); travellers];
    let mut left_out = 0;
    for request in requests {
        match numbers.get(&(request.from, (request.to, request.via.as_deref()))) {
            Some(&route) => by_car[request.traveller as usize].push(PlannedTrip { depart: request.depart, route }),
            None => left_out += 1,
        }
    }
    // Who has no trip that can be driven has no car.
    by_car.retain(|trips| !trips.is_empty());
    (PlannedTrips::new(by_car), left_out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::Link;
    use crate::routes::tests::ring;

    fn back_by_one(network: &Network, trips: u32) -> Result<Planned, NetworkError> {
        let nodes = network.nodes.len() as u32;
        let request = |traveller: u32| {
            let from = traveller % nodes + 1;
            TripRequest { traveller, depart: 0, from: from % nodes, to: from - 1, via: None }
        };
        let requests: Vec<TripRequest> = (0..trips).map(request).collect();
        plan(network, &Incidence::new(network).unwrap(), &requests, &ProgressBar::hidden())
    }

    /// A road with two ways onto it, which no car can leave.
    #[test]
    fn where_no_round_leads_back_trips_are_driven_as_far_as_roads_go() {
        let ring = ring(4, 100);
        let link = |from, to| Link { from, to, ..ring.links[0] };
        let network = Network { links: vec![link(0, 2), link(1, 2), link(2, 3)], ..ring };
        let incidence = Incidence::new(&network).unwrap();
        let trip = |traveller, from, to| TripRequest { traveller, depart: 0, from, to, via: None };
        let planned = |requests: &[TripRequest]| plan(&network, &incidence, requests, &ProgressBar::hidden());
        let requests = [trip(0, 3, 0), trip(1, 0, 3), trip(2, 1, 3), trip(3, 2, 3)];
        let Planned { left_out, trips, .. } = planned(&requests).unwrap();
        assert_eq!((left_out, trips.cars()), (1, 3), "who has no way has no car");
        assert!((0..3).all(|car| trips.trip(car, 0).is_some()));
        let refusal = planned(&[trip(0, 3, 1)]).err().unwrap().to_string();
        assert!(refusal.starts_with("ring: no trip that can be driven"), "{refusal}");
    }

    #[test]
    fn trips_that_would_take_all_memory_are_refused() {
        let network = ring(30_000, 100);
        let error = back_by_one(&network, 300).err().unwrap().to_string();
        assert!(error.starts_with("ring: too far from place to place"), "{error}");
        assert!(back_by_one(&network, 100).is_ok(), "a few may be long");
    }

    #[test]
    fn many_trips_from_one_place_are_as_if_each_were_alone() {
        let network = ring(1_500, 100);
        let incidence = Incidence::new(&network).unwrap();
        let request = |to: u32| TripRequest { traveller: to - 1, depart: 0, from: 0, to, via: None };
        let requests: Vec<TripRequest> = (1..1_500).map(request).collect();
        let Planned { routes, left_out, .. } = plan(&network, &incidence, &requests, &ProgressBar::hidden()).unwrap();
        let lengths = (0..1_499).map(|number| routes.numbered(number).1.metres);
        assert!(lengths.eq((1..1_500).map(|links| links * 10)), "each leads to its own goal");
        assert_eq!(left_out, 0);
    }
}
