//! A block of data: up to some thousand nodes, ways or relations, with the strings of their tags in
//! a table.

use std::ops::Range;

use super::restrictions::MemberKind;
use super::wire::{Broken, Deltas, Fields, Packed, Value, zigzag};
use super::{NANODEGREE, Tags};
use crate::map::geo::Place;

/// Most strings in the table of a block: writers put 8,000 elements into one, with a few tags each.
const MOST_STRINGS: usize = 4 << 20;

/// What the elements of a block have in common.
pub struct Block<'a> {
    message: Fields<'a>,
    strings: Strings<'a>,
    grid: Grid,
}

/// A line through nodes.
pub struct Way<'a> {
    pub id: i64,
    strings: &'a Strings<'a>,
    keys: &'a [u8],
    values: &'a [u8],
    nodes: &'a [u8],
}

/// Other elements in their roles.
pub struct Relation<'a> {
    strings: &'a Strings<'a>,
    keys: &'a [u8],
    values: &'a [u8],
    roles: &'a [u8],
    ids: &'a [u8],
    kinds: &'a [u8],
}

pub enum WayOrRelation<'a> {
    Way(Way<'a>),
    Relation(Relation<'a>),
}

/// A point, where it is if that is anywhere on earth, and what stands there.
pub struct Node<T> {
    pub id: i64,
    pub place: Option<Place>,
    pub tags: T,
}

impl<'a> Block<'a> {
    pub fn read(message: &'a [u8]) -> Result<Self, Broken> {
        let mut strings: &[u8] = &[];
        let mut grid = Grid { step: 100, lon: 0, lat: 0 };
        for field in Fields::of(message) {
            match field? {
                (1, table) => strings = table.bytes()?,
                (17, number) => grid.step = number.number()?,
                (19, number) => grid.lat = number.number()?,
                (20, number) => grid.lon = number.number()?,
                _ => {}
            }
        }
        Ok(Self { message: Fields::of(message), strings: Strings::read(strings)?, grid })
    }

    /// Both at once, since a block of hostile elements takes a while to walk through.
    pub fn for_each_way_or_relation(
        &self,
        mut visit: impl FnMut(WayOrRelation) -> Result<(), Broken>,
    ) -> Result<(), Broken> {
        self.for_each_element(|kind, message| match kind {
            3 => visit(WayOrRelation::Way(Way::read(message, &self.strings)?)),
            4 => visit(WayOrRelation::Relation(Relation::read(message, &self.strings)?)),
            _ => Ok(()),
        })
    }

    pub fn for_each_node<T: Tags>(&self, mut visit: impl FnMut(Node<T>) -> Result<(), Broken>) -> Result<(), Broken> {
        self.for_each_element(|kind, message| match kind {
            1 => visit(self.node(message)?),
            2 => self.dense_nodes(message, &mut visit),
            _ => Ok(()),
        })
    }

    /// The fields of all groups of elements: the number of a field tells the kind.
    fn for_each_element<'s>(
        &'s self,
        mut visit: impl FnMut(u64, &'s [u8]) -> Result<(), Broken>,
    ) -> Result<(), Broken> {
        for field in self.message.clone() {
            if let (2, group) = field? {
                for element in Fields::of(group.bytes()?) {
                    let (kind, message) = element?;
                    visit(kind, message.bytes()?)?;
                }
            }
        }
        Ok(())
    }

    fn node<T: Tags>(&self, message: &[u8]) -> Result<Node<T>, Broken> {
        let (mut id, mut lon, mut lat) = (0, 0, 0);
        let (mut keys, mut values): (&[u8], &[u8]) = (&[], &[]);
        for field in Fields::of(message) {
            match field? {
                (1, Value::Number(number)) => id = zigzag(number),
                (2, bytes) => keys = bytes.bytes()?,
                (3, bytes) => values = bytes.bytes()?,
                (8, Value::Number(number)) => lat = zigzag(number),
                (9, Value::Number(number)) => lon = zigzag(number),
                _ => {}
            }
        }
        let mut tags = T::default();
        for tag in (Pairs { keys: Packed::of(keys), values: Packed::of(values) }) {
            let (key, value) = tag?;
            tags.add(self.strings.get(key)?, self.strings.get(value)?);
        }
        Ok(Node { id, place: self.grid.place(lon, lat), tags })
    }

    /// Nodes as columns of numbers, each the difference to the one before, and one row of tags for
    /// all, the node's own behind one another and a 0 at the end.
    fn dense_nodes<T: Tags>(
        &self,
        message: &[u8],
        visit: &mut impl FnMut(Node<T>) -> Result<(), Broken>,
    ) -> Result<(), Broken> {
        let mut columns: [&[u8]; 4] = [&[]; 4];
        for field in Fields::of(message) {
            match field? {
                (1, bytes) => columns[0] = bytes.bytes()?,
                (8, bytes) => columns[1] = bytes.bytes()?,
                (9, bytes) => columns[2] = bytes.bytes()?,
                (10, bytes) => columns[3] = bytes.bytes()?,
                _ => {}
            }
        }
        let [ids, lats, lons, tags] = columns;
        let (mut lats, mut lons, mut tags) = (Deltas::of(lats), Deltas::of(lons), Packed::of(tags));
        for id in Deltas::of(ids) {
            let (Some(lat), Some(lon)) = (lats.next(), lons.next()) else {
                return Err(Broken::new("fewer coordinates than nodes"));
            };
            let tags = self.dense_tags(&mut tags)?;
            visit(Node { id: id?, place: self.grid.place(lon?, lat?), tags })?;
        }
        if lats.next().is_some() || lons.next().is_some() {
            return Err(Broken::new("more coordinates than nodes"));
        }
        Ok(())
    }

    /// Reads the tags of the next of the dense nodes, which may have run out.
    fn dense_tags<T: Tags>(&self, packed: &mut Packed) -> Result<T, Broken> {
        let mut tags = T::default();
        while let Some(key) = packed.next().transpose()?.filter(|&key| key != 0) {
            let value = packed.next().ok_or_else(uneven)??;
            tags.add(self.strings.get(key)?, self.strings.get(value)?);
        }
        Ok(tags)
    }
}

impl<'a> Way<'a> {
    fn read(message: &'a [u8], strings: &'a Strings<'a>) -> Result<Self, Broken> {
        let mut way = Self { id: 0, strings, keys: &[], values: &[], nodes: &[] };
        for field in Fields::of(message) {
            match field? {
                (1, number) => way.id = number.number()?,
                (2, bytes) => way.keys = bytes.bytes()?,
                (3, bytes) => way.values = bytes.bytes()?,
                (8, bytes) => way.nodes = bytes.bytes()?,
                _ => {}
            }
        }
        Ok(way)
    }

    pub fn tags(&self) -> impl Iterator<Item = Result<(&'a str, &'a str), Broken>> {
        self.strings.tags(self.keys, self.values)
    }

    /// The ids of the nodes along the way.
    pub fn nodes(&self) -> Deltas<'a> {
        Deltas::of(self.nodes)
    }
}

