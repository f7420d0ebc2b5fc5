//! What the tags of a way say about driving on it. Tags are free text written by many hands: what
//! cannot be understood counts as absent.

use super::Tags;
use super::access::{Access, Entry};
use super::speed;
use super::unread::{Kind, Kinds};
use crate::map::{Class, LANE_FLOW};

/// Most lanes in one direction that a tag is believed about.
const MAX_LANES: u8 = 8;

/// Which ways along a road may be driven, seen in the order of its nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Backward,
    Both,
}

/// A way that cars may drive on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Road {
    /// In the order of its nodes, and against it; `None` where that is forbidden.
    pub forward: Option<Carriageway>,
    pub backward: Option<Carriageway>,
    /// Vehicles an hour that each lane passes.
    pub lane_flow: u16,
    pub class: Class,
    /// Part of a roundabout.
    pub ring: bool,
    /// Whether the map says that cars keep to the left here.
    pub left_hand: Option<bool>,
}

/// One direction of a road.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carriageway {
    pub lanes: u8,
    pub speed_kmh: u16,
}

/// What the tags of a way say, in whatever order they come.
#[derive(Clone, Copy, Debug, Default)]
pub struct WayTags {
    defaults: Option<Defaults>,
    is_motorway: bool,
    is_area: bool,
    ring: bool,
    oneway: Option<Direction>,
    access: Access,
    lanes: Lanes,
    speed: Speeds,
    left_hand: Option<bool>,
    unread: Kinds,
}

/// Where nothing else is said.
#[derive(Clone, Copy, Debug)]
struct Defaults {
    /// In each direction.
    lanes: u8,
    speed_kmh: u16,
    class: Class,
}

/// The tag of all lanes, and those of the lanes of each direction and of neither.
#[derive(Clone, Copy, Debug, Default)]
struct Lanes {
    all: Option<u8>,
    forward: Option<u8>,
    backward: Option<u8>,
    both_ways: Option<u8>,
}

/// In km/h.
#[derive(Clone, Copy, Debug, Default)]
struct Speeds {
    both: Option<u16>,
    forward: Option<u16>,
    backward: Option<u16>,
    /// By the rule that a sign or a zone refers to.
    implied: Option<u16>,
}

impl Tags for WayTags {
    /// What is no text says nothing.
    fn add(&mut self, key: &[u8], value: &[u8]) {
        if let (Ok(key), Ok(value)) = (str::from_utf8(key), str::from_utf8(value)) {
            Self::add(self, key, value);
        }
    }
}

impl WayTags {
    pub fn add(&mut self, key: &str, value: &str) {
        match key {
            "highway" => self.highway(value),
            "area" => self.is_area = value == "yes",
            "junction" => self.ring = matches!(value, "roundabout" | "circular"),
            "oneway" => self.oneway(value),
            "driving_side" => self.left_hand = Some(value == "left"),
            "lanes" => self.lanes.all = count(value),
            "lanes:forward" => self.lanes.forward = count(value),
            "lanes:backward" => self.lanes.backward = count(value),
            "lanes:both_ways" => self.lanes.both_ways = count(value),
            "maxspeed" => self.speed.both = speed::limit(value),
            "maxspeed:forward" => self.speed.forward = speed::limit(value),
            "maxspeed:backward" => self.speed.backward = speed::limit(value),
            "maxspeed:type" | "source:maxspeed" | "zone:maxspeed" | "zone:traffic" => {
                self.speed.implied = self.speed.implied.or(speed::limit(value));
            }
            "lanes:bus" | "lanes:psv" | "bus:lanes" | "psv:lanes" | "busway" => self.unread.add(Kind::BusLanes),
            "turn:lanes" | "turn:lanes:forward" | "turn:lanes:backward" => self.unread.add(Kind::TurnLanes),
            _ if key.ends_with(":conditional") => self.unread.add(Kind::Conditional),
            _ => self.access.add(key, value),
        }
    }

    fn highway(&mut self, value: &str) {
        self.defaults = defaults(value.strip_suffix("_link").unwrap_or(value));
        self.is_motorway = value == "motorway";
        if value == "service" {
            self.unread.add(Kind::ServiceRoads);
        }
    }

    fn oneway(&mut self, value: &str) {
        self.oneway = match value {
            "yes" | "true" | "1" => Some(Direction::Forward),
            "-1" | "reverse" => Some(Direction::Backward),
            "no" | "false" | "0" => Some(Direction::Both),
            "reversible" | "alternating" => {
                self.unread.add(Kind::Reversible);
                None
            }
            _ => None,
        };
    }

