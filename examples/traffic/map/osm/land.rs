//! What lies around the roads, read in the same way as they are: first the ways, then the nodes
//! that these name.

use super::tags::WayTags;
use super::ways::most_nodes;
use super::wire::Broken;
use super::{Source, Tags};
use crate::map::geo::{Place, Projection};
use crate::map::land::{Area, AreaKind, Land, NamedPlace, Point, Rank, Street};
use crate::map::{Class, MapError};

/// Bytes of names that are kept whatever the size of the file; above that no more than the file
/// has. Real maps say each name some times.
const FREE_NAMES: u64 = 256 << 10;

/// What a way or a node is, besides a road.
#[derive(Clone, Debug, Default)]
pub struct LandTags {
    road: WayTags,
    name: Option<Box<str>>,
    area: Option<AreaKind>,
    rank: Option<Rank>,
    is_coast: bool,
    is_river: bool,
}

impl Tags for LandTags {
    fn add(&mut self, key: &[u8], value: &[u8]) {
        let (Ok(key), Ok(value)) = (str::from_utf8(key), str::from_utf8(value)) else { return };
        match (key, value) {
            ("name", name) => self.name = Some(name.into()),
            ("natural", "coastline") => self.is_coast = true,
            ("waterway", "river") => self.is_river = true,
            ("natural", "water") | ("waterway", "riverbank" | "dock") | ("landuse", "reservoir" | "basin") => {
                self.area = Some(AreaKind::Water);
            }
            ("natural", "wood" | "heath" | "scrub" | "grassland")
            | ("leisure", "park" | "garden" | "golf_course" | "nature_reserve")
            | ("landuse", "forest" | "grass" | "meadow" | "recreation_ground" | "cemetery" | "village_green") => {
                self.area = Some(AreaKind::Green);
            }
            ("landuse", "residential" | "commercial" | "industrial" | "retail") => self.area = Some(AreaKind::Built),
            ("place", "city") => self.rank = Some(Rank::City),
            ("place", "town") => self.rank = Some(Rank::Town),
            ("place", "village" | "suburb") => self.rank = Some(Rank::Village),
            ("place", "hamlet" | "neighbourhood" | "quarter") => self.rank = Some(Rank::Hamlet),
            _ => self.road.add(key, value),
        }
    }
}

/// What a way shows.
#[derive(Clone, Debug)]
enum Shown {
    Street(Box<str>, Class),
    Area(AreaKind),
    Coast,
    River,
}

/// The ways that are shown, with the ids of the nodes they name.
pub struct LandSurvey {
    ways: Vec<(Shown, usize)>,
    nodes: Vec<i64>,
    /// The most nodes that a file of this size can name.
    most: u64,
    /// Bytes of names that there is room for.
    names: u64,
}

impl LandSurvey {
    fn new(file: u64) -> Self {
        Self { ways: Vec::new(), nodes: Vec::new(), most: most_nodes(file), names: file + FREE_NAMES }
    }

    pub fn most_nodes(&self) -> u64 {
        self.most
    }

    /// Adds a way if it is shown. What is too much for the file's size is left out.
    pub fn add_way(&mut self, tags: LandTags, nodes: impl Iterator<Item = Result<i64, Broken>>) -> Result<(), Broken> {
        let begin = self.nodes.len();
        let Some(shown) = self.shown(tags) else { return Ok(()) };
        for node in nodes {
            if self.nodes.len() as u64 + self.ways.len() as u64 >= self.most {
                self.nodes.truncate(begin);
                return Ok(());
            }
            self.nodes.push(node?);
        }
        let named = &self.nodes[begin..];
        let is_closed = named.len() > 3 && named.first() == named.last();
        if named.len() < 2 || matches!(shown, Shown::Area(_)) && !is_closed {
            self.nodes.truncate(begin);
        } else {
            self.ways.push((shown, self.nodes.len()));
        }
        Ok(())
    }

    fn shown(&mut self, tags: LandTags) -> Option<Shown> {
        if tags.is_coast {
            return Some(Shown::Coast);
        }
        if let Some(kind) = tags.area {
            return Some(Shown::Area(kind));
        }
        if tags.is_river {
            return Some(Shown::River);
        }
        let (road, name) = (tags.road.road()?, tags.name?);
        self.names = self.names.checked_sub(name.len() as u64)?;
        Some(Shown::Street(name, road.class))
    }
}

/// Where the nodes are that ways name, and the places that have names.
pub struct LandPlaces {
    /// Sorted, each once.
    ids: Vec<i64>,
    places: Vec<Option<Place>>,
    named: Vec<(Box<str>, Rank, Place)>,
    names: u64,
}

impl LandPlaces {
    fn of(survey: &LandSurvey) -> Self {
        let mut ids = survey.nodes.clone();
        ids.sort_unstable();
        ids.dedup();
        let places = vec![None; ids.len()];
        Self { ids, places, named: Vec::new(), names: survey.names }
    }

    pub fn add(&mut self, id: i64, place: Option<Place>, tags: LandTags) {
        let Some(place) = place else { return };
        if let Ok(number) = self.ids.binary_search(&id) {
            self.places[number] = Some(place);
        }
        if let (Some(name), Some(rank)) = (tags.name, tags.rank)
            && let Some(left) = self.names.checked_sub(name.len() as u64)
        {
            self.names = left;
            self.named.push((name, rank, place));
        }
    }

    fn line(&self, nodes: &[i64], projection: &Projection) -> Vec<Point> {
        let place = |id: &i64| self.places[self.ids.binary_search(id).ok()?];
        nodes.iter().filter_map(place).map(|place| projection.point(place)).collect()
    }
}

