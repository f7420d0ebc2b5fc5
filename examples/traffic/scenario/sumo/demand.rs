//! Demand (`.rou.xml`, `.trips.xml`): vehicles, trips, flows, and the routes and types that they
//! name.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::classes::is_car;
use super::flow::Flow;
use crate::hash::hash;
use crate::map::MapError;
use crate::scenario::request::{Demand, Journey, Requests};
use crate::scenario::roads::{Id, Roads};
use crate::scenario::text::{finite, number, quote};
use crate::scenario::time;
use crate::scenario::xml::{Piece, Tag, Xml};

/// Most vehicles that all flows together may make: elements of 80 bytes that make any number. Their
/// trips take 250 MB.
const MOST_IN_FLOWS: usize = 5_000_000;

/// Most links in the routes that vehicles share, each counted for every vehicle, and in those that
/// are repeated: 400 MB.
const MOST_SHARED_LINKS: usize = 100_000_000;

/// Most routes in a distribution, whose routes may be other distributions.
const MOST_ROUTES: usize = 10_000;

/// Most undefined types that are named.
const MOST_NAMES: usize = 5;

const LEFT_OUT: &str = "use edges that are left out";
const NOT_CARS: &str = "are not cars";
const NO_TIME: &str = "have no time of departure";

/// The types that are there before any is defined, and why their vehicles are left out, if they
/// are.
const TYPES: [(&str, Option<&str>); 6] = [
    ("DEFAULT_VEHTYPE", None),
    ("DEFAULT_TAXITYPE", None),
    ("DEFAULT_BIKETYPE", Some(NOT_CARS)),
    ("DEFAULT_PEDTYPE", Some(NOT_CARS)),
    ("DEFAULT_CONTAINERTYPE", Some(NOT_CARS)),
    ("DEFAULT_RAILTYPE", Some(NOT_CARS)),
];

/// Reads files in turn: later ones may name what earlier ones define.
pub fn read(paths: &[PathBuf], roads: &Roads, seed: u64) -> Result<Demand, MapError> {
    let mut reader = Reader {
        roads,
        seed,
        requests: Requests::new(&roads.network),
        types: TYPES.into_iter().map(|(id, reason)| (id.to_owned(), reason)).collect(),
        undefined: BTreeSet::new(),
        routes: HashMap::new(),
        interval: None,
        elements: 0,
        shared_links: 0,
        in_flows: 0,
    };
    for path in paths {
        reader.read(path)?;
    }
    let last = paths.last().map(PathBuf::as_path).unwrap_or(Path::new(""));
    let undefined = reader.note_of_undefined();
    let mut demand = reader.requests.finish(last)?;
    demand.notes.extend(undefined);
    Ok(demand)
}

/// The links of a route, or `None` if some of them are left out.
type Route = Option<Rc<[u32]>>;

/// Routes of which a vehicle takes one, with their weights.
type Routes = Rc<[(f64, Route)]>;

struct Reader<'a> {
    roads: &'a Roads,
    seed: u64,
    requests: Requests<'a>,
    /// Why the vehicles of a type are left out, if they are.
    types: HashMap<String, Option<&'static str>>,
    /// Types of vehicles that no file has defined; no more than are named, and one.
    undefined: BTreeSet<String>,
    /// The routes behind a name.
    routes: HashMap<String, Routes>,
    /// What is around the flows that are being read, if they have their times from there.
    interval: Option<Tag>,
    /// Vehicles, trips and flows so far: a number for random choices.
    elements: u64,
    in_flows: usize,
    shared_links: usize,
}

/// Where vehicles go.
enum Course {
    Routes(Routes),
    Between(u32, u32),
    /// Nowhere, for this reason.
    None(&'static str),
}

impl Reader<'_> {
    fn read(&mut self, path: &Path) -> Result<(), MapError> {
        let mut xml = Xml::open(path)?;
        xml.root(&["routes", "additional", "add", "trips"])?;
        while let Some(piece) = xml.next()? {
            match piece {
                Piece::Open(tag) if tag.name() == "interval" => self.interval = Some(tag),
                Piece::Open(tag) => self.element(&tag, &mut xml)?,
                Piece::Close(name) if name == "interval" => self.interval = None,
                Piece::Close(_) | Piece::Text(_) => {}
            }
        }
        Ok(())
    }

