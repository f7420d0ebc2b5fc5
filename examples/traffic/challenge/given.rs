//! What happens to the city of a challenge, whether or not anybody plays it.

use super::{Challenge, WARMUP};
use crate::city::City;
use crate::map::Link;
use crate::model::{Intersection, Order, Timing};

/// Nearly all green for the main road.
const NIGHT: Timing = Timing { cycle: 90, main_green: 72, offset: 0 };

/// How far the centre reaches, in metres.
const CENTRE: f32 = 480.0;

/// When the market opens, in seconds after the roads have filled.
const OPENING: u32 = 300;

impl Challenge {
    /// The orders that come by themselves, by the second.
    pub fn given(self, city: &City) -> Vec<(u32, Order)> {
        match self {
            Self::NightProgramme => {
                let centre = signals(city).filter(|&node| distance(city, node, (0.0, 0.0)) < CENTRE);
                centre.map(|node| (0, Order::Signals { node, timing: NIGHT })).collect()
            }
            Self::MarketDay => vec![(WARMUP + OPENING, Order::RushHour { node: market(city) })],
            Self::OneBridge => {
                let bridge = bridge(city);
                let closed = river(city).filter(|&road| !bridge.contains(&road));
                closed.map(|road| (0, Order::Road { road, closed: true })).collect()
            }
            Self::FineTuning => Vec::new(),
        }
    }
}

/// Intersections whose signals can be timed.
pub fn signals(city: &City) -> impl Iterator<Item = u32> {
    let has_signals = city.intersections().into_iter().map(|intersection: Intersection| intersection.has_signals());
    (0..).zip(has_signals).filter(|&(_, has_signals)| has_signals).map(|(node, _)| node)
}

pub fn distance(city: &City, node: u32, (x, y): (f32, f32)) -> f32 {
    let node = &city.network.nodes[node as usize];
    (node.x - x).hypot(node.y - y)
}

/// The crossing of two arterials that is farthest north-east.
fn market(city: &City) -> u32 {
    let place = |&node: &u32| city.network.nodes[node as usize].x + city.network.nodes[node as usize].y;
    let is_wide = |node: u32| {
        let into = city.network.links.iter().filter(|link| link.to == node && link.lanes > 1);
        into.count() > 2
    };
    signals(city).filter(|&node| is_wide(node)).max_by(|a, b| place(a).total_cmp(&place(b))).unwrap_or(0)
}

/// The roads across the river, which flows from north to south through the middle.
fn river(city: &City) -> impl Iterator<Item = u32> {
    let side = |node: u32| city.network.nodes[node as usize].x < 0.0;
    (0..).zip(&city.network.links).filter(move |(_, link)| side(link.from) != side(link.to)).map(|(road, _)| road)
}

/// Both directions of the northernmost wide road across the river.
fn bridge(city: &City) -> Vec<u32> {
    let link = |road: u32| &city.network.links[road as usize];
    let north = |link: &Link| city.network.nodes[link.from as usize].y;
    let wide = river(city).filter(|&road| link(road).lanes > 1);
    let Some(best) = wide.max_by(|&a, &b| north(link(a)).total_cmp(&north(link(b)))) else { return Vec::new() };
    let ends = [link(best).from, link(best).to];
    river(city).filter(|&road| ends.contains(&link(road).from) && ends.contains(&link(road).to)).collect()
}
