//! Stretches of road from junction to junction, and the links that may be driven along them.

use std::ops::Range;

use super::tags::Carriageway;
use super::ways::{Point, Points, Way};
use crate::map::geo::{self, Place, Projection};
use crate::map::{Bends, Control, Link, Node, Shape};

/// Metres along the road within which traffic lights belong to a junction: they stand at its stop
/// lines. Farther away they are for people on foot.
const STOP_LINE: f64 = 60.0;

/// Nodes and links as the map has them, and where each comes from.
pub struct Raw {
    pub nodes: Vec<Node>,
    /// In the order of their ways.
    pub links: Vec<Link>,
    pub ways: Vec<Way>,
    /// The way of each link.
    pub way_of: Vec<u32>,
    /// The middle of the nodes.
    pub middle: Place,
    /// How links bend.
    pub bends: Bends,
    /// Traffic lights too far from any junction to be its own.
    pub foot_lights: usize,
    /// The points by id, and the number of the node for each that is one.
    points: Points,
    numbers: Vec<u32>,
}

impl Raw {
    pub fn new(mut points: Points) -> Self {
        let segments = cut(&mut points);
        let foot_lights = move_signals(&mut points, &segments);
        let (nodes, numbers, middle) = nodes(&points.points);
        let ways = std::mem::take(&mut points.ways);
        let (mut links, mut way_of, mut bends) = (Vec::new(), Vec::new(), Bends::default());
        let projection = Projection::at(middle);
        for segment in segments {
            let shape = bends.add(&segment.line(&points, &projection));
            for link in segment.links(&ways[segment.way as usize], shape, &numbers) {
                links.push(link);
                way_of.push(segment.way);
            }
        }
        points.named = Vec::new();
        Self { nodes, links, ways, way_of, middle, bends, foot_lights, points, numbers }
    }

    /// The number of the node with this id, if it is one.
    pub fn node(&self, id: i64) -> Option<u32> {
        let point = self.points.number(id)?;
        let is_node = |point: &Point| point.junction && point.place.is_some();
        is_node(&self.points.points[point as usize]).then(|| self.numbers[point as usize])
    }

    /// Whether each link is part of a roundabout.
    pub fn rings(&self) -> Vec<bool> {
        self.way_of.iter().map(|&way| self.ways[way as usize].road.ring).collect()
    }
}

/// A stretch of road between two junctions.
#[derive(Debug, PartialEq)]
struct Segment {
    way: u32,
    /// The points that it runs through, as indices of those named along ways.
    run: Range<usize>,
    /// Indices of the points at both ends.
    start: u32,
    end: u32,
    length_dm: u32,
    /// Whether a signal stands at a stop line before the start or the end.
    signal_near_start: bool,
    signal_near_end: bool,
    /// Signals between the ends that belong to neither.
    other_signals: u32,
}

/// Cuts all ways at their junctions.
fn cut(points: &mut Points) -> Vec<Segment> {
    let runs = points.runs();
    for (_, run) in &runs {
        for end in [run.start, run.end - 1] {
            points.points[points.named[end] as usize].junction = true;
        }
    }
    runs.into_iter().flat_map(|(way, run)| segments(way, run, points)).collect()
}

/// Moves signals at stop lines to their junctions: there is one for each approach, and a node with
/// a single approach would have nothing to alternate with. Returns how many are left over.
fn move_signals(points: &mut Points, segments: &[Segment]) -> usize {
    for segment in segments {
        points.points[segment.start as usize].signal |= segment.signal_near_start;
        points.points[segment.end as usize].signal |= segment.signal_near_end;
    }
    segments.iter().map(|segment| segment.other_signals as usize).sum()
}

/// The junctions as nodes, the number of the node for every point that is one, and their middle.
fn nodes(points: &[Point]) -> (Vec<Node>, Vec<u32>, Place) {
    let mut numbers = vec![0; points.len()];
    let (mut places, mut controls) = (Vec::new(), Vec::new());
    for (point, number) in points.iter().zip(&mut numbers) {
        if let (true, Some(place)) = (point.junction, point.place) {
            *number = places.len() as u32;
            places.push(place);
            controls.push(control(point));
        }
    }
    let middle = geo::middle_of(&places);
    let flat = geo::project(&places).into_iter().zip(controls);
    (flat.map(|((x, y), control)| Node::new(x, y, control)).collect(), numbers, middle)
}

