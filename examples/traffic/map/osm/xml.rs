//! Extracts in XML (`.osm`, `.osm.gz`), as map editors and the OpenStreetMap API write them.

use std::borrow::Cow;
use std::io::{self, BufRead, Read};

use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

#[cfg(feature = "game")]
use super::land::{LandPlaces, LandSurvey, LandTags};
use super::marks::Marks;
use super::restrictions::{MemberKind, Members, RelationTags};
use super::tags::WayTags;
use super::ways::{Points, too_many_nodes};
use super::wire::Broken;
use super::{Opened, Source, Survey, Tags};
use crate::map::MapError;
use crate::map::geo::Place;

/// Most bytes of an element's own tag, with its attributes: a value has at most 255 characters.
const LONGEST_TAG: u64 = 64 << 10;

/// Most bytes that one byte of a packed file may unpack to: XML says everything twice, and real
/// maps reach 20.
const UNPACKING: u64 = 64;

/// What any packed file may unpack to, in bytes.
const UNPACKED_ANYWAY: u64 = 4 << 20;

/// Elements within elements: real maps have three.
const DEEPEST: usize = 16;

/// Coordinates have seven digits behind the point, and are rounded as the other format does.
const NANODEGREES: f64 = 1e9;

/// A file of XML, which is opened anew for each time that it is read.
pub struct Xml<'a, F> {
    name: &'a str,
    /// Bytes in the file, packed as it is.
    length: u64,
    open: F,
}

impl<'a, F: Fn() -> Opened> Xml<'a, F> {
    /// An extract called `name` in errors.
    pub fn new(name: &'a str, length: u64, open: F) -> Self {
        Self { name, length, open }
    }

    /// Shows all elements from the start of the file.
    fn for_each<W: Tags, N: Tags>(
        &self,
        mut visit: impl FnMut(&mut Element<W, N>) -> Result<(), Broken>,
    ) -> Result<(), MapError> {
        let most = self.length.saturating_mul(UNPACKING).saturating_add(UNPACKED_ANYWAY);
        let mut reader = Reader::from_reader(Bounded { source: (self.open)()?, tag: 0, all: most });
        let mut text = Vec::new();
        let mut parser = Parser::<W, N>::default();
        loop {
            text.clear();
            reader.get_mut().tag = LONGEST_TAG;
            let event = reader.read_event_into(&mut text).map_err(|error| Broken::new(printable(&error.to_string())));
            let goes_on = event.and_then(|event| parser.read(event, &mut visit));
            match goes_on {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(problem) => return Err(MapError::at_byte(self.name, reader.buffer_position(), problem)),
            }
        }
    }
}

impl<F: Fn() -> Opened> Source for Xml<'_, F> {
    fn length(&self) -> u64 {
        self.length
    }

    fn survey(&mut self, survey: &mut Survey) -> Result<(), MapError> {
        let most = survey.ways.most_nodes();
        self.for_each::<WayTags, NoTags>(|element| match element.kind {
            Kind::Way if element.nodes.len() as u64 >= most => Err(too_many_nodes(most)),
            Kind::Way => survey.add_way(element.id, &element.way, element.nodes.iter().copied().map(Ok)),
            Kind::Relation => survey.add_relation(element.relation, &element.members),
            _ => Ok(()),
        })
    }

    fn place(&mut self, points: &mut Points) -> Result<(), MapError> {
        self.for_each::<NoTags, Marks>(|element| match element.kind {
            Kind::Node => points.add(element.id, element.place, element.node),
            _ => Ok(()),
        })
    }

    #[cfg(feature = "game")]
    fn survey_land(&mut self, survey: &mut LandSurvey) -> Result<(), MapError> {
        let most = survey.most_nodes();
        self.for_each::<LandTags, NoTags>(|element| match element.kind {
            Kind::Way if element.nodes.len() as u64 >= most => Err(too_many_nodes(most)),
            Kind::Way => survey.add_way(std::mem::take(&mut element.way), element.nodes.iter().copied().map(Ok)),
            _ => Ok(()),
        })
    }

    #[cfg(feature = "game")]
    fn place_land(&mut self, places: &mut LandPlaces) -> Result<(), MapError> {
        self.for_each::<NoTags, LandTags>(|element| {
            if element.kind == Kind::Node {
                places.add(element.id, element.place, std::mem::take(&mut element.node));
            }
            Ok(())
        })
    }
}