    /// The road; `None` if it is none for cars. Service roads (driveways, car parks) are left out:
    /// they would add half as many nodes again and carry no through traffic.
    pub fn road(&self) -> Option<Road> {
        let Defaults { lanes, class, .. } = self.defaults.filter(|_| !self.is_area)?;
        if self.access.entry() == Entry::Closed {
            return None;
        }
        let direction = self.direction();
        let side = |only: Direction, lanes: u8, speed: Option<u16>| {
            (direction == only || direction == Direction::Both)
                .then(|| Carriageway { lanes, speed_kmh: self.speed_kmh(speed) })
        };
        let (forward, backward) = self.lanes.of(direction, lanes);
        Some(Road {
            forward: side(Direction::Forward, forward, self.speed.forward),
            backward: side(Direction::Backward, backward, self.speed.backward),
            lane_flow: lane_flow(class),
            class,
            ring: self.ring,
            left_hand: self.left_hand,
        })
    }

    /// What is not read of this way: of a way that is no road, only that there are such.
    pub fn unread(&self) -> Kinds {
        let mut unread = self.unread;
        match (self.defaults.filter(|_| !self.is_area), self.access.entry()) {
            (None, _) => return unread.only(Kind::ServiceRoads),
            (Some(_), Entry::Closed) => return Kinds::of(Kind::ClosedRoads),
            (Some(_), Entry::Destination) => unread.add(Kind::Destination),
            (Some(_), Entry::Open) => {}
        }
        unread
    }

    /// Roundabouts and motorways are one-way even where no tag says so.
    fn direction(&self) -> Direction {
        let implied = if self.ring || self.is_motorway { Direction::Forward } else { Direction::Both };
        self.oneway.unwrap_or(implied)
    }

    fn speed_kmh(&self, own: Option<u16>) -> u16 {
        let fallback = self.defaults.map_or(1, |defaults| defaults.speed_kmh);
        own.or(self.speed.both).or(self.speed.implied).unwrap_or(fallback)
    }
}

impl Lanes {
    /// Lanes forward and backward. The tag of all lanes counts both directions together and the
    /// lanes in the middle, from which both turn off.
    fn of(self, direction: Direction, default: u8) -> (u8, u8) {
        let in_reason = |lanes: u8| lanes.clamp(1, MAX_LANES);
        if direction != Direction::Both {
            let own = if direction == Direction::Forward { self.forward } else { self.backward };
            let lanes = in_reason(own.or(self.all).unwrap_or(default));
            return (lanes, lanes);
        }
        let directed = self.all.map(|all| all.saturating_sub(self.both_ways.unwrap_or(0)));
        let rest = |other: Option<u8>| Some(directed?.saturating_sub(other?));
        let half = directed.map_or(default, |lanes| lanes / 2);
        let forward = self.forward.or(rest(self.backward)).unwrap_or(half);
        let backward = self.backward.or(rest(self.forward)).unwrap_or(half);
        (in_reason(forward), in_reason(backward))
    }
}

/// A number of lanes; half ones do not count.
fn count(text: &str) -> Option<u8> {
    let whole = text.trim().strip_suffix(".5").unwrap_or(text.trim());
    whole.parse().ok().filter(|&lanes| lanes > 0)
}

fn defaults(highway: &str) -> Option<Defaults> {
    let (lanes, speed_kmh, class) = match highway {
        "motorway" => (2, 110, Class::Motorway),
        "trunk" => (1, 80, Class::Trunk),
        "primary" => (1, 70, Class::Primary),
        "secondary" => (1, 60, Class::Secondary),
        "tertiary" => (1, 50, Class::Tertiary),
        "unclassified" => (1, 50, Class::Residential),
        "residential" => (1, 40, Class::Residential),
        "living_street" => (1, 10, Class::Access),
        _ => return None,
    };
    Some(Defaults { lanes, speed_kmh, class })
}

