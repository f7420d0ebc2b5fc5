//! What is drawn of a city and never changes, worked out while it loads.

use bevy::math::{Rect, Vec2};
use bevy::prelude::Resource;

use super::course::{Course, LANE_WIDTH};
use super::line::{Line, point};
use super::ribbon::{Ribbon, opposite, ribbons};
use crate::map::land::Land;
use crate::map::{Link, Network};
use crate::model::{Road, travel_time};

/// Metres between the kerb of the crossing road and the middle of the first car that waits there.
const STOP_LINE_GAP: f32 = 4.0;

/// The largest share of a link that lies within the crossing at either end.
const LARGEST_INSET: f32 = 0.3;

/// Fewest roads at a crossing; two that meet are a bend.
const CROSSING: u8 = 3;

#[derive(Resource)]
pub struct Scenery {
    /// Around all intersections.
    pub bounds: Rect,
    /// What the camera shows first, if not everything: its centre and the metres from side to side.
    pub first_view: Option<(Vec2, f32)>,
    /// For each link its line.
    pub courses: Vec<Course>,
    /// For each link how many cars it holds.
    pub storage: Vec<u32>,
    /// For each intersection the rectangle around the links that end there.
    pub reach: Vec<Rect>,
    pub ribbons: Vec<Ribbon>,
    /// What lies around the roads, if the map has it.
    pub land: Land,
}

impl Scenery {
    pub fn new(network: &Network, first_view: Option<(Vec2, f32)>) -> Self {
        let mut ribbons = ribbons(network);
        let insets = insets(network, &ribbons);
        for ribbon in &mut ribbons {
            ribbon.insets = ribbon.nodes.map(|node| node.map_or(0.0, |node| insets[node as usize]));
        }
        let links = (0..).zip(&network.links);
        let courses: Vec<_> = links.map(|(number, link)| course(network, &insets, number, link)).collect();
        Self {
            bounds: network.nodes.iter().map(point).fold(Rect::EMPTY, |bounds, point| bounds.union_point(point)),
            first_view,
            storage: network.links.iter().map(|link| Road::new(link).storage).collect(),
            reach: reach(network, &courses),
            courses,
            ribbons,
            land: Land::default(),
        }
    }
}

impl Scenery {
    pub fn with_land(self, land: Land) -> Self {
        Self { land, ..self }
    }
}

/// For each intersection the metres from its middle to the stop lines.
fn insets(network: &Network, ribbons: &[Ribbon]) -> Vec<f32> {
    let mut crossings = vec![(0_u8, 0.0_f32); network.nodes.len()];
    for ribbon in ribbons {
        for node in ribbon.nodes.into_iter().flatten() {
            let (roads, widest) = &mut crossings[node as usize];
            *roads = roads.saturating_add(1);
            *widest = widest.max(ribbon.width());
        }
    }
    let inset = |(roads, widest)| if roads >= CROSSING { widest / 2.0 + STOP_LINE_GAP } else { 0.0 };
    crossings.into_iter().map(inset).collect()
}

fn course(network: &Network, insets: &[f32], number: u32, link: &Link) -> Course {
    let line = Line::of(network, link);
    let length = line.length();
    let inset = |node: u32| insets[node as usize].min(length * LARGEST_INSET);
    let opposite_lanes = opposite(network, number).map_or(0, |other| network.links[other as usize].lanes);
    Course {
        line,
        entry: inset(link.from),
        stop: length - inset(link.to),
        side: if network.left_hand { -1.0 } else { 1.0 },
        first_lane: (f32::from(opposite_lanes) - f32::from(link.lanes) + 1.0) / 2.0 * LANE_WIDTH,
        lanes: link.lanes,
        travel_time: travel_time(link),
    }
}

fn reach(network: &Network, courses: &[Course]) -> Vec<Rect> {
    let mut reach: Vec<Rect> = network.nodes.iter().map(|node| Rect::from_corners(point(node), point(node))).collect();
    for (link, course) in network.links.iter().zip(courses) {
        let rect = &mut reach[link.to as usize];
        for (start, _) in course.line.pieces() {
            *rect = rect.union_point(start);
        }
    }
    reach
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::grid;

    #[test]
    fn cars_stop_before_the_road_that_they_cross() {
        let network = grid(8);
        let scenery = Scenery::new(&network, None);
        for (course, link) in scenery.courses.iter().zip(&network.links) {
            let end = point(&network.nodes[link.to as usize]);
            assert!(course.entry < course.stop, "{course:?}");
            let at_stop_line = course.point(course.stop, 0).distance(end);
            assert!(at_stop_line < course.line.length(), "{course:?}");
            assert!(scenery.reach[link.to as usize].contains(course.line.at(0.0).0));
        }
    }

    /// How far a point lies to the right of the way from one to another.
    fn right_of(from: Vec2, to: Vec2, point: Vec2) -> f32 {
        -(to - from).normalize().perp_dot(point - from)
    }

    #[test]
    fn cars_and_their_traffic_are_drawn_where_they_drive() {
        for (left_hand, side) in [(false, 1.0), (true, -1.0)] {
            let network = Network { left_hand, ..grid(4) };
            let scenery = Scenery::new(&network, None);
            for (course, link) in scenery.courses.iter().zip(&network.links) {
                let [from, to] = [link.from, link.to].map(|node| point(&network.nodes[node as usize]));
                let right = right_of(from, to, course.point(50.0, 0));
                assert!((right - side * LANE_WIDTH / 2.0).abs() < 0.05, "{right} of {side}");
            }
            for ribbon in &scenery.ribbons {
                // The shader has the forward link on the right.
                let lane = scenery.courses[ribbon.forward as usize].point(50.0, 0);
                assert!(right_of(ribbon.start, ribbon.end, lane) > 1.0);
            }
        }
    }

    #[test]
    fn the_two_directions_do_not_share_a_lane() {
        let network = grid(4);
        let scenery = Scenery::new(&network, None);
        for ribbon in &scenery.ribbons {
            let (there, back) =
                (&scenery.courses[ribbon.forward as usize], &scenery.courses[ribbon.backward.unwrap() as usize]);
            let middle = ribbon.start.midpoint(ribbon.end);
            let length = ribbon.start.distance(ribbon.end);
            let apart = there.point(length / 2.0, 0).distance(back.point(length / 2.0, 0));
            assert!((apart - LANE_WIDTH).abs() < 0.05, "inner lanes lie side by side at {middle}: {apart}");
        }
    }
}
