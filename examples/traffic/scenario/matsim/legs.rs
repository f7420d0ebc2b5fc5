//! From a person's day to trips by car.

use crate::map::{Link, Network};
use crate::model::{PARTS, drive_time};
use crate::scenario::nearest::Nearest;
use crate::scenario::request::{Journey, Requests};
use crate::scenario::roads::{Id, Roads};
use crate::scenario::time::LATEST;

/// Activities with legs between them.
#[derive(Default)]
pub struct Plan {
    pub activities: Vec<Activity>,
    pub legs: Vec<Leg>,
}

pub struct Activity {
    pub link: Option<Id>,
    pub place: Option<(f64, f64)>,
    /// When it ends.
    pub end: Option<u32>,
    /// How long it lasts, where its end is not given.
    pub stay: Option<u32>,
}

pub struct Leg {
    pub is_by_car: bool,
    /// How long it took when the plan was made.
    pub seconds: Option<u32>,
    pub route: Option<Route>,
}

/// A route as its file has it.
pub enum Route {
    /// The nodes from the end of the first link to the start of the last one.
    Nodes(Vec<Id>),
    /// The links with the first and the last one.
    Links(Vec<Id>),
}

/// What trips are made in.
pub struct Terrain<'a> {
    pub roads: &'a Roads,
    pub nearest: Nearest,
}

/// Metres a second as the crow flies, for legs of which nothing is known: 30 km/h.
const CROW_SPEED: f32 = 30.0 / 3.6;

const LEFT_OUT: &str = "begin or end on links that are left out";

impl Plan {
    /// Asks for the trips by car. An activity that lasts a given time is taken to begin after a
    /// leg without delays, since nobody knows the delays yet.
    pub fn request(&self, terrain: &Terrain, requests: &mut Requests) {
        let mut begin = 0;
        for (number, (leg, stay)) in self.legs.iter().zip(self.activities.windows(2)).enumerate() {
            let [here, there] = stay else { return };
            let Some(depart) = here.departure(begin) else {
                return self.legs[number..].iter().for_each(|_| requests.skip("have no time of departure"));
            };
            let seconds = if leg.is_by_car {
                terrain.request(leg, here, there, depart, requests)
            } else {
                requests.skip("are not by car");
                leg.seconds.unwrap_or(0)
            };
            begin = (depart + seconds).min(LATEST);
        }
    }
}

impl Activity {
    /// Nobody leaves before they have come.
    fn departure(&self, begin: u32) -> Option<u32> {
        let end = self.end.or(self.stay.map(|stay| begin + stay))?;
        Some(end.clamp(begin, LATEST))
    }

    /// The node where a car stands during the activity: the end of its link or, where that is
    /// nothing for cars, the nearest one.
    fn node(&self, terrain: &Terrain) -> Option<u32> {
        match (self.link, self.place) {
            (Some(Id::Known(link)), _) => Some(terrain.road(link).to),
            (_, Some(place)) => Some(terrain.nearest.node(terrain.roads.local(place))),
            _ => None,
        }
    }
}

impl Terrain<'_> {
    /// Asks for a trip and returns how long it takes without delays.
    fn request(&self, leg: &Leg, here: &Activity, there: &Activity, depart: u32, requests: &mut Requests) -> u32 {
        let network = &self.roads.network;
        let (from, to) = (here.node(self), there.node(self));
        // The ends of its route are then the leg's own.
        let is_free = here.link.is_none() || there.link.is_none();
        let route = leg.route.as_ref().filter(|_| is_free || from != to);
        if let Some(links) = route.and_then(|route| self.links(route, here, there)) {
            let seconds = free_time(network, &links);
            requests.add_route(depart, links);
            return leg.seconds.unwrap_or(seconds);
        }
        let Some((from, to)) = from.zip(to) else {
            requests.skip(LEFT_OUT);
            return leg.seconds.unwrap_or(0);
        };
        if route.is_some() && !is_free {
            requests.skip("have a gap in their route, or links that are left out");
        } else {
            requests.add(Journey { depart, from, to });
        }
        leg.seconds.unwrap_or_else(|| crow_time(network, from, to))
    }

    /// The links after the first, of which a car sees the end only; `None` if there is a gap. An
    /// activity without a link leaves it to the route where to begin or end.
    fn links(&self, route: &Route, here: &Activity, there: &Activity) -> Option<Vec<u32>> {
        let last = match there.link {
            Some(link) => Some(known(link)?),
            None => None,
        };
        let links = match route {
            Route::Links(ids) => {
                let links = self.after_first(&all_known(ids)?, here)?;
                last.is_none_or(|last| links.last() == Some(&last)).then_some(links)?
            }
            Route::Nodes(ids) => {
                let nodes = all_known(ids)?;
                let links = nodes.windows(2).map(|pair| self.link(pair[0], pair[1])).chain(last.map(Some));
                links.collect::<Option<Vec<_>>>()?
            }
        };
        let is_whole = links.windows(2).all(|pair| self.road(pair[0]).to == self.road(pair[1]).from);
        (is_whole && !links.is_empty()).then_some(links)
    }

    /// The links of a route after the one that the car stands on, which some files leave out.
    fn after_first(&self, links: &[u32], here: &Activity) -> Option<Vec<u32>> {
        let first = self.road(*links.first()?);
        let from = if here.link.is_some() { here.node(self)? } else { first.to };
        let rest = if first.from == from { links } else { &links[1..] };
        (self.road(*rest.first()?).from == from).then(|| rest.to_vec())
    }

    fn road(&self, number: u32) -> &Link {
        &self.roads.network.links[number as usize]
    }

    /// The shortest link from one node to another.
    fn link(&self, from: u32, to: u32) -> Option<u32> {
        let links = &self.roads.network.links;
        let number = links.partition_point(|link| (link.to, link.from) < (to, from));
        let link = links.get(number)?;
        (link.from == from && link.to == to).then_some(number as u32)
    }
}

fn known(id: Id) -> Option<u32> {
    if let Id::Known(number) = id { Some(number) } else { None }
}

fn all_known(ids: &[Id]) -> Option<Vec<u32>> {
    ids.iter().copied().map(known).collect()
}

fn free_time(network: &Network, links: &[u32]) -> u32 {
    let parts: u64 = links.iter().map(|&link| u64::from(drive_time(&network.links[link as usize]))).sum();
    parts.div_ceil(PARTS.into()).min(LATEST.into()) as u32
}

fn crow_time(network: &Network, from: u32, to: u32) -> u32 {
    let (from, to) = (network.nodes[from as usize], network.nodes[to as usize]);
    let metres = (from.x - to.x).hypot(from.y - to.y);
    ((metres / CROW_SPEED) as u32).min(LATEST)
}
