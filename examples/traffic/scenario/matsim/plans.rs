//! Plans (`plans_v4`, `population_v5`, `population_v6`): of each person the selected plan, of each
//! plan the legs by car.

use std::path::Path;

use super::legs::{Activity, Leg, Plan, Route, Terrain};
use super::network::coordinate;
use crate::map::MapError;
use crate::scenario::nearest::Nearest;
use crate::scenario::request::{Demand, Requests};
use crate::scenario::roads::{Id, Roads};
use crate::scenario::text::quote;
use crate::scenario::time;
use crate::scenario::xml::{Piece, Tag, Xml};

/// Reads the plans at `path` for these roads.
pub fn read(path: &Path, roads: &Roads) -> Result<Demand, MapError> {
    let mut xml = Xml::open(path)?;
    // Before version 5 the file was called plans, and routes were nodes.
    let routes_are_nodes = xml.root(&["population", "plans"])?.name() == "plans";
    let mut requests = Requests::new(&roads.network);
    let terrain = Terrain { roads, nearest: Nearest::new(&roads.network) };
    let mut reader = Reader { xml, roads, routes_are_nodes };
    while let Some(tag) = reader.xml.next_tag()? {
        if tag.name() == "person" {
            if let Some(plan) = reader.person()? {
                plan.request(&terrain, &mut requests);
            }
            requests.next_traveller();
        }
    }
    requests.finish(path)
}

struct Reader<'a> {
    xml: Xml,
    roads: &'a Roads,
    routes_are_nodes: bool,
}

impl Reader<'_> {
    /// The selected plan of the person whose tag was read last, or the first where none is.
    fn person(&mut self) -> Result<Option<Plan>, MapError> {
        let mut best: Option<(bool, Plan)> = None;
        while let Some(piece) = self.xml.next()? {
            match piece {
                Piece::Close(name) if name == "person" => break,
                Piece::Open(tag) if tag.name() == "plan" => {
                    let selected = tag.get("selected")?.is_some_and(|selected| selected == "yes");
                    let plan = self.plan()?;
                    if best.as_ref().is_none_or(|(is_selected, _)| selected && !is_selected) {
                        best = Some((selected, plan));
                    }
                }
                _ => {}
            }
        }
        Ok(best.map(|(_, plan)| plan))
    }

    fn plan(&mut self) -> Result<Plan, MapError> {
        let mut plan = Plan::default();
        while let Some(piece) = self.xml.next()? {
            match piece {
                Piece::Close(name) if name == "plan" => break,
                Piece::Open(tag) => match tag.name() {
                    "act" | "activity" => plan.activities.push(self.activity(&tag)?),
                    "leg" if plan.legs.len() + 1 == plan.activities.len() => plan.legs.push(leg(&tag)?),
                    "leg" => return Err(tag.error("a leg without an activity before it")),
                    "route" => self.route(&tag, &mut plan)?,
                    _ => {}
                },
                _ => {}
            }
        }
        if plan.activities.len() > plan.legs.len() + 1 {
            return Err(self.xml.error("two activities without a leg between them"));
        }
        Ok(plan)
    }

    fn activity(&self, tag: &Tag) -> Result<Activity, MapError> {
        let link = match tag.get("link")? {
            Some(id) => Some(self.link(&id).map_err(|problem| tag.error(problem))?),
            None => None,
        };
        let place = tag.optional("x", coordinate)?.zip(tag.optional("y", coordinate)?);
        let end = tag.optional("end_time", defined)?.flatten();
        let stay = match tag.optional("max_dur", defined)? {
            Some(stay) => stay,
            None => tag.optional("dur", defined)?.flatten(),
        };
        Ok(Activity { link, place, end, stay })
    }

    fn link(&self, id: &str) -> Result<Id, String> {
        match self.roads.links.get(id) {
            Id::Unknown => Err(format!("unknown link {}", quote(id))),
            id => Ok(id),
        }
    }

    /// The route of the plan's last leg. Routes of other modes mean something else.
    fn route(&mut self, tag: &Tag, plan: &mut Plan) -> Result<(), MapError> {
        let is_links = tag.get("type")?.is_none_or(|kind| kind == "links");
        let seconds = tag.optional("trav_time", defined)?.flatten();
        let text = self.xml.text()?;
        let Some(leg) = plan.legs.last_mut().filter(|leg| leg.is_by_car) else { return Ok(()) };
        leg.seconds = leg.seconds.or(seconds);
        if !is_links || text.trim().is_empty() {
            return Ok(());
        }
        let ids = || text.split_ascii_whitespace();
        let route = if self.routes_are_nodes {
            ids().map(|id| self.roads.nodes.get(id)).collect::<Vec<_>>()
        } else {
            ids().map(|id| self.roads.links.get(id)).collect()
        };
        if let Some((_, id)) = route.iter().zip(ids()).find(|(id, _)| **id == Id::Unknown) {
            let what = if self.routes_are_nodes { "node" } else { "link" };
            return Err(tag.error(format_args!("unknown {what} {} in a route", quote(id))));
        }
        leg.route = Some(if self.routes_are_nodes { Route::Nodes(route) } else { Route::Links(route) });
        Ok(())
    }
}

fn leg(tag: &Tag) -> Result<Leg, MapError> {
    let is_by_car = tag.text("mode")? == "car";
    Ok(Leg { is_by_car, seconds: tag.optional("trav_time", defined)?.flatten(), route: None })
}

/// A time; MATSim writes `undefined` where it has none, and has written negative infinity.
fn defined(name: &str, text: &str) -> Result<Option<u32>, String> {
    match text.trim() {
        "" | "undefined" | "-Infinity" => Ok(None),
        text => time::parse(name, text).map(Some),
    }
}
