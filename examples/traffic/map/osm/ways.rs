//! Ways and the nodes they name, cut into links from intersection to intersection.

use std::ops::Range;

use super::tags::{Direction, Road};
use super::wire::Broken;
use crate::map::assemble::assemble;
use crate::map::geo::{self, Place};
use crate::map::{Control, Link, MapError, Network, Node};

/// Ways name no more nodes than these, and one for so many bytes of the file. A real extract has a
/// node in a way for every ten bytes or more, since it also says where each of them is.
const FREE_NODES: u64 = 256 << 10;
const BYTES_PER_NODE: u64 = 2;

/// The ways of an extract that cars may use, with the ids of the nodes they name.
pub struct Ways {
    roads: Vec<Stretch>,
    nodes: Vec<i64>,
    /// The most nodes that a file of this size can name.
    most: u64,
}

/// A way: its nodes are those from the end of the way before it up to its own.
struct Stretch {
    road: Road,
    end: u32,
}

impl Ways {
    /// None, in a file of so many bytes.
    pub fn new(file: u64) -> Self {
        Self { roads: Vec::new(), nodes: Vec::new(), most: (file / BYTES_PER_NODE + FREE_NODES).min(u32::MAX.into()) }
    }

    /// Adds a way that names nodes by their ids.
    pub fn add(&mut self, road: Road, ids: impl Iterator<Item = Result<i64, Broken>>) -> Result<(), Broken> {
        for id in ids {
            self.nodes.push(id?);
            if self.nodes.len() as u64 + self.roads.len() as u64 >= self.most {
                let most = self.most;
                return Err(Broken::new(format_args!("more than {most} nodes in ways, too many for the file's size")));
            }
        }
        let end = self.nodes.len() as u32;
        // A way through no nodes leads nowhere, and must not be counted for ever.
        if self.roads.last().map_or(0, |way| way.end) < end {
            self.roads.push(Stretch { road, end });
        }
        Ok(())
    }
}

/// The nodes that ways name.
pub struct Points {
    ways: Vec<Stretch>,
    /// For each node along the ways which point it is.
    named: Vec<u32>,
    points: Vec<Point>,
    /// The ids of all points in ascending order, and the numbers of the points.
    ids: Vec<(i64, u32)>,
}

/// A node that a way names.
#[derive(Clone, Default)]
struct Point {
    /// `None` if the extract was cut so that the way went out of it.
    place: Option<Place>,
    signal: bool,
    /// A way ends here or several meet: what lies between two junctions is only the shape of the
    /// road.
    junction: bool,
}

impl Points {
    /// Numbers the nodes in the order in which ways name them.
    pub fn of(ways: Ways) -> Self {
        let Ways { roads, nodes, .. } = ways;
        let mut ids: Vec<(i64, u32)> = nodes.iter().copied().zip(0..).collect();
        ids.sort_unstable();
        // Of each id the first mention is left, until the point has its number: that is never above
        // its first mention, and so below all later ones.
        ids.dedup_by_key(|(id, _)| *id);
        let mut points = vec![Point::default(); ids.len()];
        let mut next = 0;
        let mut named = Vec::with_capacity(nodes.len());
        for (mention, id) in (0..).zip(nodes) {
            let place = ids.partition_point(|(known, _)| *known < id);
            let number = &mut ids[place].1;
            if *number == mention {
                *number = next;
                next += 1;
            } else {
                points[*number as usize].junction = true;
            }
            named.push(*number);
        }
        Self { ways: roads, named, points, ids }
    }

    /// The point that is the node with this id, if a way names it.
    pub fn number(&self, id: i64) -> Option<u32> {
        let place = self.ids.binary_search_by_key(&id, |(known, _)| *known).ok()?;
        Some(self.ids[place].1)
    }

    /// Tells where a point is.
    pub fn put(&mut self, number: u32, place: Place, signal: bool) {
        let point = &mut self.points[number as usize];
        point.place = Some(place);
        point.signal = signal;
    }

