//! From a person's day to trips by car.

use crate::map::Network;
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
            (Some(Id::Known(link)), _) => Some(terrain.roads.network.links[link as usize].to),
            (_, Some(place)) => Some(terrain.nearest.node(terrain.roads.local(place))),
            _ => None,
        }
    }
}

impl Terrain<'_> {
    /// Asks for a trip and returns how long it takes without delays.
    fn request(&self, leg: &Leg, here: &Activity, there: &Activity, depart: u32, requests: &mut Requests) -> u32 {
        let network = &self.roads.network;
        let (Some(from), Some(to)) = (here.node(self), there.node(self)) else {
            requests.skip(LEFT_OUT);
            return leg.seconds.unwrap_or(0);
        };
        let route = leg.route.as_ref().filter(|_| from != to);
        let links = route.and_then(|route| self.links(route, from, there));
        let seconds = links.as_ref().map_or_else(|| crow_time(network, from, to), |links| free_time(network, links));
        match links {
            Some(links) => requests.add_route(depart, links),
            None if route.is_some() => requests.skip("have a gap in their route, or links that are left out"),
            None => requests.add(Journey { depart, from, to }),
        }
        leg.seconds.unwrap_or(seconds)
    }

    /// The links after the first, of which a car sees the end only; `None` if there is a gap.
    fn links(&self, route: &Route, from: u32, there: &Activity) -> Option<Vec<u32>> {
        let Some(Id::Known(last)) = there.link else { return None };
        let known = |id: &Id| if let Id::Known(number) = id { Some(*number) } else { None };
        match route {
            Route::Links(ids) => {
                let links = ids.iter().map(known).collect::<Option<Vec<_>>>()?;
                let begins_here =
                    links.first().is_some_and(|&link| self.roads.network.links[link as usize].from == from);
                let rest = if begins_here { &links[..] } else { links.get(1..)? };
                let joins = self.roads.network.links[*rest.first()? as usize].from == from;
                (joins && rest.last() == Some(&last)).then(|| rest.to_vec())
            }
            Route::Nodes(ids) => {
                let nodes = ids.iter().map(known).collect::<Option<Vec<_>>>()?;
                let links = nodes.windows(2).map(|pair| self.link(pair[0], pair[1]));
                let mut links = links.collect::<Option<Vec<_>>>()?;
                links.push(last);
                Some(links)
            }
        }
    }

    /// The shortest link from one node to another.
    fn link(&self, from: u32, to: u32) -> Option<u32> {
        let links = &self.roads.network.links;
        let number = links.partition_point(|link| (link.to, link.from) < (to, from));
        let link = links.get(number)?;
        (link.from == from && link.to == to).then_some(number as u32)
    }
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