/// Of elements that are not looked at.
#[derive(Default)]
struct NoTags;

impl Tags for NoTags {
    fn add(&mut self, _key: &[u8], _value: &[u8]) {}
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    /// Nothing that says anything about roads.
    #[default]
    Other,
    Node,
    Way,
    Relation,
}

/// An element with all that is inside of it.
#[derive(Default)]
struct Element<W, N> {
    kind: Kind,
    id: i64,
    place: Option<Place>,
    node: N,
    /// Along a way.
    nodes: Vec<i64>,
    way: W,
    relation: RelationTags,
    members: Members,
}

/// Puts elements together from what is inside of them: the file is `<osm>`, in which there are
/// elements, in which there are tags and members.
#[derive(Default)]
struct Parser<W, N> {
    element: Element<W, N>,
    /// Elements that are not closed yet.
    depth: usize,
    /// The first of them was `<osm>`.
    is_osm: bool,
}

impl<W: Tags, N: Tags> Parser<W, N> {
    /// Takes in a piece of the file; false at its end.
    fn read(
        &mut self,
        event: Event,
        visit: &mut impl FnMut(&mut Element<W, N>) -> Result<(), Broken>,
    ) -> Result<bool, Broken> {
        match event {
            Event::Start(tag) => {
                self.open(&tag)?;
                self.depth += 1;
                if self.depth > DEEPEST {
                    return Err(Broken::new(format_args!("elements within elements, {DEEPEST} deep")));
                }
            }
            Event::Empty(tag) => {
                self.open(&tag)?;
                self.close(visit)?;
            }
            Event::End(_) => {
                self.depth = self.depth.saturating_sub(1);
                self.close(visit)?;
            }
            Event::Eof if self.depth > 0 => return Err(Broken::new("unexpected end")),
            Event::Eof if !self.is_osm => return Err(no_extract()),
            Event::Eof => return Ok(false),
            _ => {}
        }
        Ok(true)
    }

    fn open(&mut self, tag: &BytesStart) -> Result<(), Broken> {
        match self.depth {
            0 if tag.name().0 != "osm" => Err(no_extract()),
            0 => {
                self.is_osm = true;
                Ok(())
            }
            1 => self.begin(tag),
            2 => self.element.add(tag),
            _ => Ok(()),
        }
    }

    fn begin(&mut self, tag: &BytesStart) -> Result<(), Broken> {
        let kind = match tag.name().0 {
            "node" => Kind::Node,
            "way" => Kind::Way,
            "relation" => Kind::Relation,
            _ => Kind::Other,
        };
        self.element.clear(kind);
        if kind != Kind::Other {
            self.element.begin(tag)?;
        }
        Ok(())
    }

    fn close(&mut self, visit: &mut impl FnMut(&mut Element<W, N>) -> Result<(), Broken>) -> Result<(), Broken> {
        if self.depth != 1 || self.element.kind == Kind::Other {
            return Ok(());
        }
        let visited = visit(&mut self.element);
        self.element.clear(Kind::Other);
        visited
    }
}

impl<W: Tags, N: Tags> Element<W, N> {
    /// Keeps the memory of its lists.
    fn clear(&mut self, kind: Kind) {
        let mut nodes = std::mem::take(&mut self.nodes);
        nodes.clear();
        *self = Self { kind, nodes, ..Self::default() };
    }

    /// Editors keep elements that were deleted, and say so.
    fn begin(&mut self, tag: &BytesStart) -> Result<(), Broken> {
        let [id, lat, lon, visible, action] = attributes(tag, ["id", "lat", "lon", "visible", "action"])?;
        if visible.as_deref() == Some("false") || action.as_deref() == Some("delete") {
            self.kind = Kind::Other;
            return Ok(());
        }
        self.id = number(id)?;
        self.place = place(lon.as_deref(), lat.as_deref());
        Ok(())
    }

