//! A line of straight pieces, by how far one is along it.

use bevy::math::Vec2;

use crate::map::{Link, Network, Node};

/// Metres around an intersection within which roads lead straight to it.
const JUNCTION: f32 = 12.0;

/// Through at least two points.
#[derive(Clone, Debug)]
pub struct Line {
    pieces: Box<[Piece]>,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    start: Vec2,
    /// A unit vector.
    direction: Vec2,
    /// Metres from the begin of the line to its own.
    begin: f32,
    length: f32,
}

impl Line {
    /// A link's, from intersection to intersection. What the map draws right before an intersection
    /// is left out: several nodes may have become one, and not where its lines end.
    pub fn of(network: &Network, link: &Link) -> Self {
        let [start, end] = [link.from, link.to].map(|node| point(&network.nodes[node as usize]));
        let bends = network.bends.of(link.shape).into_iter().map(Vec2::from);
        let is_between = |bend: &Vec2| bend.distance(start) > JUNCTION && bend.distance(end) > JUNCTION;
        Self::new([start].into_iter().chain(bends.filter(is_between)).chain([end]))
    }

    /// Through these points; points at the same place as the one before add nothing.
    pub fn new(points: impl IntoIterator<Item = Vec2>) -> Self {
        let mut points = points.into_iter();
        let mut start = points.next().unwrap_or_default();
        let (mut pieces, mut begin) = (Vec::new(), 0.0);
        let origin = start;
        for end in points {
            if let Some(direction) = (end - start).try_normalize() {
                let length = start.distance(end);
                pieces.push(Piece { start, direction, begin, length });
                (start, begin) = (end, begin + length);
            }
        }
        if pieces.is_empty() {
            pieces.push(Piece { start: origin, direction: Vec2::X, begin: 0.0, length: 0.0 });
        }
        Self { pieces: pieces.into() }
    }

    /// In metres.
    pub fn length(&self) -> f32 {
        self.pieces.last().map_or(0.0, |piece| piece.begin + piece.length)
    }

    /// The ends of its pieces.
    pub fn pieces(&self) -> impl Iterator<Item = (Vec2, Vec2)> + Clone {
        self.pieces.iter().map(|piece| (piece.start, piece.start + piece.direction * piece.length))
    }

    /// How far along its ends and its bends are.
    pub fn corners(&self) -> impl Iterator<Item = f32> {
        self.pieces.iter().map(|piece| piece.begin).chain([self.length()])
    }

    /// The point at so many metres from its begin, and where the line leads there. Beyond its ends
    /// it goes straight on.
    pub fn at(&self, along: f32) -> (Vec2, Vec2) {
        let next = self.pieces.partition_point(|piece| piece.begin <= along);
        let piece = &self.pieces[next.saturating_sub(1)];
        (piece.start + piece.direction * (along - piece.begin), piece.direction)
    }

    /// How far along it comes nearest to a point.
    pub fn nearest(&self, point: Vec2) -> f32 {
        let on = |piece: &Piece| {
            let along = (point - piece.start).dot(piece.direction).clamp(0.0, piece.length);
            (piece.begin + along, (piece.start + piece.direction * along).distance_squared(point))
        };
        let nearest = self.pieces.iter().map(on).min_by(|a, b| a.1.total_cmp(&b.1));
        nearest.map_or(0.0, |(along, _)| along)
    }
}

/// Where a node is.
pub fn point(node: &Node) -> Vec2 {
    Vec2::new(node.x, node.y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bend_is_driven_around() {
        let line = Line::new([Vec2::ZERO, Vec2::new(30.0, 0.0), Vec2::new(30.0, 0.0), Vec2::new(30.0, 40.0)]);
        assert_eq!(line.length(), 70.0);
        assert_eq!(line.at(10.0), (Vec2::new(10.0, 0.0), Vec2::X));
        assert_eq!(line.at(50.0), (Vec2::new(30.0, 20.0), Vec2::Y));
        assert_eq!(line.at(-5.0).0, Vec2::new(-5.0, 0.0));
        assert_eq!(line.at(80.0).0, Vec2::new(30.0, 50.0));
        assert_eq!(line.corners().collect::<Vec<_>>(), [0.0, 30.0, 70.0]);
        assert_eq!((line.nearest(Vec2::new(12.0, 9.0)), line.nearest(Vec2::new(99.0, 25.0))), (12.0, 55.0));
    }

    #[test]
    fn a_line_to_where_it_began_is_a_point() {
        for points in [vec![], vec![Vec2::ONE], vec![Vec2::ONE, Vec2::ONE]] {
            let line = Line::new(points.clone());
            assert_eq!(line.length(), 0.0);
            assert_eq!(line.at(0.0), (points.first().copied().unwrap_or_default(), Vec2::X));
        }
    }
}
