//! Ways and the nodes they name.

use std::ops::Range;

use super::marks::Marks;
use super::tags::Road;
use super::unread::{Kinds, Tally};
use super::wire::Broken;
use crate::map::geo::Place;

/// Ways name no more nodes than these, and one for so many bytes of the file. A real extract has a
/// node in a way for every ten bytes or more, since it also says where each of them is.
const FREE_NODES: u64 = 256 << 10;
const BYTES_PER_NODE: u64 = 2;

/// The ways of an extract that cars may use, with the ids of the nodes they name.
pub struct Ways {
    ways: Vec<Way>,
    nodes: Vec<i64>,
    /// The most nodes that a file of this size can name.
    most: u64,
}

/// A way: its nodes are those from the end of the way before it up to its own.
pub struct Way {
    pub id: i64,
    pub road: Road,
    end: u32,
}

impl Ways {
    /// None, in a file of so many bytes.
    pub fn new(file: u64) -> Self {
        Self { ways: Vec::new(), nodes: Vec::new(), most: most_nodes(file) }
    }

    /// The most nodes that all ways may name together.
    pub fn most_nodes(&self) -> u64 {
        self.most
    }

    /// Adds a way that names nodes by their ids.
    pub fn add(&mut self, id: i64, road: Road, nodes: impl Iterator<Item = Result<i64, Broken>>) -> Result<(), Broken> {
        for node in nodes {
            self.nodes.push(node?);
            if self.nodes.len() as u64 + self.ways.len() as u64 >= self.most {
                return Err(too_many_nodes(self.most));
            }
        }
        let end = self.nodes.len() as u32;
        // A way through no nodes leads nowhere, and must not be counted for ever.
        if self.ways.last().map_or(0, |way| way.end) < end {
            self.ways.push(Way { id, road, end });
        }
        Ok(())
    }

    /// Leaves the first of the ways with the same id and the same nodes, and tells how many go:
    /// extracts that were joined have those across their border twice. Of some each has a part of
    /// its own, which stays.
    pub fn dedup(&mut self) -> usize {
        // Nearly all files are sorted, which takes no memory to see.
        if self.ways.is_sorted_by(|a, b| a.id < b.id) {
            return 0;
        }
        let is_first = self.first_of_their_kind();
        let (mut begin, mut kept) = (0, 0);
        for (way, is_first) in self.ways.iter_mut().zip(&is_first) {
            let named = begin..way.end as usize;
            begin = named.end;
            if *is_first {
                self.nodes.copy_within(named.clone(), kept);
                kept += named.len();
                way.end = kept as u32;
            }
        }
        self.nodes.truncate(kept);
        let before = self.ways.len();
        let mut is_first = is_first.into_iter();
        self.ways.retain(|_| is_first.next() == Some(true));
        before - self.ways.len()
    }

    fn first_of_their_kind(&self) -> Vec<bool> {
        let named = |way: usize| {
            let begin = way.checked_sub(1).map_or(0, |before| self.ways[before].end);
            &self.nodes[begin as usize..self.ways[way].end as usize]
        };
        let key = |way: u32| (self.ways[way as usize].id, named(way as usize));
        let mut order: Vec<u32> = (0..self.ways.len() as u32).collect();
        order.sort_unstable_by(|&a, &b| (key(a), a).cmp(&(key(b), b)));
        let mut is_first = vec![true; order.len()];
        for pair in order.windows(2) {
            is_first[pair[1] as usize] = key(pair[0]) != key(pair[1]);
        }
        is_first
    }
}

/// The most nodes that the ways of a file of so many bytes may name.
pub fn most_nodes(file: u64) -> u64 {
    (file / BYTES_PER_NODE + FREE_NODES).min(u32::MAX.into())
}

pub fn too_many_nodes(most: u64) -> Broken {
    Broken::new(format_args!("more than {most} nodes in ways, too many for the file's size"))
}

/// The nodes that ways name.
pub struct Points {
    pub ways: Vec<Way>,
    /// For each node along the ways which point it is.
    pub named: Vec<u32>,
    pub points: Vec<Point>,
    /// The ids of all points in ascending order, and the numbers of the points.
    ids: Vec<(i64, u32)>,
    /// What their tags say that is not read.
    pub tally: Tally,
}

/// A node that a way names.
#[derive(Clone, Default)]
pub struct Point {
    /// `None` if the extract was cut so that the way went out of it.
    pub place: Option<Place>,
    pub signal: bool,
    pub mini_roundabout: bool,
    /// What else stands here, of which each kind is in the tally.
    unread: Kinds,
    /// A way ends here or several meet: what lies between two junctions is only the shape of the
    /// road.
    pub junction: bool,
}

impl Points {
    /// Numbers the nodes in the order in which ways name them.
    pub fn of(ways: Ways) -> Self {
        let Ways { ways, nodes, .. } = ways;
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
        Self { ways, named, points, ids, tally: Tally::default() }
    }

    /// The point that is the node with this id, if a way names it.
    pub fn number(&self, id: i64) -> Option<u32> {
        let place = self.ids.binary_search_by_key(&id, |(known, _)| *known).ok()?;
        Some(self.ids[place].1)
    }

    /// Takes note of a node if a way names it.
    pub fn add(&mut self, id: i64, place: Option<Place>, marks: Marks) -> Result<(), Broken> {
        match (self.number(id), place) {
            (Some(number), Some(place)) => self.put(number, place, marks),
            (Some(_), None) => return Err(Broken::new(format_args!("node {id} is nowhere on earth"))),
            (None, _) => {}
        }
        Ok(())
    }

    /// Tells where a point is and what stands there. A node may come twice, as Overpass writes it
    /// also once without its tags, and counts once.
    pub fn put(&mut self, number: u32, place: Place, marks: Marks) {
        let point = &mut self.points[number as usize];
        point.place = Some(place);
        point.signal |= marks.signal;
        point.mini_roundabout |= marks.mini_roundabout;
        self.tally.add_all(marks.unread.without(point.unread));
        point.unread = point.unread.with(marks.unread);
    }

    /// How many of the nodes that ways name are not in the extract, and how many are.
    pub fn missing(&self) -> (usize, usize) {
        let missing = self.points.iter().filter(|point| point.place.is_none()).count();
        (missing, self.points.len() - missing)
    }

    /// The parts of ways that lie in the extract: the number of the way and a range of `named`.
    pub fn runs(&self) -> Vec<(u32, Range<usize>)> {
        let inside = |&point: &u32| self.points[point as usize].place.is_some();
        let mut runs = Vec::new();
        let mut start = 0;
        for (number, way) in (0..).zip(&self.ways) {
            for run in self.named[start..way.end as usize].chunk_by(|a, b| inside(a) && inside(b)) {
                let end = start + run.len();
                if run.len() > 1 {
                    runs.push((number, start..end));
                }
                start = end;
            }
        }
        runs
    }
}