    fn add(&mut self, tag: &BytesStart) -> Result<(), Broken> {
        match (tag.name().0, self.kind) {
            ("nd", Kind::Way) => {
                let [node] = attributes(tag, ["ref"])?;
                self.nodes.push(number(node)?);
            }
            ("member", Kind::Relation) => self.member(tag)?,
            ("tag", _) => {
                if let [Some(key), Some(value)] = attributes(tag, ["k", "v"])? {
                    self.tag(&key, &value);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn member(&mut self, tag: &BytesStart) -> Result<(), Broken> {
        let [kind, id, role] = attributes(tag, ["type", "ref", "role"])?;
        let kind = match kind.as_deref() {
            Some("node") => MemberKind::Node,
            Some("way") => MemberKind::Way,
            _ => MemberKind::Relation,
        };
        self.members.add(role.unwrap_or_default().as_bytes(), kind, number(id)?);
        Ok(())
    }

    fn tag(&mut self, key: &str, value: &str) {
        match self.kind {
            Kind::Node => self.node.add(key.as_bytes(), value.as_bytes()),
            Kind::Way => self.way.add(key.as_bytes(), value.as_bytes()),
            Kind::Relation => self.relation.add(key, value),
            Kind::Other => {}
        }
    }
}

fn no_extract() -> Broken {
    Broken::unread("not an OpenStreetMap extract, which is an element <osm>")
}

/// The values of some attributes.
fn attributes<'t, const N: usize>(tag: &'t BytesStart, keys: [&str; N]) -> Result<[Option<Cow<'t, str>>; N], Broken> {
    let mut values = [const { None }; N];
    for attribute in tag.attributes().with_checks(false) {
        let attribute = attribute.map_err(|error| Broken::new(printable(&error.to_string())))?;
        if let Some(place) = keys.iter().position(|key| *key == attribute.key.0) {
            let value = attribute.normalized_value(XmlVersion::Implicit1_0);
            values[place] = Some(value.map_err(|error| Broken::new(printable(&error.to_string())))?);
        }
    }
    Ok(values)
}

fn number(text: Option<Cow<str>>) -> Result<i64, Broken> {
    let text = text.ok_or_else(|| Broken::new("an element without its id"))?;
    text.parse().map_err(|_| Broken::new(format_args!("an id should be a whole number, found `{}`", printable(&text))))
}

/// `None` if it is nowhere on earth.
fn place(lon: Option<&str>, lat: Option<&str>) -> Option<Place> {
    let degrees = |text: Option<&str>| Some((text?.parse::<f64>().ok()? * NANODEGREES).round() * super::NANODEGREE);
    Place::on_earth(degrees(lon)?, degrees(lat)?)
}

/// The start of a text from a file, safe to print.
pub fn printable(text: &str) -> String {
    text.chars().take(100).flat_map(char::escape_debug).collect()
}

/// Bytes of a file, no more than are allowed for what is being read and for all.
struct Bounded {
    source: Box<dyn BufRead>,
    tag: u64,
    all: u64,
}

impl BufRead for Bounded {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let bytes = self.source.fill_buf()?;
        let most = self.tag.min(self.all);
        if most == 0 && !bytes.is_empty() {
            return Err(io::Error::other(if self.tag == 0 {
                format!("a tag or a text of more than {LONGEST_TAG} bytes")
            } else {
                format!("the file unpacks to more than {UNPACKING} times its size, as no map does")
            }));
        }
        Ok(&bytes[..bytes.len().min(usize::try_from(most).unwrap_or(usize::MAX))])
    }

    fn consume(&mut self, count: usize) {
        self.tag = self.tag.saturating_sub(count as u64);
        self.all = self.all.saturating_sub(count as u64);
        self.source.consume(count);
    }
}

impl Read for Bounded {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(target)?;
        self.consume(read);
        Ok(read)
    }
}
