//! Roads as the GPU gets them: both directions of a road are one ribbon.

use bevy::math::{Rect, Vec2};

use super::course::LANE_WIDTH;
use super::line::Line;
use crate::map::{Link, Network};

/// In the place of a link's number: there is no way in that direction.
const NONE: u32 = u32::MAX;

/// Bytes of a ribbon.
pub const SIZE: usize = 32;

/// How important a road is, which decides how wide it is drawn from far away; the shader knows the
/// same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    Minor,
    Major,
    Motorway,
}

/// A straight piece of a road between two intersections.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ribbon {
    pub start: Vec2,
    pub end: Vec2,
    /// The nodes at both, if they are intersections and not bends of the road.
    pub nodes: [Option<u32>; 2],
    /// The link that is drawn on the right, seen from start to end: where cars keep to the right it
    /// leads from start to end.
    pub forward: u32,
    /// The link the other way, if there is one.
    pub backward: Option<u32>,
    pub lanes: (u8, u8),
    /// Metres at start and end that lie within a crossing.
    pub insets: [f32; 2],
    pub class: Class,
}

/// All roads of a network, the minor ones first, in each class in the order of the network:
/// neighbours in the list are neighbours in the city.
pub fn ribbons(network: &Network) -> Vec<Ribbon> {
    let numbers = 0..network.links.len() as u32;
    let mut ribbons: Vec<Ribbon> = numbers.flat_map(|number| pieces(network, number)).collect();
    ribbons.sort_by_key(|ribbon| ribbon.class > Class::Minor);
    ribbons
}

/// None if the link is the way back of another one.
fn pieces(network: &Network, number: u32) -> Vec<Ribbon> {
    let link = &network.links[number as usize];
    let backward = opposite(network, number);
    if backward.is_some_and(|backward| backward < number) {
        return Vec::new();
    }
    let line = Line::of(network, link);
    let back_lanes = backward.map_or(0, |backward| network.links[backward as usize].lanes);
    let last = line.pieces().count() - 1;
    let piece = |(index, (start, end)): (usize, (Vec2, Vec2))| {
        let nodes = [(index == 0).then_some(link.from), (index == last).then_some(link.to)];
        // The shader has the forward link on the right.
        let turned = network.left_hand;
        Ribbon {
            start: if turned { end } else { start },
            end: if turned { start } else { end },
            nodes: if turned { [nodes[1], nodes[0]] } else { nodes },
            forward: number,
            backward,
            lanes: (link.lanes, back_lanes),
            insets: [0.0; 2],
            class: Class::of(link),
        }
    };
    line.pieces().enumerate().map(piece).collect()
}

/// The link in the other direction: of several between the same intersections the one with the same
/// rank.
pub fn opposite(network: &Network, number: u32) -> Option<u32> {
    let links = &network.links;
    let key = |link: &Link| (link.to, link.from);
    let link = &links[number as usize];
    let first_at = |wanted| links.partition_point(|link| key(link) < wanted);
    let rank = number as usize - first_at(key(link));
    let back = first_at((link.from, link.to)) + rank;
    links.get(back).is_some_and(|other| key(other) == (link.from, link.to)).then_some(back as u32)
}

impl Class {
    fn of(link: &Link) -> Self {
        match (link.lanes, link.speed_kmh) {
            (3.., _) | (_, 90..) => Self::Motorway,
            (2, _) | (_, 60..) => Self::Major,
            _ => Self::Minor,
        }
    }
}

impl Ribbon {
    pub fn bounds(&self) -> Rect {
        Rect::from_corners(self.start, self.end).inflate(self.width() / 2.0)
    }

    /// Metres.
    pub fn width(&self) -> f32 {
        (f32::from(self.lanes.0) + f32::from(self.lanes.1)) * LANE_WIDTH
    }

    pub fn encode(&self) -> [u8; SIZE] {
        let look = u32::from(self.lanes.0) | u32::from(self.lanes.1) << 8 | (self.class as u32) << 16;
        let [start, end] = [self.start, self.end].map(|point| point.to_array().map(f32::to_bits));
        let insets = self.insets.map(|metres| (metres * 10.0).min(f32::from(u16::MAX)) as u32);
        let links = [self.forward, self.backward.unwrap_or(NONE)];
        let words = [start[0], start[1], end[0], end[1], links[0], links[1], look, insets[0] | insets[1] << 16];
        let mut bytes = [0; SIZE];
        for (bytes, word) in bytes.chunks_exact_mut(4).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::grid;

    #[test]
    fn every_link_is_on_one_ribbon() {
        let network = grid(6);
        let mut seen = vec![0; network.links.len()];
        for ribbon in ribbons(&network) {
            let (forward, backward) = (network.links[ribbon.forward as usize], ribbon.backward.unwrap());
            let back = network.links[backward as usize];
            assert_eq!((forward.from, forward.to), (back.to, back.from));
            seen[ribbon.forward as usize] += 1;
            seen[backward as usize] += 1;
        }
        assert!(seen.iter().all(|&times| times == 1));
    }

    #[test]
    fn parallel_links_pair_up_in_order_and_one_ways_stay_alone() {
        let mut network = grid(2);
        let (from, to) = (network.links[0].from, network.links[0].to);
        let twice = network.links.iter().copied().flat_map(|link| {
            let count = if (link.from, link.to) == (from, to) { 3 } else { 1 };
            std::iter::repeat_n(link, count)
        });
        network.links = twice.collect();
        let alone = ribbons(&network).into_iter().filter(|ribbon| ribbon.backward.is_none()).count();
        assert_eq!(alone, 2, "the way back has one lane for the first of three");
    }
}
