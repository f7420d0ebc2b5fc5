//! What a map shows around its roads: names, water, green and the land within its coast. For the
//! eye only: the simulation knows nothing of it.

use super::Class;

/// In metres east and north, like the nodes of the network.
pub type Point = (f32, f32);

#[derive(Clone, Debug, Default)]
pub struct Land {
    pub streets: Vec<Street>,
    pub places: Vec<NamedPlace>,
    /// What lies on top comes last.
    pub areas: Vec<Area>,
    pub rivers: Vec<Vec<Point>>,
    /// Whether all land is among the areas: around it is the sea.
    pub is_island: bool,
}

/// A stretch of a street, with its name.
#[derive(Clone, Debug)]
pub struct Street {
    pub name: Box<str>,
    pub class: Class,
    pub line: Vec<Point>,
}

/// A town or the like.
#[derive(Clone, Debug)]
pub struct NamedPlace {
    pub name: Box<str>,
    pub rank: Rank,
    pub at: Point,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    Hamlet,
    Village,
    Town,
    City,
}

/// What fills its outline, which is closed: the last point is joined to the first.
#[derive(Clone, Debug)]
pub struct Area {
    pub kind: AreaKind,
    pub outline: Vec<Point>,
}

/// From the ground up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AreaKind {
    Land,
    Built,
    Green,
    Water,
}
