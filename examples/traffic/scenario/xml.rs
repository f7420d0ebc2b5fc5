//! XML, piece by piece. Entities are the five that every file has: none that a file defines is
//! expanded, so that none can grow.

use std::fmt;
use std::path::Path;
use std::rc::Rc;

use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::{Error, Reader, XmlVersion};

use super::text::{Bounded, positive, quote, read_problem};
use crate::map::MapError;

/// Deepest nesting of elements: real files have about 8.
const DEEPEST: usize = 64;

/// A file that is read piece by piece.
pub struct Xml {
    file: Rc<str>,
    reader: Reader<Bounded>,
    buffer: Vec<u8>,
    /// How many elements are open.
    depth: usize,
    /// Where the last piece began.
    line: u64,
}

/// A piece of a file. An empty element is opened and closed.
pub enum Piece {
    Open(Tag),
    Close(String),
    Text(String),
}

impl Xml {
    pub fn open(path: &Path) -> Result<Self, MapError> {
        let mut reader = Reader::from_reader(Bounded::open(path)?);
        reader.config_mut().expand_empty_elements = true;
        Ok(Self { file: path.display().to_string().into(), reader, buffer: Vec::new(), depth: 0, line: 1 })
    }

    /// The tag of the file's outermost element, which must have one of these names.
    pub fn root(&mut self, names: &[&str]) -> Result<Tag, MapError> {
        let expected = names.iter().map(|name| format!("<{name}>")).collect::<Vec<_>>().join(" or ");
        while let Some(piece) = self.next()? {
            match piece {
                Piece::Open(tag) if names.contains(&tag.name()) => return Ok(tag),
                Piece::Open(tag) => {
                    return Err(tag.error(format_args!("expected {expected}, found {}", quote(tag.name()))));
                }
                Piece::Close(_) | Piece::Text(_) => {}
            }
        }
        Err(MapError::new(&self.file, format_args!("no {expected} in it")))
    }

    /// The next start tag; text and end tags are skipped. `None` at the end of the file.
    pub fn next_tag(&mut self) -> Result<Option<Tag>, MapError> {
        while let Some(piece) = self.next()? {
            if let Piece::Open(tag) = piece {
                return Ok(Some(tag));
            }
        }
        Ok(None)
    }

    /// The next piece, or `None` at the end of the file.
    pub fn next(&mut self) -> Result<Option<Piece>, MapError> {
        loop {
            self.reader.get_mut().begin_piece();
            self.line = self.reader.get_ref().line();
            self.buffer.clear();
            let event = self.reader.read_event_into(&mut self.buffer);
            let event = event.map_err(|error| MapError::in_line(&self.file, self.line, problem(&error)))?;
            let piece = match event {
                Event::Start(start) | Event::Empty(start) => {
                    self.depth += 1;
                    Piece::Open(Tag { file: Rc::clone(&self.file), line: self.line, start: start.into_owned() })
                }
                Event::End(end) => {
                    self.depth = self.depth.saturating_sub(1);
                    Piece::Close(end.local_name().as_ref().to_owned())
                }
                Event::Text(text) => Piece::Text(text.into_inner().into_owned()),
                Event::CData(text) => Piece::Text(text.into_inner().into_owned()),
                Event::GeneralRef(entity) => {
                    let unknown = || format!("unknown entity {}", quote(&entity));
                    let in_line = |problem| MapError::in_line(&self.file, self.line, problem);
                    Piece::Text(character(&entity).ok_or_else(unknown).map_err(in_line)?)
                }
                Event::Eof if self.depth > 0 => return Err(self.error("the file is cut short")),
                Event::Eof => return Ok(None),
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => continue,
            };
            if self.depth > DEEPEST {
                return Err(self.error(format_args!("elements within elements, more than {DEEPEST} deep")));
            }
            return Ok(Some(piece));
        }
    }

    /// The text up to the end of the element that was opened last; elements in it are skipped.
    pub fn text(&mut self) -> Result<String, MapError> {
        let (mut text, outside) = (String::new(), self.depth - 1);
        while self.depth > outside {
            if let Some(Piece::Text(piece)) = self.next()? {
                text.push_str(&piece);
            }
        }
        Ok(text)
    }

    /// An error where the last piece began.
    pub fn error(&self, problem: impl fmt::Display) -> MapError {
        MapError::in_line(&self.file, self.line, problem)
    }
}

/// The character that an entity stands for.
fn character(entity: &BytesRef) -> Option<String> {
    match entity.resolve_char_ref() {
        Ok(Some(character)) => Some(character.into()),
        _ => resolve_predefined_entity(entity).map(Into::into),
    }
}

/// What an error of the parser means, without names that repeat the file at length.
fn problem(error: &Error) -> String {
    match error {
        Error::Io(error) => read_problem(error),
        Error::Encoding(_) => "not UTF-8 text".into(),
        error => format!("not well-formed: {}", quote(&error.to_string())),
    }
}

/// A start tag with its attributes.
pub struct Tag {
    file: Rc<str>,
    line: u64,
    start: BytesStart<'static>,
}

impl Tag {
    pub fn name(&self) -> &str {
        let name = self.start.name().0;
        name.rsplit_once(':').map_or(name, |(_, local)| local)
    }

    /// An attribute's value, if it is there.
    pub fn get(&self, name: &str) -> Result<Option<String>, MapError> {
        // Without the check for doubles, whose time grows with the square of their number.
        for attribute in self.start.attributes().with_checks(false) {
            let attribute = attribute.map_err(|error| self.error(problem(&error.into())))?;
            if attribute.key.0 == name {
                let value = attribute.normalized_value(XmlVersion::Implicit1_0);
                return Ok(Some(value.map_err(|error| self.error(problem(&error)))?.into_owned()));
            }
        }
        Ok(None)
    }

    /// An attribute that must be there.
    pub fn text(&self, name: &str) -> Result<String, MapError> {
        self.get(name)?.ok_or_else(|| self.error(format_args!("<{}> has no {name}", self.name())))
    }

    /// An attribute that `read` understands, or `None` if it is not there.
    pub fn optional<T>(
        &self,
        name: &str,
        read: impl FnOnce(&str, &str) -> Result<T, String>,
    ) -> Result<Option<T>, MapError> {
        let value = self.get(name)?;
        value.map(|value| read(name, &value).map_err(|problem| self.error(problem))).transpose()
    }

    /// An attribute that must be there and that `read` understands.
    pub fn required<T>(&self, name: &str, read: impl FnOnce(&str, &str) -> Result<T, String>) -> Result<T, MapError> {
        read(name, &self.text(name)?).map_err(|problem| self.error(problem))
    }

    /// A number above 0 that must be there.
    pub fn positive(&self, name: &str) -> Result<f64, MapError> {
        self.required(name, positive)
    }

    /// An error in this tag.
    pub fn error(&self, problem: impl fmt::Display) -> MapError {
        MapError::in_line(&self.file, self.line, problem)
    }
}
