//! Traffic lights for maps that have none.

use super::{Class, Control, Link, Network};

/// What a map tells of its roads' importance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// Each road has its class.
    Classes,
    /// Only how fast and wide they are: most roads are alike, and only long ones stand out.
    Speeds,
}

/// Busy roads that need lights wherever they meet.
const BUSY_ROADS: u8 = 3;

/// Roads at a crossing.
const CROSSING: u8 = 4;

/// What meets at a node; a road counts once, whether one may drive along it one way or both.
#[derive(Clone, Copy, Debug, Default)]
struct Meeting {
    roads: u8,
    busy: u8,
    wide: u8,
    motorway: bool,
}

/// Puts signals where busy roads cross if there are none anywhere, and returns how many. Cities
/// have them at one junction in ten to twenty; at the others the higher class drives first.
pub fn place(network: &mut Network, known: Known) -> usize {
    if network.nodes.iter().any(|node| node.has_signals()) {
        return 0;
    }
    let meetings = meetings(network);
    let wanting = network.nodes.iter_mut().zip(&meetings).filter(|(_, meeting)| meeting.needs_lights(known));
    let mut placed = 0;
    for (node, _) in wanting.filter(|(node, _)| node.control == Control::Priority) {
        node.control = Control::Signals;
        placed += 1;
    }
    placed
}

/// What is said of the lights that a map was given.
pub fn note(placed: usize) -> Option<String> {
    (placed > 0).then(|| format!("no traffic lights on the map: {placed} junctions of busy roads were given some"))
}

impl Meeting {
    fn needs_lights(self, known: Known) -> bool {
        let crossed = match known {
            Known::Classes => self.roads >= CROSSING && self.wide >= 2,
            Known::Speeds => self.roads >= CROSSING && self.busy >= 2 || self.roads > 2 && self.wide >= 2,
        };
        !self.motorway && (self.busy >= BUSY_ROADS || crossed)
    }

    fn add(&mut self, road: &Road) {
        self.roads = self.roads.saturating_add(1);
        self.busy = self.busy.saturating_add(road.busy.into());
        self.wide = self.wide.saturating_add(road.wide.into());
        self.motorway |= road.motorway;
    }
}

/// Both directions of what runs between two nodes.
struct Road {
    ends: (u32, u32),
    busy: bool,
    wide: bool,
    motorway: bool,
}

impl Road {
    fn of(link: &Link) -> Self {
        Self {
            ends: (link.from.min(link.to), link.from.max(link.to)),
            busy: link.class >= Class::Tertiary,
            wide: link.lanes > 1,
            motorway: link.class == Class::Motorway,
        }
    }
}

fn meetings(network: &Network) -> Vec<Meeting> {
    let mut roads: Vec<Road> = network.links.iter().map(Road::of).collect();
    roads.sort_unstable_by_key(|road| road.ends);
    roads.dedup_by(|next, road| {
        let same = next.ends == road.ends;
        if same {
            (road.busy, road.wide) = (road.busy | next.busy, road.wide | next.wide);
            road.motorway |= next.motorway;
        }
        same
    });
    let mut meetings = vec![Meeting::default(); network.nodes.len()];
    for road in &roads {
        meetings[road.ends.0 as usize].add(road);
        meetings[road.ends.1 as usize].add(road);
    }
    meetings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::Node;

    /// How many lights are placed where roads of these classes and lanes meet.
    fn placed(roads: &[(Class, u8)], control: Control, known: Known) -> usize {
        let nodes = std::iter::once(control).chain(roads.iter().map(|_| Control::Priority));
        let nodes = nodes.map(|control| Node::new(0.0, 0.0, control)).collect();
        let road = |(arm, &(class, lanes)): (u32, &(Class, u8))| {
            let link = |from, to| Link { class, ..Link::new(from, to, 1_000, lanes, 50) };
            [link(0, arm), link(arm, 0)]
        };
        place(&mut Network::new("star", nodes, (1..).zip(roads).flat_map(road).collect()), known)
    }

    const STREET: (Class, u8) = (Class::Residential, 1);
    const AVENUE: (Class, u8) = (Class::Secondary, 1);
    const WIDE: (Class, u8) = (Class::Primary, 2);

    #[test]
    fn lights_stand_where_busy_roads_cross() {
        // Where classes are known, and where only speeds are.
        for (roads, by_class, by_speed) in [
            (&[STREET; 3][..], 0, 0),
            (&[STREET; 4], 0, 0),
            (&[AVENUE, AVENUE, STREET], 0, 0),
            (&[AVENUE, AVENUE, STREET, STREET], 0, 1),
            (&[AVENUE, AVENUE, AVENUE], 1, 1),
            (&[WIDE, WIDE, STREET], 0, 1),
            (&[WIDE, WIDE, STREET, STREET], 1, 1),
            (&[WIDE, WIDE, AVENUE], 1, 1),
            (&[WIDE, WIDE, (Class::Motorway, 2)], 0, 0),
        ] {
            assert_eq!(placed(roads, Control::Priority, Known::Classes), by_class, "{roads:?}");
            assert_eq!(placed(roads, Control::Priority, Known::Speeds), by_speed, "{roads:?}");
        }
    }

    #[test]
    fn a_map_with_lights_and_a_roundabout_stay_as_they_are() {
        assert_eq!(placed(&[AVENUE; 4], Control::Signals, Known::Classes), 0);
        assert_eq!(placed(&[AVENUE; 4], Control::Roundabout, Known::Classes), 0);
    }
}
