//! What the tags of a way say about driving on it. Tags are free text written by many hands: what
//! cannot be understood counts as absent.

use crate::map::{Class, LANE_FLOW};

/// Most lanes in one direction that a tag is believed about.
const MAX_LANES: u8 = 8;
/// Slowest and fastest speed in km/h that a tag is believed about.
const SPEEDS: std::ops::RangeInclusive<u32> = 5..=130;
/// Speed in km/h of `maxspeed=walk`.
const WALKING_SPEED: u16 = 5;

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
    pub direction: Direction,
    /// Lanes in each direction.
    pub lanes: u8,
    pub speed_kmh: u16,
    /// Vehicles an hour that each lane passes.
    pub lane_flow: u16,
    pub class: Class,
}

/// The tags that matter.
#[derive(Default)]
struct Tags<'a> {
    highway: Option<&'a str>,
    junction: Option<&'a str>,
    oneway: Option<&'a str>,
    maxspeed: Option<&'a str>,
    lanes: Option<&'a str>,
    area: Option<&'a str>,
}

/// Reads a way's tags; `None` if it is no road for cars. Service roads (driveways, car parks) are
/// left out: they would add half as many nodes again and carry no through traffic.
pub fn road<'a>(tags: impl Iterator<Item = (&'a str, &'a str)>) -> Option<Road> {
    let tags = collect(tags);
    let highway = tags.highway?;
    let (default_lanes, default_speed, class) = defaults(highway.strip_suffix("_link").unwrap_or(highway))?;
    if tags.area == Some("yes") {
        return None;
    }
    let direction = direction(&tags);
    Some(Road {
        direction,
        lanes: tags.lanes.and_then(|text| lanes(text, direction)).unwrap_or(default_lanes),
        speed_kmh: tags.maxspeed.and_then(speed).unwrap_or(default_speed),
        lane_flow: lane_flow(class),
        class,
    })
}

fn collect<'a>(tags: impl Iterator<Item = (&'a str, &'a str)>) -> Tags<'a> {
    let mut found = Tags::default();
    for (key, value) in tags {
        match key {
            "highway" => found.highway = Some(value),
            "junction" => found.junction = Some(value),
            "oneway" => found.oneway = Some(value),
            "maxspeed" => found.maxspeed = Some(value),
            "lanes" => found.lanes = Some(value),
            "area" => found.area = Some(value),
            _ => {}
        }
    }
    found
}

/// Lanes in each direction and speed in km/h where nothing else is said, and the class.
fn defaults(highway: &str) -> Option<(u8, u16, Class)> {
    Some(match highway {
        "motorway" => (2, 110, Class::Motorway),
        "trunk" => (1, 80, Class::Trunk),
        "primary" => (1, 70, Class::Primary),
        "secondary" => (1, 60, Class::Secondary),
        "tertiary" => (1, 50, Class::Tertiary),
        "unclassified" => (1, 50, Class::Residential),
        "residential" => (1, 40, Class::Residential),
        "living_street" => (1, 10, Class::Access),
        _ => return None,
    })
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

/// Roundabouts and motorways are one-way even where no tag says so.
fn direction(tags: &Tags) -> Direction {
    let implied = matches!(tags.junction, Some("roundabout" | "circular")) || tags.highway == Some("motorway");
    match tags.oneway {
        Some("yes" | "true" | "1") => Direction::Forward,
        Some("-1" | "reverse") => Direction::Backward,
        Some("no" | "false" | "0") => Direction::Both,
        _ if implied => Direction::Forward,
        _ => Direction::Both,
    }
}

/// Lanes in each direction: the tag counts both directions of a two-way road together.
fn lanes(text: &str, direction: Direction) -> Option<u8> {
    let total: u8 = text.trim().parse().ok()?;
    let each = if direction == Direction::Both { total / 2 } else { total };
    (total > 0).then_some(each.clamp(1, MAX_LANES))
}

/// A speed limit in km/h: `50`, `50 km/h`, `30 mph` or `walk`.
fn speed(text: &str) -> Option<u16> {
    let text = text.trim();
    if text == "walk" {
        return Some(WALKING_SPEED);
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u16 = number.parse().ok()?;
    let kmh = match unit.trim_start() {
        "" | "km/h" | "kmh" | "kph" => u32::from(number),
        // A mile is 1,609 m; rounded to the nearest km/h.
        "mph" => (u32::from(number) * 1_609 + 500) / 1_000,
        _ => return None,
    };
    SPEEDS.contains(&kmh).then_some(kmh as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(tags: &[(&str, &str)]) -> Option<Road> {
        road(tags.iter().copied())
    }

    #[test]
    fn speeds_are_read_in_their_units() {
        let known = [("50", 50), ("50 km/h", 50), ("30 mph", 48), ("30mph", 48), ("walk", 5), (" 20 ", 20)];
        for (text, kmh) in known {
            assert_eq!(speed(text), Some(kmh), "{text}");
        }
        for text in ["", "none", "sign", "35 mph;40 mph", "0", "999", "65536", "50 knots", "-5", "7½", "½"] {
            assert_eq!(speed(text), None, "{text}");
        }
    }

    #[test]
    fn lanes_of_a_two_way_road_are_shared() {
        for (text, both, one_way) in [("1", 1, 1), ("2", 1, 2), ("4", 2, 4), ("5", 2, 5), ("200", 8, 8)] {
            assert_eq!(lanes(text, Direction::Both), Some(both), "{text}");
            assert_eq!(lanes(text, Direction::Forward), Some(one_way), "{text}");
        }
        for text in ["0", "", "two", "2;3", "1.5", "-1", "300"] {
            assert_eq!(lanes(text, Direction::Forward), None, "{text}");
        }
    }

    #[test]
    fn one_way_streets_are_told_or_implied() {
        let direction = |tags: &[(&str, &str)]| read(tags).unwrap().direction;
        let street = ("highway", "residential");
        assert_eq!(direction(&[street]), Direction::Both);
        assert_eq!(direction(&[street, ("oneway", "yes")]), Direction::Forward);
        assert_eq!(direction(&[("oneway", "-1"), street]), Direction::Backward);
        assert_eq!(direction(&[street, ("junction", "roundabout")]), Direction::Forward);
        assert_eq!(direction(&[("highway", "motorway")]), Direction::Forward);
        assert_eq!(direction(&[("highway", "motorway"), ("oneway", "no")]), Direction::Both);
        assert_eq!(direction(&[("highway", "motorway_link")]), Direction::Both);
    }

    #[test]
    fn only_roads_for_through_traffic_count() {
        for highway in ["footway", "service", "track", "construction", "", "residential_"] {
            assert_eq!(read(&[("highway", highway)]), None, "{highway}");
        }
        assert_eq!(read(&[("building", "yes")]), None);
        assert_eq!(read(&[("highway", "residential"), ("area", "yes")]), None);
        let road =
            Road { direction: Direction::Forward, lanes: 3, speed_kmh: 80, lane_flow: LANE_FLOW, class: Class::Trunk };
        let tags = [("highway", "trunk_link"), ("lanes", "3"), ("oneway", "1"), ("maxspeed", "50 mph")];
        assert_eq!(read(&tags), Some(road));
    }
}