fn control(point: &Point) -> Control {
    match point {
        Point { signal: true, .. } => Control::Signals,
        Point { mini_roundabout: true, .. } => Control::Roundabout,
        _ => Control::Priority,
    }
}

impl Segment {
    /// The directions that may be driven, between nodes instead of points.
    fn links(&self, way: &Way, shape: Shape, numbers: &[u32]) -> impl Iterator<Item = Link> + use<> {
        let (road, length_dm) = (way.road, self.length_dm);
        let (start, end) = (numbers[self.start as usize], numbers[self.end as usize]);
        let link = move |from, to, shape| {
            move |side: Carriageway| Link {
                lane_flow: road.lane_flow,
                class: road.class,
                shape,
                ..Link::new(from, to, length_dm, side.lanes, side.speed_kmh)
            }
        };
        let backward = road.backward.map(link(end, start, shape.reversed()));
        road.forward.map(link(start, end, shape)).into_iter().chain(backward)
    }

    /// From end to end, in metres from the map's middle.
    fn line(&self, points: &Points, projection: &Projection) -> Vec<(f32, f32)> {
        let places = points.named[self.run.clone()].iter().filter_map(|&point| points.points[point as usize].place);
        places.map(|place| projection.point(place)).collect()
    }
}

/// Cuts a run of points at its junctions. The first and the last point have to be junctions.
fn segments(way: u32, run: Range<usize>, points: &Points) -> Vec<Segment> {
    let is_junction = |&at: &usize| points.points[points.named[at] as usize].junction;
    let cuts: Vec<usize> = run.filter(is_junction).collect();
    cuts.windows(2).map(|cut| segment(way, cut[0]..cut[1] + 1, points)).collect()
}

/// One segment from the points it runs through.
fn segment(way: u32, range: Range<usize>, points: &Points) -> Segment {
    let (run, points) = (&points.named[range.clone()], &points.points);
    let distances = distances(run, points);
    let (last, length) = (run.len() - 1, distances[run.len() - 1]);
    let mut segment = Segment {
        way,
        run: range,
        start: run[0],
        end: run[last],
        length_dm: (length * 10.0).round() as u32,
        signal_near_start: false,
        signal_near_end: false,
        other_signals: 0,
    };
    for at in (1..last).filter(|&i| points[run[i] as usize].signal).map(|i| distances[i]) {
        let from_end = length - at;
        segment.signal_near_start |= at < from_end && at <= STOP_LINE;
        segment.signal_near_end |= at >= from_end && from_end <= STOP_LINE;
        segment.other_signals += u32::from(at.min(from_end) > STOP_LINE);
    }
    segment
}