    /// Makes the network; `name` and `attribution` go into it.
    pub fn into_network(self, name: &str, attribution: &str) -> Result<Network, MapError> {
        let (nodes, links) = self.into_parts();
        assemble(name, Some(attribution), nodes, links)
    }

    fn into_parts(mut self) -> (Vec<Node>, Vec<Link>) {
        let runs = self.runs();
        for (_, run) in &runs {
            for end in [run.start, run.end - 1] {
                self.points[self.named[end] as usize].junction = true;
            }
        }
        let segments: Vec<Segment> =
            runs.into_iter().flat_map(|(road, run)| segments(road, &self.named[run], &self.points)).collect();
        self.move_signals(&segments);
        let (nodes, numbers) = self.junctions();
        let links = segments.into_iter().flat_map(|segment| segment.links(&numbers)).collect();
        (nodes, links)
    }

    /// The parts of ways that lie in the extract, as ranges of `named`.
    fn runs(&self) -> Vec<(Road, Range<usize>)> {
        let inside = |&point: &u32| self.points[point as usize].place.is_some();
        let mut runs = Vec::new();
        let mut start = 0;
        for way in &self.ways {
            for run in self.named[start..way.end as usize].chunk_by(|a, b| inside(a) && inside(b)) {
                let end = start + run.len();
                if run.len() > 1 {
                    runs.push((way.road, start..end));
                }
                start = end;
            }
        }
        runs
    }

    /// Moves signals on the shape of a road to the junction nearest along it. They stand at the
    /// stop lines before a junction, one for each approach; a node with a single approach would
    /// have nothing to alternate with.
    fn move_signals(&mut self, segments: &[Segment]) {
        for segment in segments {
            if segment.signal_near_start {
                self.points[segment.start as usize].signal = true;
            }
            if segment.signal_near_end {
                self.points[segment.end as usize].signal = true;
            }
        }
    }

    /// The junctions as nodes, and the number of the node for every point that is one.
    fn junctions(&self) -> (Vec<Node>, Vec<u32>) {
        let mut numbers = vec![0; self.points.len()];
        let mut places = Vec::new();
        let mut signals = Vec::new();
        for (point, number) in self.points.iter().zip(&mut numbers) {
            if let (true, Some(place)) = (point.junction, point.place) {
                *number = places.len() as u32;
                places.push(place);
                signals.push(point.signal);
            }
        }
        let flat = geo::project(&places).into_iter().zip(signals);
        (
            flat.map(|((x, y), signal)| Node::new(x, y, if signal { Control::Signals } else { Control::Priority }))
                .collect(),
            numbers,
        )
    }
}

/// A stretch of road between two junctions.
#[derive(Debug, PartialEq)]
struct Segment {
    road: Road,
    /// Indices of the points at both ends.
    start: u32,
    end: u32,
    length_dm: u32,
    /// Whether a signal stands between the ends, nearer to the start or to the end.
    signal_near_start: bool,
    signal_near_end: bool,
}

impl Segment {
    /// The directions that may be driven, between nodes instead of points.
    fn links(self, numbers: &[u32]) -> impl Iterator<Item = Link> + use<> {
        let Segment { road, length_dm, .. } = self;
        let (start, end) = (numbers[self.start as usize], numbers[self.end as usize]);
        let link = move |from, to| Link {
            lane_flow: road.lane_flow,
            class: road.class,
            ..Link::new(from, to, length_dm, road.lanes, road.speed_kmh)
        };
        let forward = (road.direction != Direction::Backward).then(|| link(start, end));
        let backward = (road.direction != Direction::Forward).then(|| link(end, start));
        forward.into_iter().chain(backward)
    }
}

/// Cuts a run of points at its junctions. The first and the last point have to be junctions.
fn segments(road: Road, run: &[u32], points: &[Point]) -> Vec<Segment> {
    let junctions = (0..run.len()).filter(|&i| points[run[i] as usize].junction);
    let cuts: Vec<usize> = junctions.collect();
    cuts.windows(2).map(|cut| segment(road, &run[cut[0]..=cut[1]], points)).collect()
}