impl<'a> Relation<'a> {
    fn read(message: &'a [u8], strings: &'a Strings<'a>) -> Result<Self, Broken> {
        let mut relation = Self { strings, keys: &[], values: &[], roles: &[], ids: &[], kinds: &[] };
        for field in Fields::of(message) {
            match field? {
                (2, bytes) => relation.keys = bytes.bytes()?,
                (3, bytes) => relation.values = bytes.bytes()?,
                (8, bytes) => relation.roles = bytes.bytes()?,
                (9, bytes) => relation.ids = bytes.bytes()?,
                (10, bytes) => relation.kinds = bytes.bytes()?,
                _ => {}
            }
        }
        Ok(relation)
    }

    pub fn tags(&self) -> impl Iterator<Item = Result<(&'a str, &'a str), Broken>> {
        self.strings.tags(self.keys, self.values)
    }

    /// Shows the role, kind and id of each member.
    pub fn for_each_member(&self, mut visit: impl FnMut(&[u8], MemberKind, i64)) -> Result<(), Broken> {
        let (mut roles, mut kinds) = (Packed::of(self.roles), Packed::of(self.kinds));
        for id in Deltas::of(self.ids) {
            let (Some(role), Some(kind)) = (roles.next(), kinds.next()) else {
                return Err(Broken::new("fewer roles or kinds than members"));
            };
            let kind = match kind? {
                0 => MemberKind::Node,
                1 => MemberKind::Way,
                _ => MemberKind::Relation,
            };
            visit(self.strings.get(role?)?, kind, id?);
        }
        Ok(())
    }
}

