//! What can be wrong with a map.

use std::fmt;
use std::io;

/// Why a map cannot be used, as one line: which map, where in it, and what is wrong there.
#[derive(Debug)]
pub struct MapError {
    map: String,
    place: Place,
    problem: String,
}

#[derive(Debug)]
enum Place {
    /// The map as a whole.
    Everywhere,
    /// A line of a text file, counted from 1.
    Line(u64),
    /// An offset in a binary file.
    Byte(u64),
}

impl MapError {
    /// An error about the map as a whole.
    pub fn new(map: impl fmt::Display, problem: impl fmt::Display) -> Self {
        Self::at(map, Place::Everywhere, problem)
    }

    /// An error in a line of a text file, counted from 1.
    pub fn in_line(map: impl fmt::Display, line: u64, problem: impl fmt::Display) -> Self {
        Self::at(map, Place::Line(line), problem)
    }

    /// An error in a binary file.
    pub fn at_byte(map: impl fmt::Display, byte: u64, problem: impl fmt::Display) -> Self {
        Self::at(map, Place::Byte(byte), problem)
    }

    /// A file that the system would not let us open.
    pub fn cannot_open(map: impl fmt::Display, error: &io::Error) -> Self {
        Self::new(map, format_args!("cannot open: {error}"))
    }

    fn at(map: impl fmt::Display, place: Place, problem: impl fmt::Display) -> Self {
        Self { map: map.to_string(), place, problem: problem.to_string() }
    }
}

impl fmt::Display for MapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { map, place, problem } = self;
        match place {
            Place::Everywhere => write!(f, "{map}: {problem}"),
            Place::Line(line) => write!(f, "{map}, line {line}: {problem}"),
            Place::Byte(byte) => write!(f, "{map}, byte {byte}: {problem}"),
        }
    }
}

impl std::error::Error for MapError {}
