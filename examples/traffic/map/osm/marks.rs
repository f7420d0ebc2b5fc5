//! What the tags of a node say about driving past it.

use super::Tags;
use super::unread::{Kind, Kinds};

/// What stands at a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    pub signal: bool,
    /// A roundabout that is a spot of paint: a single node instead of a ring.
    pub mini_roundabout: bool,
    pub unread: Kinds,
}

impl Tags for Marks {
    fn add(&mut self, key: &[u8], value: &[u8]) {
        match (key, value) {
            (b"highway", b"traffic_signals") => self.signal = true,
            (b"highway", b"mini_roundabout") => self.mini_roundabout = true,
            (b"highway", b"stop" | b"give_way") => self.unread.add(Kind::Signs),
            (b"railway", b"level_crossing") => self.unread.add(Kind::LevelCrossings),
            (b"barrier", _) => self.unread.add(Kind::Barriers),
            _ => {}
        }
    }
}