/// Keys and values from a column each.
struct Pairs<'a> {
    keys: Packed<'a>,
    values: Packed<'a>,
}

impl Iterator for Pairs<'_> {
    type Item = Result<(u64, u64), Broken>;

    fn next(&mut self) -> Option<Self::Item> {
        match (self.keys.next(), self.values.next()) {
            (Some(key), Some(value)) => Some(key.and_then(|key| Ok((key, value?)))),
            (None, None) => None,
            _ => Some(Err(uneven())),
        }
    }
}

fn uneven() -> Broken {
    Broken::new("keys without values, or values without keys")
}

/// How coordinates are written: as whole numbers of steps from a corner, all in billionths of a
/// degree.
struct Grid {
    step: i64,
    lon: i64,
    lat: i64,
}

impl Grid {
    /// `None` if it is nowhere on earth.
    fn place(&self, lon: i64, lat: i64) -> Option<Place> {
        let degrees =
            |steps: i64, corner: i64| Some(NANODEGREE * corner.checked_add(self.step.checked_mul(steps)?)? as f64);
        Place::on_earth(degrees(lon, self.lon)?, degrees(lat, self.lat)?)
    }
}

/// The strings of a block.
struct Strings<'a> {
    table: &'a [u8],
    /// Where in the table each string lies: half of what slices would take.
    ranges: Vec<Range<u32>>,
}

impl<'a> Strings<'a> {
    fn read(table: &'a [u8]) -> Result<Self, Broken> {
        // Counted first: a table of empty strings would take most memory of all, and twice that if
        // it grew.
        let count = Fields::of(table).count();
        if count > MOST_STRINGS {
            return Err(Broken::new(format_args!("{count} strings, at most {MOST_STRINGS} are supported")));
        }
        let mut ranges = Vec::with_capacity(count);
        let mut fields = Fields::of(table);
        while let Some(field) = fields.next() {
            if let (1, string) = field? {
                let (length, end) = (string.bytes()?.len(), table.len() - fields.left());
                ranges.push((end - length) as u32..end as u32);
            }
        }
        Ok(Self { table, ranges })
    }

    fn get(&self, number: u64) -> Result<&'a [u8], Broken> {
        let range = usize::try_from(number).ok().and_then(|number| self.ranges.get(number));
        let count = self.ranges.len();
        let missing = || Broken::new(format_args!("a tag with string {number}, but there are {count}"));
        let Range { start, end } = range.ok_or_else(missing)?;
        Ok(&self.table[*start as usize..*end as usize])
    }

    /// Keys and values, but for those that are no text.
    fn tags(&'a self, keys: &'a [u8], values: &'a [u8]) -> impl Iterator<Item = Result<(&'a str, &'a str), Broken>> {
        let pairs = Pairs { keys: Packed::of(keys), values: Packed::of(values) };
        let text = move |pair: Result<(u64, u64), Broken>| -> Result<Option<(&'a str, &'a str)>, Broken> {
            let (key, value) = pair?;
            let (key, value) = (self.get(key)?, self.get(value)?);
            Ok(str::from_utf8(key).ok().zip(str::from_utf8(value).ok()))
        };
        pairs.map(text).filter_map(Result::transpose)
    }
}
