//! Small maps, written as XML.

use std::fmt::Write;
use std::io::{BufRead, Cursor};

use crate::map::osm::xml::Xml;
use crate::map::{MapError, Network, osm};

/// Degrees for a metre at the equator.
const METRE: f64 = 1.0 / 111_195.08;

#[derive(Clone, Default)]
pub struct Markup(String);

impl Markup {
    /// A node so many metres east and north of where the equator meets Greenwich's meridian.
    pub fn node(mut self, id: i64, (x, y): (f64, f64), tags: &str) -> Self {
        let (lon, lat) = (x * METRE, y * METRE);
        let tags = elements(tags);
        writeln!(self.0, "<node id='{id}' lon='{lon}' lat='{lat}'>{tags}</node>").unwrap();
        self
    }

    /// A way; tags are written `key=value` with spaces between.
    pub fn way(mut self, id: i64, nodes: &[i64], tags: &str) -> Self {
        let nodes: String = nodes.iter().map(|node| format!("<nd ref='{node}'/>")).collect();
        writeln!(self.0, "<way id='{id}'>{nodes}{}</way>", elements(tags)).unwrap();
        self
    }

    /// A turn restriction; members are written `role=id`, that of a node `via=n5`.
    pub fn turn(mut self, members: &str, tags: &str) -> Self {
        let member = |pair: &str| {
            let (role, id) = pair.split_once('=').unwrap();
            let kind = if id.starts_with('n') { "node" } else { "way" };
            format!("<member type='{kind}' ref='{}' role='{role}'/>", id.trim_start_matches('n'))
        };
        let members: String = members.split(' ').map(member).collect();
        writeln!(self.0, "<relation id='1'>{members}{}</relation>", elements(&format!("type=restriction {tags}")))
            .unwrap();
        self
    }

    pub fn read(self) -> Result<Network, MapError> {
        let text = format!("<osm>{}</osm>", self.0);
        let length = text.len() as u64;
        let open = move || -> Result<Box<dyn BufRead>, MapError> { Ok(Box::new(Cursor::new(text.clone()))) };
        osm::read("map", &mut Xml::new("map", length, open))
    }
}

fn elements(tags: &str) -> String {
    let pairs = tags.split(' ').filter_map(|tag| tag.split_once('='));
    pairs.map(|(key, value)| format!("<tag k='{key}' v='{value}'/>")).collect()
}