/// Metres along the road from the first point to each.
fn distances(run: &[u32], points: &[Point]) -> Vec<f64> {
    let places = run.iter().filter_map(|&point| points[point as usize].place);
    let mut before: Option<Place> = None;
    places
        .scan(0.0, |metres, place| {
            *metres += before.replace(place).map_or(0.0, |before| before.distance(place));
            Some(*metres)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::osm::marks::Marks;
    use crate::map::osm::tags::{Direction, Road, WayTags};
    use crate::map::osm::ways::Ways;

    /// A degree of latitude is 111,195 m, so a step of this size is 50 m.
    const STEP: f64 = 50.0 / 111_195.08;

    fn road(direction: Direction) -> Road {
        let mut tags = WayTags::default();
        tags.add("highway", "tertiary");
        match direction {
            Direction::Forward => tags.add("oneway", "yes"),
            Direction::Backward => tags.add("oneway", "-1"),
            Direction::Both => {}
        }
        tags.road().unwrap()
    }

    /// Ways over points that stand 50 m apart on a meridian in the order of their ids; those in
    /// `missing` are outside of the extract.
    fn raw(ways: &[(Direction, &[i64])], signals: &[i64], missing: &[i64]) -> Raw {
        let mut map = Ways::new(0);
        for (id, (direction, nodes)) in (1..).zip(ways) {
            map.add(id, road(*direction), nodes.iter().copied().map(Ok)).unwrap();
        }
        let mut points = Points::of(map);
        for id in (0..20).filter(|id| !missing.contains(id)) {
            if let Some(number) = points.number(id) {
                let marks = Marks { signal: signals.contains(&id), ..Marks::default() };
                points.put(number, Place { lon: 0.0, lat: id as f64 * STEP }, marks);
            }
        }
        Raw::new(points)
    }

    fn signals(map: &Raw) -> Vec<bool> {
        // From south to north.
        let mut nodes = map.nodes.clone();
        nodes.sort_by(|a, b| a.y.total_cmp(&b.y));
        nodes.iter().map(|node| node.has_signals()).collect()
    }

    #[test]
    fn shape_points_are_merged_away() {
        let map = raw(&[(Direction::Both, &[0, 1, 2, 3, 4]), (Direction::Both, &[3, 5])], &[], &[]);
        assert_eq!(map.nodes.len(), 4, "the ends and the crossing");
        let mut lengths: Vec<u32> = map.links.iter().map(|link| link.length_dm).collect();
        lengths.sort_unstable();
        assert_eq!(lengths, [500, 500, 1_000, 1_000, 1_500, 1_500]);
        assert_eq!(map.way_of, [0, 0, 0, 0, 1, 1]);
        assert_eq!([0, 1, 3].map(|id| map.node(id).is_some()), [true, false, true]);
    }

    #[test]
    fn roads_keep_their_bends_in_either_direction() {
        let mut map = Ways::new(0);
        map.add(1, road(Direction::Both), [0, 1, 2, 3].map(Ok).into_iter()).unwrap();
        let mut points = Points::of(map);
        for (id, east, north) in [(0, 0.0, 0.0), (1, 0.0, 2.0), (2, 2.0, 2.0), (3, 4.0, 2.0)] {
            let number = points.number(id).unwrap();
            points.put(number, Place { lon: east * STEP, lat: north * STEP }, Marks::default());
        }
        let map = Raw::new(points);
        let bend = |link: usize| map.bends.of(map.links[link].shape);
        // The ends are 200 m and 100 m apart, and the origin is between them.
        let [(x, y)] = bend(0)[..] else { panic!("one bend: {:?}", bend(0)) };
        assert!((x + 100.0).abs() < 0.1 && (y - 50.0).abs() < 0.1, "{x}, {y}");
        assert_eq!(bend(0), bend(1), "there and back");
    }

    #[test]
    fn one_way_rings_keep_their_direction() {
        let map = raw(&[(Direction::Forward, &[0, 1, 2]), (Direction::Backward, &[0, 3, 2])], &[], &[]);
        let (there, back) = (map.links[0], map.links[1]);
        assert_eq!(map.links.len(), 2);
        assert_eq!((there.from, there.to), (back.to, back.from));
    }

    #[test]
    fn a_signal_at_a_stop_line_moves_to_its_junction() {
        let both = Direction::Both;
        let ways: [(Direction, &[i64]); 2] = [(both, &[0, 1, 2, 3, 4, 5]), (both, &[5, 6])];
        assert_eq!(signals(&raw(&ways, &[4], &[])), [false, true, false]);
        assert_eq!(signals(&raw(&ways, &[1, 4], &[])), [true, true, false]);
        assert_eq!(signals(&raw(&ways, &[5], &[])), [false, true, false]);
    }

    #[test]
    fn a_signal_far_from_any_junction_is_for_people_on_foot() {
        let map = raw(&[(Direction::Both, &[0, 1, 2, 3, 4, 5])], &[2, 4], &[]);
        assert_eq!(signals(&map), [false, true]);
        assert_eq!(map.foot_lights, 1);
    }

    #[test]
    fn a_way_is_cut_where_it_leaves_the_extract() {
        let map = raw(&[(Direction::Both, &[0, 1, 2, 3, 4, 5, 6])], &[], &[2]);
        let lengths: Vec<u32> = map.links.iter().map(|link| link.length_dm).collect();
        assert_eq!(lengths, [500, 500, 1_500, 1_500], "from 0 to 1, and from 3 to 6");
        assert_eq!(map.node(2), None);
    }
}