    fn element(&mut self, tag: &Tag, xml: &mut Xml) -> Result<(), MapError> {
        match tag.name() {
            "vType" => {
                self.vehicle_type(tag)?;
            }
            "vTypeDistribution" => self.type_distribution(tag, xml)?,
            "route" => {
                let route = self.route(tag)?;
                self.routes.insert(tag.text("id")?, Rc::new([(1.0, route)]));
            }
            "routeDistribution" => {
                let routes = self.distribution(tag, xml)?;
                self.routes.insert(tag.text("id")?, routes);
            }
            "vehicle" | "trip" => self.vehicle(tag, xml)?,
            "flow" => self.flow(tag, xml)?,
            name @ ("person" | "personFlow" | "container" | "containerFlow") => {
                self.requests.skip("are not by car");
                skip(name, xml)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Defines a type, and tells why its vehicles are left out, if they are.
    fn vehicle_type(&mut self, tag: &Tag) -> Result<Option<&'static str>, MapError> {
        let is_car = tag.get("vClass")?.is_none_or(|class| is_car(&class));
        let reason = (!is_car).then_some(NOT_CARS);
        self.types.insert(tag.text("id")?, reason);
        Ok(reason)
    }

    /// Defines a type that is one of several for each vehicle: all count as cars if some are.
    fn type_distribution(&mut self, tag: &Tag, xml: &mut Xml) -> Result<(), MapError> {
        let names = tag.get("vTypes")?.unwrap_or_default();
        let mut reasons: Vec<_> = names.split_ascii_whitespace().map(|name| self.named_type(name)).collect();
        while let Some(piece) = xml.next()? {
            match piece {
                Piece::Close(name) if name == "vTypeDistribution" => break,
                Piece::Open(tag) if tag.name() == "vType" => reasons.push(match tag.get("refId")? {
                    Some(name) => self.named_type(&name),
                    None => self.vehicle_type(&tag)?,
                }),
                _ => {}
            }
        }
        let first = *reasons.first().ok_or_else(|| tag.error("no types in it"))?;
        let some_are_cars = reasons.iter().any(Option::is_none);
        self.types.insert(tag.text("id")?, if some_are_cars { None } else { first });
        Ok(())
    }

    /// Why the vehicles of a type are left out, if they are. Those of an undefined type may be
    /// cars.
    fn named_type(&mut self, name: &str) -> Option<&'static str> {
        let reason = self.types.get(name).copied();
        if reason.is_none() && self.undefined.len() <= MOST_NAMES {
            self.undefined.insert(name.to_owned());
        }
        reason.flatten()
    }

    /// Says of which types it was not known what they are.
    fn note_of_undefined(&self) -> Option<String> {
        let names: Vec<_> = self.undefined.iter().take(MOST_NAMES).map(|name| quote(name)).collect();
        let more = if self.undefined.len() > MOST_NAMES { " and more" } else { "" };
        let names = names.join(", ");
        (!names.is_empty())
            .then(|| format!("types that no file defines before they are used, taken for cars: {names}{more}"))
    }

    fn vehicle(&mut self, tag: &Tag, xml: &mut Xml) -> Result<(), MapError> {
        let depart = departure(tag, "depart")?;
        let course = self.course(tag, xml)?;
        match depart {
            Some(second) => self.depart(tag, second, &course, 0),
            None => {
                self.requests.skip(NO_TIME);
                Ok(())
            }
        }
    }

    fn flow(&mut self, tag: &Tag, xml: &mut Xml) -> Result<(), MapError> {
        if departure(tag, "begin")?.is_none() && tag.get("begin")?.is_some() {
            self.requests.skip(NO_TIME);
            return skip("flow", xml);
        }
        let flow = Flow::read(tag, self.interval.as_ref())?;
        let course = self.course(tag, xml)?;
        let key = hash(&[self.seed, self.elements]);
        for (vehicle, second) in (0..).zip(flow.departures(key)) {
            self.in_flows += 1;
            if self.in_flows > MOST_IN_FLOWS {
                return Err(
                    tag.error(format_args!("flows make more than the {MOST_IN_FLOWS} vehicles that are supported"))
                );
            }
            self.depart(tag, second, &course, vehicle)?;
        }
        Ok(())
    }

    /// Asks for the trip of one vehicle, each a traveller of its own.
    fn depart(&mut self, tag: &Tag, depart: u32, course: &Course, vehicle: u64) -> Result<(), MapError> {
        match course {
            Course::None(reason) => self.requests.skip(reason),
            Course::Between(from, to) if from == to => self.requests.add_route(depart, vec![*from]),
            Course::Between(from, to) => {
                let links = &self.roads.network.links;
                let (from, to) = (links[*from as usize].from, links[*to as usize].to);
                self.requests.add(Journey { depart, from, to });
            }
            Course::Routes(routes) => match pick(routes, hash(&[self.seed, self.elements, vehicle])) {
                Some(route) => {
                    // A route of its own is no longer than what the file says of it.
                    let is_shared = Rc::strong_count(routes) > 1 || Rc::strong_count(route) > 1 || vehicle > 0;
                    self.share(if is_shared { route.len() } else { 0 }, tag)?;
                    self.requests.add_route(depart, route.to_vec());
                }
                None => self.requests.skip(LEFT_OUT),
            },
        }
        self.requests.next_traveller();
        Ok(())
    }

    /// Counts links that the file does not say one by one.
    fn share(&mut self, links: usize, tag: &Tag) -> Result<(), MapError> {
        self.shared_links = self.shared_links.saturating_add(links);
        if self.shared_links <= MOST_SHARED_LINKS {
            return Ok(());
        }
        Err(tag.error(format_args!("vehicles share or repeat routes of more than {MOST_SHARED_LINKS} links in all")))
    }

    /// Where a vehicle goes; reads up to the end of its element.
    fn course(&mut self, tag: &Tag, xml: &mut Xml) -> Result<Course, MapError> {
        self.elements += 1;
        let nested = self.nested(tag.name(), xml)?;
        if let Some(name) = tag.get("type")?
            && let Some(reason) = self.named_type(&name)
        {
            return Ok(Course::None(reason));
        }
        if let Some(routes) = nested {
            return Ok(Course::Routes(routes));
        }
        if let Some(name) = tag.get("route")? {
            return self.named(&name, tag).map(Course::Routes);
        }
        match (self.edge(tag, "from")?, self.edge(tag, "to")?) {
            (Some(Id::Known(from)), Some(Id::Known(to))) => Ok(Course::Between(from, to)),
            (Some(_), Some(_)) => Ok(Course::None(LEFT_OUT)),
            _ => self.junctions(tag),
        }
    }

    fn junctions(&self, tag: &Tag) -> Result<Course, MapError> {
        Ok(Course::None(if tag.get("fromJunction")?.is_some() || tag.get("fromTaz")?.is_some() {
            "run between zones or junctions"
        } else {
            "have neither a route nor both ends"
        }))
    }

    /// The routes inside an element, if there are any.
    fn nested(&mut self, name: &str, xml: &mut Xml) -> Result<Option<Routes>, MapError> {
        let mut routes = None;
        while let Some(piece) = xml.next()? {
            match piece {
                Piece::Close(closed) if closed == name => break,
                Piece::Open(tag) if tag.name() == "route" => {
                    routes = Some(Rc::new([(1.0, self.route(&tag)?)]) as Routes);
                }
                Piece::Open(tag) if tag.name() == "routeDistribution" => routes = Some(self.distribution(&tag, xml)?),
                _ => {}
            }
        }
        Ok(routes)
    }

    /// Routes of which each vehicle takes one, by their weights.
    fn distribution(&mut self, tag: &Tag, xml: &mut Xml) -> Result<Routes, MapError> {
        let mut routes: Vec<(f64, Route)> = Vec::new();
        for name in tag.get("routes")?.unwrap_or_default().split_ascii_whitespace() {
            self.extend(&mut routes, None, name, tag)?;
        }
        for (number, text) in tag.get("probabilities")?.unwrap_or_default().split_ascii_whitespace().enumerate() {
            let weight = weight("probabilities", text).map_err(|problem| tag.error(problem))?;
            routes.get_mut(number).into_iter().for_each(|route: &mut (f64, Route)| route.0 = weight);
        }
        while let Some(piece) = xml.next()? {
            match piece {
                Piece::Close(name) if name == "routeDistribution" => break,
                Piece::Open(tag) if tag.name() == "route" => {
                    let weight = tag.optional("probability", weight)?.unwrap_or(1.0);
                    match tag.get("refId")? {
                        Some(name) => self.extend(&mut routes, Some(weight), &name, &tag)?,
                        None => routes.push((weight, self.route(&tag)?)),
                    }
                }
                _ => {}
            }
        }
        if routes.iter().any(|(weight, _)| *weight > 0.0) {
            Ok(routes.into())
        } else {
            Err(tag.error("no routes in it"))
        }
    }

    /// Adds the routes behind a name, with their own weight or another.
    fn extend(
        &self,
        routes: &mut Vec<(f64, Route)>,
        weight: Option<f64>,
        name: &str,
        tag: &Tag,
    ) -> Result<(), MapError> {
        let named = self.named(name, tag)?;
        if routes.len() + named.len() > MOST_ROUTES {
            return Err(tag.error(format_args!("more than {MOST_ROUTES} routes in a distribution")));
        }
        routes.extend(named.iter().map(|(own, route)| (weight.unwrap_or(*own), route.clone())));
        Ok(())
    }

    fn named(&self, name: &str, tag: &Tag) -> Result<Routes, MapError> {
        let routes = self.routes.get(name).cloned();
        routes.ok_or_else(|| tag.error(format_args!("unknown route {}", quote(name))))
    }

    fn route(&mut self, tag: &Tag) -> Result<Route, MapError> {
        let mut links = Vec::new();
        let mut is_whole = true;
        for id in tag.text("edges")?.split_ascii_whitespace() {
            match self.roads.links.get(id) {
                Id::Known(link) => links.push(link),
                Id::LeftOut => is_whole = false,
                Id::Unknown => return Err(tag.error(format_args!("unknown edge {}", quote(id)))),
            }
        }
        let repeat = tag.optional("repeat", number::<usize>)?.unwrap_or(0);
        self.share(links.len().saturating_mul(repeat), tag)?;
        Ok(is_whole.then(|| links.repeat(repeat.saturating_add(1)).into()))
    }

    fn edge(&self, tag: &Tag, name: &str) -> Result<Option<Id>, MapError> {
        let Some(id) = tag.get(name)? else { return Ok(None) };
        match self.roads.links.get(id.trim()) {
            Id::Unknown => Err(tag.error(format_args!("unknown edge {}", quote(&id)))),
            edge => Ok(Some(edge)),
        }
    }
}

fn pick(routes: &[(f64, Route)], random: u64) -> Option<&Rc<[u32]>> {
    let all: f64 = routes.iter().map(|(weight, _)| weight).sum();
    let mut rest = (random >> 11) as f64 / (1_u64 << 53) as f64 * all;
    let found = routes.iter().find(|(weight, _)| {
        rest -= weight;
        rest < 0.0
    });
    found.or(routes.last()).and_then(|(_, route)| route.as_ref())
}

fn weight(name: &str, text: &str) -> Result<f64, String> {
    let weight = finite(name, text)?;
    if (0.0..=1e9).contains(&weight) {
        Ok(weight)
    } else {
        Err(format!("{name} should be 0 or more, found {}", quote(text)))
    }
}

/// A time, or `None` for what depends on others, such as `triggered`.
fn departure(tag: &Tag, name: &str) -> Result<Option<u32>, MapError> {
    let Some(text) = tag.get(name)? else { return Ok(None) };
    if ["triggered", "containerTriggered", "split", "begin", "now"].contains(&text.trim()) {
        return Ok(None);
    }
    time::parse(name, &text).map(Some).map_err(|problem| tag.error(problem))
}

/// Reads up to the end of an element.
fn skip(name: &str, xml: &mut Xml) -> Result<(), MapError> {
    while let Some(piece) = xml.next()? {
        if matches!(piece, Piece::Close(closed) if closed == name) {
            break;
        }
    }
    Ok(())
}