/// Reads what lies around the roads of a network that `projection` has made flat.
pub fn read(source: &mut impl Source, projection: &Projection) -> Result<Land, MapError> {
    let mut survey = LandSurvey::new(source.length());
    source.survey_land(&mut survey)?;
    let mut places = LandPlaces::of(&survey);
    source.place_land(&mut places)?;
    Ok(draw(survey, places, projection))
}

fn draw(survey: LandSurvey, places: LandPlaces, projection: &Projection) -> Land {
    let LandSurvey { ways, nodes, .. } = survey;
    let (mut land, mut coasts, mut begin) = (Land::default(), Vec::new(), 0);
    for (shown, end) in ways {
        let named = &nodes[begin..end];
        begin = end;
        match shown {
            Shown::Coast => coasts.push(named.to_vec()),
            Shown::River => land.rivers.push(places.line(named, projection)),
            Shown::Area(kind) => land.areas.push(Area { kind, outline: places.line(named, projection) }),
            Shown::Street(name, class) => {
                land.streets.push(Street { name, class, line: places.line(named, projection) });
            }
        }
    }
    let (rings, is_island) = rings(coasts);
    land.is_island = is_island && !rings.is_empty();
    // Where the coast goes out of the extract nobody knows on which side the sea is.
    let rings = rings.iter().filter(|_| is_island).map(|ring| places.line(ring, projection));
    land.areas.extend(rings.map(|outline| Area { kind: AreaKind::Land, outline }));
    land.areas.retain(|area| area.outline.len() > 3);
    land.areas.sort_by_key(|area| area.kind);
    let named = places.named.into_iter();
    land.places = named.map(|(name, rank, place)| NamedPlace { name, rank, at: projection.point(place) }).collect();
    land.places.sort_by_key(|place| std::cmp::Reverse(place.rank));
    land
}

/// Joins lines into rings, each to the one that begins where it ends; says whether all could be.
fn rings(mut lines: Vec<Vec<i64>>) -> (Vec<Vec<i64>>, bool) {
    lines.sort_by_key(|line| line[0]);
    let mut left: Vec<Option<Vec<i64>>> = lines.iter().cloned().map(Some).collect();
    let mut take = |begin: i64| {
        let first = lines.partition_point(|line| line[0] < begin);
        let mut at_begin = (first..lines.len()).take_while(|&line| lines[line][0] == begin);
        at_begin.find_map(|line| left[line].take())
    };
    let (mut rings, mut are_all) = (Vec::new(), true);
    for begin in lines.iter().map(|line| line[0]) {
        let Some(mut ring) = take(begin) else { continue };
        while ring.last() != Some(&begin) {
            let Some(next) = ring.last().and_then(|&end| take(end)) else { break };
            ring.extend(next);
        }
        are_all &= ring.last() == Some(&begin);
        rings.push(ring);
    }
    (rings, are_all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::{isle_of_man, isle_of_mans_land};

    #[test]
    fn coasts_of_several_ways_are_rings() {
        let (joined, are_all) = rings(vec![vec![3, 4, 1], vec![7, 8, 9, 7], vec![1, 2, 3]]);
        assert!(are_all);
        assert_eq!(joined, [vec![1, 2, 3, 3, 4, 1], vec![7, 8, 9, 7]]);
        let (open, are_all) = rings(vec![vec![1, 2], vec![2, 3]]);
        assert!(!are_all && open.len() == 1, "it goes out of the extract: {open:?}");
    }

    #[test]
    fn the_island_has_a_coast_towns_and_street_names() {
        let map = isle_of_man().unwrap();
        let land = isle_of_mans_land(&map.globe.unwrap());
        assert!(land.is_island && land.areas.iter().any(|area| area.kind == AreaKind::Water));
        let has_town = |name: &str| land.places.iter().any(|place| &*place.name == name && place.rank >= Rank::Town);
        assert!(["Douglas", "Ramsey", "Peel", "Castletown"].into_iter().all(has_town), "{:?}", land.places);
        assert!(land.streets.iter().any(|street| &*street.name == "Strand Street" || &*street.name == "Peel Road"));
        // All roads are on land.
        let coasts: Vec<_> = land.areas.iter().filter(|area| area.kind == AreaKind::Land).collect();
        let is_dry = |x: f32, y: f32| coasts.iter().any(|area| contains(&area.outline, (x, y)));
        let wet = map.nodes.iter().filter(|node| !is_dry(node.x, node.y)).count();
        assert!(wet * 200 < map.nodes.len(), "{wet} of {} intersections are in the sea", map.nodes.len());
    }

    /// By the even-odd rule.
    fn contains(outline: &[Point], (x, y): Point) -> bool {
        let edges = outline.iter().zip(outline.iter().cycle().skip(1));
        let crossed =
            edges.filter(|&(&a, &b)| (a.1 > y) != (b.1 > y) && x < (b.0 - a.0) * (y - a.1) / (b.1 - a.1) + a.0);
        crossed.count() % 2 == 1
    }

    #[test]
    fn names_take_no_more_than_a_file_can_hold() {
        let mut survey = LandSurvey::new(1_000);
        survey.names = 10;
        for name in ["seventeen letters", "short", "lane 12", "lane"] {
            let mut tags = LandTags::default();
            tags.add(b"highway", b"residential");
            tags.add(b"name", name.as_bytes());
            survey.add_way(tags, [1, 2].map(Ok).into_iter()).unwrap();
        }
        assert_eq!(survey.ways.len(), 2, "{:?}", survey.ways);
    }
}