/// Vehicles an hour and lane: more on motorways, where nothing crosses, and fewer where people
/// walk and cars stop at the kerb.
fn lane_flow(class: Class) -> u16 {
    match class {
        Class::Motorway => 2_000,
        Class::Access => 600,
        _ => LANE_FLOW,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(tags: &[(&str, &str)]) -> WayTags {
        let mut read = WayTags::default();
        tags.iter().for_each(|(key, value)| read.add(key, value));
        read
    }

    fn read(list: &[(&str, &str)]) -> Option<Road> {
        tags(list).road()
    }

    /// A residential street with these tags.
    fn street(list: &[(&str, &str)]) -> Road {
        read(&[&[("highway", "residential")], list].concat()).unwrap()
    }

    /// Lanes forward and backward, 0 where that is forbidden.
    fn lanes(list: &[(&str, &str)]) -> (u8, u8) {
        let road = street(list);
        let lanes = |side: Option<Carriageway>| side.map_or(0, |side| side.lanes);
        (lanes(road.forward), lanes(road.backward))
    }

    #[test]
    fn lanes_of_a_two_way_road_are_shared() {
        for (text, both, one_way) in [("1", 1, 1), ("2", 1, 2), ("4", 2, 4), ("5", 2, 5), ("200", 8, 8), ("1.5", 1, 1)]
        {
            assert_eq!(lanes(&[("lanes", text)]), (both, both), "{text}");
            assert_eq!(lanes(&[("oneway", "yes"), ("lanes", text)]), (one_way, 0), "{text}");
        }
        for text in ["0", "", "two", "2;3", "-1", "300"] {
            assert_eq!(lanes(&[("lanes", text)]), (1, 1), "{text}");
        }
    }

    #[test]
    fn lanes_may_differ_by_direction() {
        assert_eq!(lanes(&[("lanes", "3"), ("lanes:forward", "2")]), (2, 1));
        assert_eq!(lanes(&[("lanes", "3"), ("lanes:backward", "2")]), (1, 2));
        assert_eq!(lanes(&[("lanes:forward", "2"), ("lanes:backward", "3")]), (2, 3));
        assert_eq!(lanes(&[("lanes", "5"), ("lanes:both_ways", "1")]), (2, 2));
        assert_eq!(lanes(&[("lanes", "3"), ("lanes:both_ways", "1")]), (1, 1));
        assert_eq!(lanes(&[("lanes", "4"), ("lanes:both_ways", "1"), ("lanes:forward", "2")]), (2, 1));
        assert_eq!(lanes(&[("oneway", "-1"), ("lanes:backward", "2")]), (0, 2));
        assert_eq!(lanes(&[("lanes", "1"), ("lanes:forward", "9")]), (8, 1), "what makes no sense stays in bounds");
    }

    #[test]
    fn speeds_may_differ_by_direction() {
        let speeds = |list: &[(&str, &str)]| {
            let road = street(list);
            (road.forward.unwrap().speed_kmh, road.backward.unwrap().speed_kmh)
        };
        assert_eq!(speeds(&[]), (40, 40));
        assert_eq!(speeds(&[("maxspeed", "30 mph")]), (48, 48));
        assert_eq!(speeds(&[("maxspeed", "50"), ("maxspeed:forward", "30")]), (30, 50));
        assert_eq!(speeds(&[("maxspeed:backward", "20"), ("source:maxspeed", "DE:urban")]), (50, 20));
        assert_eq!(speeds(&[("maxspeed", "signals"), ("maxspeed:type", "GB:nsl_single")]), (97, 97));
    }

    #[test]
    fn one_way_streets_are_told_or_implied() {
        let direction = |list: &[(&str, &str)]| {
            let road = read(list).unwrap();
            (road.forward.is_some(), road.backward.is_some())
        };
        let residential = ("highway", "residential");
        assert_eq!(direction(&[residential]), (true, true));
        assert_eq!(direction(&[residential, ("oneway", "yes")]), (true, false));
        assert_eq!(direction(&[("oneway", "-1"), residential]), (false, true));
        assert_eq!(direction(&[residential, ("oneway", "reversible")]), (true, true));
        assert_eq!(direction(&[residential, ("junction", "roundabout")]), (true, false));
        assert_eq!(direction(&[residential, ("junction", "circular")]), (true, false));
        assert_eq!(direction(&[("highway", "motorway")]), (true, false));
        assert_eq!(direction(&[("highway", "motorway"), ("oneway", "no")]), (true, true));
        assert_eq!(direction(&[("highway", "motorway"), ("oneway", "alternating")]), (true, false));
        assert_eq!(direction(&[("highway", "motorway_link")]), (true, true));
    }

    #[test]
    fn only_roads_for_through_traffic_count() {
        for highway in ["footway", "service", "track", "construction", "", "residential_"] {
            assert_eq!(read(&[("highway", highway)]), None, "{highway}");
        }
        assert_eq!(read(&[("building", "yes")]), None);
        assert_eq!(read(&[("highway", "residential"), ("area", "yes")]), None);
        assert_eq!(read(&[("highway", "residential"), ("access", "private")]), None);
        assert_eq!(read(&[("highway", "residential"), ("motor_vehicle", "no")]), None);
        let road = Road {
            forward: Some(Carriageway { lanes: 3, speed_kmh: 80 }),
            backward: None,
            lane_flow: LANE_FLOW,
            class: Class::Trunk,
            ring: false,
            left_hand: None,
        };
        let tags = [("highway", "trunk_link"), ("lanes", "3"), ("oneway", "1"), ("maxspeed", "50 mph")];
        assert_eq!(read(&tags), Some(road));
    }

    #[test]
    fn what_is_not_read_is_noted() {
        let unread = |list: &[(&str, &str)]| tags(list).unread();
        let street = ("highway", "residential");
        assert_eq!(unread(&[street]), Kinds::default());
        assert_eq!(unread(&[street, ("oneway", "reversible")]), Kinds::of(Kind::Reversible));
        assert_eq!(unread(&[street, ("access", "destination")]), Kinds::of(Kind::Destination));
        assert_eq!(unread(&[street, ("access", "no"), ("lanes:bus", "1")]), Kinds::of(Kind::ClosedRoads));
        assert_eq!(unread(&[("highway", "service"), ("access", "private")]), Kinds::of(Kind::ServiceRoads));
        assert_eq!(unread(&[("highway", "footway"), ("maxspeed:conditional", "x")]), Kinds::default());
    }
}