/// One segment from the points it runs through.
fn segment(road: Road, run: &[u32], points: &[Point]) -> Segment {
    let distances = distances(run, points);
    let (last, length) = (run.len() - 1, distances[run.len() - 1]);
    let signals: Vec<f64> = (1..last).filter(|&i| points[run[i] as usize].signal).map(|i| distances[i]).collect();
    Segment {
        road,
        start: run[0],
        end: run[last],
        length_dm: (length * 10.0).round() as u32,
        signal_near_start: signals.iter().any(|&at| at < length / 2.0),
        signal_near_end: signals.iter().any(|&at| at >= length / 2.0),
    }
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
    use crate::map::{Class, LANE_FLOW};

    /// A degree of latitude is 111,195 m, so a step of this size is 100 m.
    const STEP: f64 = 100.0 / 111_195.08;

    fn road(direction: Direction) -> Road {
        Road { direction, lanes: 1, speed_kmh: 50, lane_flow: LANE_FLOW, class: Class::Tertiary }
    }

    /// Ways over points that stand 100 m apart on a meridian in the order of their ids; those in
    /// `missing` are outside of the extract.
    fn network(ways: &[(Direction, &[i64])], signals: &[i64], missing: &[i64]) -> Network {
        let mut map = Ways::new(0);
        for (direction, ids) in ways {
            map.add(road(*direction), ids.iter().copied().map(Ok)).unwrap();
        }
        let mut points = Points::of(map);
        for id in (0..20).filter(|id| !missing.contains(id)) {
            if let Some(number) = points.number(id) {
                points.put(number, Place { lon: 0.0, lat: id as f64 * STEP }, signals.contains(&id));
            }
        }
        points.into_network("test", "nobody").unwrap()
    }

    /// Signal flags from south to north.
    fn signals(network: &Network) -> Vec<bool> {
        let mut nodes = network.nodes.clone();
        nodes.sort_by(|a, b| a.y.total_cmp(&b.y));
        nodes.iter().map(|node| node.has_signals()).collect()
    }

    #[test]
    fn shape_points_are_merged_away() {
        let map = network(&[(Direction::Both, &[0, 1, 2, 3, 4]), (Direction::Both, &[3, 5])], &[], &[]);
        assert_eq!(map.nodes.len(), 4, "the ends and the crossing");
        let mut lengths: Vec<u32> = map.links.iter().map(|link| link.length_dm).collect();
        lengths.sort_unstable();
        assert_eq!(lengths, [1_000, 1_000, 2_000, 2_000, 3_000, 3_000]);
    }

    #[test]
    fn one_way_rings_keep_their_direction() {
        let forward = network(&[(Direction::Forward, &[0, 1, 2]), (Direction::Backward, &[0, 3, 2])], &[], &[]);
        let (there, back) = (forward.links[0], forward.links[1]);
        assert_eq!(forward.links.len(), 2);
        assert_eq!((there.from, there.to), (back.to, back.from));
    }

    #[test]
    fn a_signal_at_a_stop_line_moves_to_its_junction() {
        let both = Direction::Both;
        let ways: [(Direction, &[i64]); 2] = [(both, &[0, 1, 2, 3, 4, 5]), (both, &[5, 6])];
        assert_eq!(signals(&network(&ways, &[4], &[])), [false, true, false]);
        assert_eq!(signals(&network(&ways, &[1, 4], &[])), [true, true, false]);
        assert_eq!(signals(&network(&ways, &[5], &[])), [false, true, false]);
    }

    #[test]
    fn a_way_is_cut_where_it_leaves_the_extract() {
        let map = network(&[(Direction::Both, &[0, 1, 2, 3, 4, 5, 6])], &[], &[2]);
        assert_eq!(map.nodes.len(), 2);
        assert_eq!(map.links[0].length_dm, 3_000, "the longer part, from 3 to 6");
    }
}
